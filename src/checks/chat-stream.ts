import { streamOf } from '../observation/observation.ts'
import { isChat } from './chat-answer.ts'
import { type Check, quote } from './check.ts'
import { checkCompletion, finishReasons } from './completion.ts'

const tokens = ['content', 'reasoning', 'tool-call']

/**
 * A streamed completion: its grammar, and what it adds up to. A stream that a broken connection or an error of the
 * service cut off is a failure and is not judged here; one that ends too early by itself is.
 */
export const checkChatStream: Check<'chat-stream'> = (observation, contract, say) => {
  const { answer, asked, seq, outcome } = observation
  if (!isChat(observation) || asked.kind !== 'chat' || !asked.stream || answer?.status !== 200) return
  const ownEnd = outcome.kind === 'answered' || (outcome.kind === 'failed' && selfInflicted.includes(outcome.reason))
  if (!ownEnd) return
  const expect = (clause: Parameters<typeof say.kept>[0], kept: boolean, because: () => string) =>
    kept ? say.kept(clause) : say.broken(clause, because(), [seq])

  const stream = streamOf(observation)
  const type = answer.headers['content-type']
  expect(
    'chat.stream.content-type',
    stream !== null,
    () => `content-type is ${quote(type)}, expected ${contract.chat.stream.contentType}`,
  )
  if (stream === null) return
  const { grammar, ids, models, objects, malformed } = stream
  const parts = grammar.map(([part]) => part)
  const shown = grammar.map(([part, count]) => (count > 1 ? `${part}×${count}` : part)).join(' ')
  const count = (wanted: string) => grammar.reduce((sum, [part, times]) => sum + (part === wanted ? times : 0), 0)

  const oneObject = objects.length === 1 && objects[0] === contract.chat.stream.chunkObject
  const uniform = oneObject && ids.length === 1 && models.length === 1 && malformed.length === 0
  expect(
    'chat.stream.chunk',
    uniform,
    () =>
      `chunks have object ${quote(objects)}, id ${quote(ids)}, model ${quote(models)}${malformed.length > 0 ? `, and one is ${quote(malformed[0])}` : ''}`,
  )

  const done = count('done') === 1 && parts.at(-1) === 'done'
  expect(
    'chat.stream.done',
    done,
    () => `the stream is ${shown}, expected one ${contract.chat.stream.doneMarker} at its end`,
  )

  const finishes = count('finish')
  const late = parts.slice(parts.indexOf('finish') + 1).some(part => tokens.includes(part))
  expect(
    'chat.stream.finish',
    finishes === 1 && !late,
    () => `the stream is ${shown}, expected one finish reason behind the last token`,
  )
  for (const reason of stream.finishReasons) {
    expect(
      'chat.choice.finish-reason',
      finishReasons.includes(reason),
      () => `finish_reason is ${quote(reason)}, expected stop, length or tool_calls`,
    )
  }

  // What comes behind the done marker is the business of that clause alone.
  const usages = count('usage')
  const usageBehind = parts.includes('after-done') && usages === 0
  if (!usageBehind) expect('chat.stream.usage', usages === 1, () => `the stream is ${shown}, expected usage once`)
  if (usages === 0) return
  const { created, usage, cost } = stream
  checkCompletion({ id: ids[0], model: models[0], created, usage, cost }, observation, contract, say)
}

/** Ends that a stream came to by itself, not by the connection or by an error that it reported. */
const selfInflicted: readonly string[] = ['stream-truncated', 'stream-malformed']
