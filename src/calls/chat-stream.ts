import type { StreamRecord } from '../observation/observation.ts'
import { createSseDecoder } from '../transport/sse.ts'
import { clip, clipMembers, isObject, isSaid, type JsonObject, parseObject } from './json-object.ts'
import { toolNamesIn, wrongMember } from './stream-delta.ts'
import {
  CONTENT,
  createStreamGrammar,
  ERROR,
  FINISH,
  REASONING,
  RESULTS,
  ROLE,
  TOKEN,
  TOOL_CALL,
  USAGE,
} from './stream-grammar.ts'
import { createTokenShortcut } from './token-shortcut.ts'
import { createTokenTimes } from './token-times.ts'

export type StreamReader = {
  /** Takes what one read brought. A token is stamped with the read that brought the end of its event. */
  readonly push: (bytes: Buffer, atMs: number) => void
  /** To be called once. The failure is what the stream itself shows; one of the transport outranks it. */
  readonly end: () => { readonly reading: StreamRecord; readonly failure: StreamFailure | null }
}

export type StreamFailure = {
  readonly reason: 'stream-truncated' | 'stream-error' | 'stream-malformed'
  readonly detail: string
}

const mostIdentities = 3
const mostFinishReasons = 16
const mostChoices = 16
const mostMalformed = 3
const longestMalformed = 200
const mostMisshapen = 3
const longestText = 4_096

export type StreamForm = {
  readonly doneMarker: string
  /** The member that repeats the options; null: none were asked for, and neither they nor the text are kept. */
  readonly echoField: string | null
}

/**
 * Reads the event stream of a chat completion. An event is parsed once, or not at all where it is known, byte for byte,
 * what it says. Never throws, whatever comes.
 */
export function createStreamReader({ doneMarker, echoField }: StreamForm): StreamReader {
  let atMs = 0
  let chunks = 0
  let malformedEvents = 0
  let roleSaid = false
  let done = false
  let created: number | null = null
  let usage: unknown = null
  let cost: unknown = null
  let error: unknown = null
  let parameters: JsonObject | null = null
  let text = echoField === null ? null : ''
  let contentCharacters = 0
  let reasoningCharacters = 0
  const grammar = createStreamGrammar()
  const tokens = createTokenTimes()
  const ids: string[] = []
  const models: string[] = []
  const objects: string[] = []
  const finishReasons: string[] = []
  const indices: unknown[] = []
  const stopReasons: unknown[] = []
  const misshapen: string[] = []
  const toolNames: string[] = []
  const malformed: string[] = []

  const readEvent = (data: string, cut: boolean): void => {
    if (done) {
      grammar.note('after-done')
    } else if (data === doneMarker) {
      done = true
      grammar.note('done')
    } else {
      const chunk = cut ? null : parseObject(data)
      if (chunk === null) {
        readMalformed(data)
        return
      }
      const parts = readChunk(chunk)
      if (parts === CONTENT || parts === REASONING) shortcut.learn(data, chunk)
    }
  }

  const readMalformed = (data: string): void => {
    malformedEvents++
    if (malformed.length < mostMalformed) malformed.push(data.slice(0, longestMalformed))
    grammar.note('malformed')
  }

  /** Gives what the chunk was. */
  const readChunk = (chunk: JsonObject): number => {
    chunks++
    let parts = Array.isArray(chunk.choices) ? readChoices(chunk.choices) : 0
    if (isSaid(chunk.usage)) {
      parts |= USAGE
      usage = clip(chunk.usage)
    }
    if (isSaid(chunk.cost)) cost = clip(chunk.cost)
    if (echoField !== null && isObject(chunk[echoField])) parts |= readEcho(chunk[echoField])
    if (isSaid(chunk.error)) {
      parts |= ERROR
      error ??= clip(chunk.error)
    }
    // An error event has a form of its own; that it lacks the members of a chunk is no second fault.
    if (parts !== ERROR) {
      remember(ids, chunk.id)
      remember(models, chunk.model)
      remember(objects, chunk.object)
      if (created === null && typeof chunk.created === 'number') created = chunk.created
    }
    // Some servers repeat the role in every chunk. That is no news beside a token, and would drown the grammar.
    if ((parts & ROLE) !== 0) {
      if (roleSaid && (parts & TOKEN) !== 0) parts &= ~ROLE
      roleSaid = true
    }
    if ((parts & TOKEN) !== 0) tokens.stamp(atMs, (parts & CONTENT) !== 0)
    grammar.noteChunk(parts)
    return parts
  }

  const readChoices = (choices: readonly unknown[]): number => {
    let parts = 0
    for (const choice of choices) {
      if (!isObject(choice)) continue
      if (choice.index !== indices[0] || indices.length === 0) collect(indices, mostChoices, choice.index ?? null)
      if (isObject(choice.delta)) parts |= readDelta(choice.delta)
      if (isSaid(choice.stop_reason)) collect(stopReasons, mostIdentities, choice.stop_reason)
      const reason = choice.finish_reason
      if (typeof reason !== 'string' || reason === '') continue
      parts |= FINISH
      if (finishReasons.length < mostFinishReasons) finishReasons.push(reason)
    }
    return parts
  }

  const readDelta = (delta: JsonObject): number => {
    const content = lengthOf(delta.content)
    // Both names are in use for the same text; a server that sends both sends it twice.
    const reasoning = lengthOf(delta.reasoning_content) || lengthOf(delta.reasoning)
    contentCharacters += content
    reasoningCharacters += reasoning
    let parts = typeof delta.role === 'string' ? ROLE : 0
    if (reasoning > 0) parts |= REASONING
    if (content > 0) parts |= CONTENT
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0) {
      parts |= TOOL_CALL
      for (const name of toolNamesIn(delta.tool_calls)) remember(toolNames, name)
    }
    if (text !== null && content > 0 && text.length < longestText) text += String(delta.content)
    const wrong = wrongMember(delta)
    if (wrong !== null && misshapen.length < mostMisshapen) misshapen.push(wrong)
    return parts
  }

  const readEcho = (echo: JsonObject): number => {
    parameters = { ...parameters, ...clipMembers(echo) }
    const found = echo.web_search_citations
    return Array.isArray(found) && found.length > 0 ? RESULTS : 0
  }

  /** What `readChunk` does of a chunk that says nothing but a token. */
  const readToken = (bytes: Buffer, from: number, end: number, isContent: boolean): void => {
    chunks++
    const isKept = isContent && text !== null && text.length < longestText
    if (isKept) text += bytes.toString('utf8', from, end)
    const characters = charactersIn(bytes, from, end)
    if (isContent) contentCharacters += characters
    else reasoningCharacters += characters
    tokens.stamp(atMs, isContent)
    grammar.note(isContent ? 'content' : 'reasoning')
  }

  const shortcut = createTokenShortcut(echoField, readToken)
  const decoder = createSseDecoder(readEvent, {
    takeEvent: (bytes, start) => (done ? -1 : shortcut.take(bytes, start)),
  })

  return {
    push: (bytes, readMs) => {
      atMs = readMs
      decoder.push(bytes)
    },
    end: () => {
      const brokeOff = decoder.end()
      if (done && brokeOff) grammar.note('after-done')
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
        misshapen,
        usage,
        cost,
        error,
        parameters,
        text: text === null ? null : text.slice(0, longestText),
        toolNames,
        contentCharacters,
        reasoningCharacters,
        ...tokens.times(),
        malformed,
      }
      if (error !== null) return { reading, failure: { reason: 'stream-error', detail: describeError(error) } }
      if (malformedEvents > 0) {
        const detail = `${malformedEvents} of ${malformedEvents + chunks} events with no whole JSON object in them`
        return { reading, failure: { reason: 'stream-malformed', detail } }
      }
      if (done) return { reading, failure: null }
      const detail = `no ${doneMarker} after ${chunks} chunks${brokeOff ? '; it broke off inside an event' : ''}`
      return { reading, failure: { reason: 'stream-truncated', detail } }
    },
  }
}

const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0)

/** Of a string, that is UTF-16. */
function charactersIn(bytes: Buffer, from: number, end: number): number {
  for (let at = from; at < end; at++) if ((bytes[at] ?? 0) >= 0x80) return bytes.toString('utf8', from, end).length
  return end - from
}

function collect(seen: unknown[], most: number, value: unknown): void {
  if (seen.length < most && !seen.includes(value)) seen.push(clip(value))
}

function remember(seen: string[], value: unknown): void {
  const said = typeof value === 'string' ? value : ''
  if (seen.length < mostIdentities && !seen.includes(said)) seen.push(said)
}

/** Type and code of an error in the stream; its message could repeat what was sent, and is kept in the reading. */
function describeError(error: unknown): string {
  const said = isObject(error) ? [error.type, error.code].filter(each => typeof each === 'string') : []
  return said.length === 0 ? 'an event with an error in it' : said.join(' ').slice(0, 160)
}
