import { createHash } from 'node:crypto'
import { inMicroseconds } from '../../lib/clock.ts'
import {
  boundJson,
  boundMembers,
  isObject,
  isPresent,
  type JsonObject,
  parseObject,
  plainText,
} from '../../lib/json.ts'
import type { Mask } from '../../lib/mask/mask.ts'
import { recordedLength, type StreamRecord } from '../../observation/observation.ts'
import { createSseDecoder } from '../transport/sse.ts'
import { createRepeatedChunkReader } from './repeated-chunks.ts'
import {
  addDeltaTypes,
  CONTENT,
  createStreamGrammar,
  type DeltaTypes,
  ERROR,
  FINISH,
  joinToolCalls,
  REASONING,
  RESULTS,
  ROLE,
  TOKEN,
  TOOL_CALL,
  toolNamesIn,
  USAGE,
} from './stream-events.ts'

export type StreamReader = {
  /** Takes the bytes of one read. A token is stamped with the read that completed its event. */
  readonly push: (bytes: Buffer, atMs: number) => void
  /** Chunks with a token so far. */
  readonly tokens: () => number
  /** Call once, after the last bytes. */
  readonly end: () => ReadStream
}

export type ReadStream = {
  readonly reading: StreamRecord
  /** The fault of the stream itself. A transport failure takes precedence. */
  readonly failure: StreamFailure | null
}

type StreamFailure = {
  readonly reason: 'stream-truncated' | 'stream-error' | 'stream-malformed'
  readonly detail: string
}

const maxIdentities = 3
const maxFinishReasons = 16
const maxChoices = 16
const maxMalformed = 3
const maxMalformedLength = 200
const maxGaps = 2_000
const maxToolCalls = 16

/** Takes the answer of a stream, as it comes. */
export type AnswerSink = {
  /** A piece of its text. */
  readonly text: (piece: string) => void
  /** The `tool_calls` of a delta. */
  readonly toolCalls: (deltas: readonly unknown[]) => void
}

export type StreamReaderOptions = {
  readonly doneMarker: string
  /**
   * The field that echoes the options. null: the request had no options, so neither their echo nor the text is kept.
   */
  readonly echoField: string | null
  readonly mask: Mask
  /** Takes the whole answer, as it came. Missing or null: it is not needed. */
  readonly onAnswer?: AnswerSink | null
  /** Whether the record has a fingerprint of what the stream says. */
  readonly digest?: boolean
}

/**
 * Reads the event stream of a chat completion. Parses each event once, or not at all if its bytes repeat an earlier
 * event. Never throws on any input.
 */
export function createStreamReader({
  doneMarker,
  echoField,
  mask,
  onAnswer = null,
  digest = false,
}: StreamReaderOptions): StreamReader {
  let atMs = 0
  let chunks = 0
  let malformedEvents = 0
  let roleSeen = false
  let done = false
  /** Whether usage came beside other parts, so a later one may replace it; and whether it came in a chunk of its own. */
  let hasRunningUsage = false
  let hasOwnUsage = false
  let created: number | null = null
  let usage: unknown = null
  let cost: unknown = null
  let error: unknown = null
  let parameters: JsonObject | null = null
  let text = echoField === null ? null : ''
  const joined = echoField === null ? null : joinToolCalls(recordedLength.stream)
  const said = digest ? fingerprint() : null
  let contentCharacters = 0
  let reasoningCharacters = 0
  let firstTokenMs: number | null = null
  let firstContentMs: number | null = null
  let lastTokenMs: number | null = null
  let tokenChunks = 0
  const gapsMs: number[] = []
  const grammar = createStreamGrammar()
  const ids: string[] = []
  const models: string[] = []
  const objects: string[] = []
  const finishReasons: string[] = []
  const indices: unknown[] = []
  const stopReasons: unknown[] = []
  const deltaTypes: DeltaTypes = []
  const toolNames: string[] = []
  const malformed: string[] = []
  /** What is kept of an event, which is masked before it is cut. Lengths are counted in the event as it came. */
  let kept: <Value>(value: Value) => Value = unmasked

  const readEvent = (data: string, cut: boolean): void => {
    if (done) {
      grammar.add('after-done')
    } else if (data === doneMarker) {
      done = true
      addRunningUsage()
      grammar.add('done')
    } else {
      const chunk = cut ? null : parseObject(data)
      if (chunk === null) {
        readMalformed(data)
        return
      }
      kept = mask.isIn(data) ? mask.json : unmasked
      const parts = readChunk(chunk)
      if (parts === CONTENT || parts === REASONING) repeated.remember(data, chunk)
    }
  }

  const readMalformed = (data: string): void => {
    malformedEvents++
    if (malformed.length < maxMalformed) malformed.push(mask.beginning(data, maxMalformedLength))
    grammar.add('malformed')
  }

  /** Returns the parts of the chunk. */
  const readChunk = (chunk: JsonObject): number => {
    chunks++
    let parts = Array.isArray(chunk.choices) ? readChoices(chunk.choices) : 0
    if (isPresent(chunk.usage)) {
      parts |= USAGE
      usage = boundJson(kept(chunk.usage))
    }
    if (isPresent(chunk.cost)) cost = boundJson(kept(chunk.cost))
    if (echoField !== null && isObject(chunk[echoField])) parts |= readEcho(kept(chunk[echoField]))
    if (isPresent(chunk.error)) {
      parts |= ERROR
      error ??= boundJson(kept(chunk.error))
    }
    // An error event has a different shape. Its missing chunk fields are not a second fault.
    if (parts !== ERROR) {
      collectName(ids, kept(chunk.id))
      collectName(models, kept(chunk.model))
      collectName(objects, kept(chunk.object))
      if (created === null && typeof chunk.created === 'number') created = chunk.created
    }
    // Some servers repeat the role in every chunk. Repeats beside a token would flood the grammar.
    if ((parts & ROLE) !== 0) {
      if (roleSeen && (parts & TOKEN) !== 0) parts &= ~ROLE
      roleSeen = true
    }
    if ((parts & TOKEN) !== 0) stampToken((parts & CONTENT) !== 0)
    if ((parts & USAGE) === 0) grammar.addChunk(parts)
    else if ((parts & (TOKEN | ROLE | FINISH)) === 0) {
      hasOwnUsage = true
      grammar.addChunk(parts)
    } else {
      hasRunningUsage = true
      grammar.addChunk(parts & ~USAGE)
    }
    return parts
  }

  /** Some servers state the usage so far in every chunk, and the last one counts. */
  const addRunningUsage = (): void => {
    if (hasRunningUsage && !hasOwnUsage) grammar.add('usage')
    hasRunningUsage = false
  }

  const readChoices = (choices: readonly unknown[]): number => {
    let parts = 0
    for (const choice of choices) {
      if (!isObject(choice)) continue
      if (choice.index !== indices[0] || indices.length === 0)
        collectValue(indices, maxChoices, kept(choice.index ?? null))
      if (isObject(choice.delta)) parts |= readDelta(choice.delta, choice.index)
      if (isPresent(choice.stop_reason)) collectValue(stopReasons, maxIdentities, kept(choice.stop_reason))
      const reason = choice.finish_reason
      if (typeof reason !== 'string' || reason === '') continue
      parts |= FINISH
      if (finishReasons.length < maxFinishReasons) finishReasons.push(kept(reason))
    }
    return parts
  }

  const readDelta = (delta: JsonObject, index: unknown): number => {
    const content = lengthOf(delta.content)
    // Servers use either name for the same text. A server that sends both sends the text twice.
    const reasoning = lengthOf(delta.reasoning_content) || lengthOf(delta.reasoning)
    contentCharacters += content
    reasoningCharacters += reasoning
    let parts = typeof delta.role === 'string' ? ROLE : 0
    if (reasoning > 0) parts |= REASONING
    if (content > 0) parts |= CONTENT
    if (said !== null && reasoning > 0) said.reasoning(plainText(delta.reasoning_content || delta.reasoning))
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0) {
      parts |= TOOL_CALL
      said?.calls.add(delta.tool_calls, index)
      onAnswer?.toolCalls(delta.tool_calls)
      joined?.add(delta.tool_calls, index)
      for (const name of toolNamesIn(kept(delta.tool_calls))) collectName(toolNames, name)
    }
    if (content > 0) keepText(String(delta.content))
    addDeltaTypes(deltaTypes, kept(delta))
    return parts
  }

  const keepText = (piece: string): void => {
    if (text !== null && text.length < recordedLength.stream) text += piece
    said?.content(piece)
    onAnswer?.text(piece)
  }

  const readEcho = (echo: JsonObject): number => {
    parameters = { ...parameters, ...boundMembers(echo) }
    const citations = echo.web_search_citations
    return Array.isArray(citations) && citations.length > 0 ? RESULTS : 0
  }

  /** Equivalent to `readChunk` for a chunk that contains only a token. */
  const readToken = (bytes: Buffer, from: number, end: number, isContent: boolean): void => {
    chunks++
    if (isContent && (text !== null || onAnswer !== null || said !== null)) keepText(bytes.toString('utf8', from, end))
    else if (!isContent) said?.reasoning(bytes.toString('utf8', from, end))
    const characters = charactersIn(bytes, from, end)
    if (isContent) contentCharacters += characters
    else reasoningCharacters += characters
    stampToken(isContent)
    grammar.add(isContent ? 'content' : 'reasoning')
  }

  const stampToken = (isContent: boolean): void => {
    tokenChunks++
    firstTokenMs ??= atMs
    if (isContent) firstContentMs ??= atMs
    if (lastTokenMs !== null && gapsMs.length < maxGaps) gapsMs.push(inMicroseconds(atMs - lastTokenMs))
    lastTokenMs = atMs
  }

  const repeated = createRepeatedChunkReader(echoField, readToken)
  const decoder = createSseDecoder(readEvent, {
    takeEvent: (bytes, start) => (done ? -1 : repeated.match(bytes, start)),
  })

  return {
    push: (bytes, readMs) => {
      atMs = readMs
      decoder.push(bytes)
    },
    tokens: () => tokenChunks,
    end: () => {
      const endedInsideEvent = decoder.end()
      if (!done) addRunningUsage()
      if (done && endedInsideEvent) grammar.add('after-done')
      const reading = {
        chunks,
        grammar: grammar.runs,
        ids,
        models,
        objects,
        created,
        finishReasons,
        indices,
        stopReasons,
        // The first text of a field may be the beginning of a secret that later deltas complete.
        deltaTypes: deltaTypes.map(
          ([field, type, first]) => [field, type, mask.beginning(first, first.length)] as const,
        ),
        usage,
        cost,
        error,
        parameters,
        text: text === null ? null : mask.beginning(text, recordedLength.stream),
        toolNames,
        ...(joined !== null &&
          joined.calls.length > 0 && {
            toolCalls: joined.calls.slice(0, maxToolCalls).map(({ name, arguments: said }) => ({
              name: mask.beginning(name, recordedLength.stream),
              arguments: mask.beginning(said, recordedLength.stream),
            })),
          }),
        // The chunks of several choices may come in any order.
        ...(said !== null &&
          indices.length <= 1 && {
            digest: said.end([ids, models, objects, created, finishReasons, stopReasons, usage, cost, parameters]),
          }),
        contentCharacters,
        reasoningCharacters,
        firstTokenMs,
        firstContentMs,
        lastTokenMs,
        tokenChunks,
        gapsMs,
        malformed,
      }
      if (error !== null) return { reading, failure: { reason: 'stream-error', detail: describeError(error) } }
      if (malformedEvents > 0) {
        const detail = `${malformedEvents} of ${malformedEvents + chunks} events with no whole JSON object in them`
        return { reading, failure: { reason: 'stream-malformed', detail } }
      }
      if (done) return { reading, failure: null }
      const detail = `no ${doneMarker} after ${chunks} chunks${endedInsideEvent ? '; it broke off inside an event' : ''}`
      return { reading, failure: { reason: 'stream-truncated', detail } }
    },
  }
}

/** Makes a fingerprint of an answer that does not depend on how it is cut into pieces. */
function fingerprint() {
  const hashes = { content: createHash('sha256'), reasoning: createHash('sha256') }
  const calls = joinToolCalls()
  return {
    content: (piece: string) => void hashes.content.update(piece),
    reasoning: (piece: string) => void hashes.reasoning.update(piece),
    calls,
    end: (others: readonly unknown[]): string => {
      const texts = [hashes.content, hashes.reasoning].map(hash => hash.digest('base64'))
      const all = JSON.stringify([...others, ...texts, calls.calls])
      return createHash('sha256').update(all).digest('base64url').slice(0, 22)
    },
  }
}

const unmasked = <Value>(value: Value): Value => value

const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0)

/** The length of the text as a string, in UTF-16 units. */
function charactersIn(bytes: Buffer, from: number, end: number): number {
  for (let at = from; at < end; at++) if ((bytes[at] ?? 0) >= 0x80) return bytes.toString('utf8', from, end).length
  return end - from
}

function collectValue(seen: unknown[], max: number, value: unknown): void {
  if (seen.length < max && !seen.includes(value)) seen.push(boundJson(value))
}

function collectName(seen: string[], value: unknown): void {
  const name = typeof value === 'string' ? value : ''
  if (seen.length < maxIdentities && !seen.includes(name)) seen.push(name)
}

/** Type and code of an error in the stream, without its message, which could quote the request. */
function describeError(error: unknown): string {
  const names = isObject(error) ? [error.type, error.code].filter(each => typeof each === 'string') : []
  return names.length === 0 ? 'an event with an error in it' : names.join(' ').slice(0, 160)
}
