import { choicesOf } from '../../contract/chat-options.ts'
import type { Contract } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import {
  type DeltaField,
  type JsonType,
  type StreamPart,
  type StreamRecord,
  streamOf,
} from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { hasReplayStatus, is2xx } from '../../observation/response.ts'
import { checkStopReason, checkToolCalls } from './chat-response.ts'
import { type Check, checkStatus, type Expect, expectFor } from './check.ts'
import { checkCanary, checkCompletion, checkFinishReason } from './completion.ts'
import { checkText } from './shown-text.ts'

/** Failures caused by the stream itself, not by the connection or by a reported error. */
const ownEnds: readonly string[] = ['stream-truncated', 'stream-malformed']

/**
 * Checks a streamed completion: its grammar and its totals. A stream cut by a lost connection is a failure, which is not
 * judged here. So is one that ends with an error, but not one that goes on after it. A stream that ends early by itself
 * is judged.
 */
export const checkChatStream: Check<'chat-stream', ChatDescriptor> = (observation, contract, reporter) => {
  const { response, outcome, id } = observation
  if (!observation.request.stream || response === null || !is2xx(response.status)) return
  if (outcome.kind === 'failed' && outcome.reason === 'stream-error')
    return checkAfterError(streamOf(observation)?.grammar ?? [], expectFor(reporter, id))
  if (outcome.kind !== 'answered' && !(outcome.kind === 'failed' && ownEnds.includes(outcome.reason))) return
  const expect = expectFor(reporter, id)

  if (!hasReplayStatus(response, contract)) checkStatus('chat.status', response, expect)
  // A compressed stream violates its own clause and cannot be read.
  if (response.headers['content-encoding'] !== undefined) return
  const stream = streamOf(observation)
  const type = response.headers['content-type']
  expect('chat.stream.content-type', stream !== null, () =>
    type?.startsWith('text/event-stream')
      ? 'the body was not read as a stream, expected events'
      : `content-type is ${quote(type)}, expected text/event-stream`,
  )
  if (stream === null) return

  checkChunks(stream, contract, expect)
  checkCanary(stream.text ?? '', observation.request, expect)
  for (const reason of stream.finishReasons) checkFinishReason(reason, contract, expect)
  checkEnding(stream, expect)
  checkIndices(stream, choicesOf(observation.request.options), contract.chat.choiceIndex === 'optional', expect)
  if (!checkGrammar(stream, observation.request, contract, expect)) return
  const { ids, models, created, usage, cost } = stream
  const isTruncated = stream.finishReasons.includes('length')
  checkCompletion({ id: ids[0], model: models[0], created, usage, cost, isTruncated }, observation, contract, reporter)
  checkText(observation, expect)
}

type StreamClause = 'chat.stream.chunk' | 'chat.stream.done' | 'chat.stream.finish' | 'chat.stream.usage'

function checkChunks(
  { ids, models, objects, malformed }: StreamRecord,
  { chat }: Contract,
  expect: Expect<'chat.stream.chunk'>,
): void {
  const isOneObject = objects.length === 1 && objects[0] === chat.stream.chunkObject
  const isOneCompletion = isOneObject && ids.length === 1 && models.length === 1 && malformed.length === 0
  expect('chat.stream.chunk', isOneCompletion, () => {
    if (malformed.length > 0) return `an event is ${quote(malformed[0])}, expected a JSON object`
    const got = `chunks have object ${quote(objects)}, id ${quote(ids)}, model ${quote(models)}`
    return `${got}, expected one of each, object ${chat.stream.chunkObject}`
  })
}

/** Where an index is optional, a single choice needs none. A missing one was recorded as null. */
function checkIndices(
  { indices, finishReasons }: StreamRecord,
  max: number,
  isOptional: boolean,
  expect: Expect<'chat.stream.index'>,
): void {
  const areSeveral = max > 1 && (indices.length > 1 || finishReasons.length > 1)
  const isPosition = (index: unknown) =>
    index === null ? isOptional && !areSeveral : Number.isInteger(index) && Number(index) >= 0 && Number(index) < max
  expect(
    'chat.stream.index',
    indices.every(isPosition),
    () => `choices have the indices ${quote(indices)}, expected ${max === 1 ? '0' : `0 to ${max - 1}`}`,
  )
}

/** Only with a single choice is it known which reason belongs to which choice. */
function checkEnding(
  { finishReasons, stopReasons, grammar, deltaTypes }: StreamRecord,
  expect: Expect<'chat.choice.stop-reason' | 'chat.choice.tool-calls' | 'chat.stream.delta'>,
): void {
  const [finish, another] = finishReasons
  const isOne = finish !== undefined && another === undefined
  for (const stop of stopReasons) checkStopReason(stop, isOne && stopReasons.length === 1 ? finish : null, expect)
  if (isOne) checkToolCalls(finish, grammar.some(([part]) => part === 'tool-call') ? 1 : 0, expect)
  const mistyped = deltaTypes.find(([field, type]) => !fieldTypes[field].includes(type))
  const role = deltaTypes.find(([field, type]) => field === 'role' && type === 'string')?.[2]
  const isRole = role === undefined || roles.includes(role)
  expect('chat.stream.delta', mistyped === undefined && isRole, () =>
    mistyped === undefined
      ? `a delta has role ${role}, expected "assistant" or "tool"`
      : `a delta has ${mistyped[0]} ${mistyped[2]}, expected a type that a message has`,
  )
}

/** The roles of an answer, as JSON. Some servers send an empty one. */
const roles: readonly string[] = ['"assistant"', '"tool"', '""']

/** The types, besides null, that a delta field may have: the types of a message. */
const fieldTypes: Readonly<Record<DeltaField, readonly JsonType[]>> = {
  role: ['string'],
  content: ['string', 'array'],
  reasoning_content: ['string'],
  name: ['string'],
  thought_signature: ['string'],
  tool_calls: ['array'],
  reasoning_details: ['array'],
}

const tokens: readonly StreamPart[] = ['content', 'reasoning', 'tool-call']

/** Checks the order of the parts. Returns whether usage was stated. */
function checkGrammar(
  { grammar, indices }: StreamRecord,
  { options }: ChatDescriptor,
  { chat }: Contract,
  expect: Expect<StreamClause>,
): boolean {
  const parts = grammar.map(([part]) => part)
  const count = (wanted: StreamPart) => grammar.reduce((sum, [part, times]) => sum + (part === wanted ? times : 0), 0)
  const got = () => `the stream is ${describeRuns(grammar)}`

  const isDone = count('done') === 1 && parts.at(-1) === 'done'
  expect('chat.stream.done', isDone, () => `${got()}, expected one ${chat.stream.doneMarker} at its end`)
  const hasLateToken = parts.slice(parts.lastIndexOf('finish') + 1).some(part => tokens.includes(part))
  // With several choices, one may continue after another has ended, and there may be fewer than requested.
  const choices = choicesOf(options) === 1 ? 1 : indices.length
  const isFinishedOnce = count('finish') === choices && !hasLateToken
  expect('chat.stream.finish', isFinishedOnce, () => {
    const expected = choices === 1 ? 'one finish reason' : `${choices} finish reasons, the last of them`
    return `${got()}, expected ${expected} after the last token`
  })
  const usages = count('usage')
  // Anything after the done marker violates only the clause of the marker.
  const isAfterDone = usages === 0 && parts.includes('after-done')
  // A server may state its usage so far beside the tokens; then the last one counts.
  const isRunning = usages > 1 && parts.indexOf('usage') < parts.findLastIndex(part => tokens.includes(part))
  if (!isAfterDone) expect('chat.stream.usage', usages === 1 || isRunning, () => `${got()}, expected usage once`)
  return usages > 0
}

/** A token or a finish reason after an error presents a completion that failed as a whole one. A marker may end it. */
function checkAfterError(grammar: StreamRecord['grammar'], expect: Expect<'chat.stream.finish'>): void {
  const parts = grammar.map(([part]) => part)
  const after = parts.slice(parts.indexOf('error') + 1)
  if (!parts.includes('error') || !after.some(part => part === 'finish' || tokens.includes(part))) return
  expect('chat.stream.finish', false, () => `the stream is ${describeRuns(grammar)}, expected its end after the error`)
}

/** The number of runs at each end of a long grammar that a message shows. */
const shownRuns = 12

function describeRuns(grammar: StreamRecord['grammar']): string {
  const runs = grammar.map(([part, n]) => (n > 1 ? `${part}×${n}` : part))
  if (runs.length <= 2 * shownRuns) return runs.join(' ')
  return [...runs.slice(0, shownRuns), '...', ...runs.slice(-shownRuns)].join(' ')
}
