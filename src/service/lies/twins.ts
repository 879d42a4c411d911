import { isObject } from '../../lib/json.ts'
import type { FinishReason } from '../chat/completion.ts'
import { always, amend, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import { all, isBatch, isNodeReply, replies, replyText, withText } from './replies.ts'
import { changeData, events, inCrowd, leaked, losesText, whileFull, withOtherWord } from './streams.ts'

/** What services do that treat one content in two ways. */
export const twinLies = {
  'chat.isolation': {
    'chunk-leaks-in-a-crowd': alsoViolating(
      ['twin.answer'],
      inCrowd('With 16 streams in flight, the next one gets a chunk of the last one.', leaked),
    ),
  },
  'limit.hang-up.freed': {
    'slot-never-freed': always('A completion that its client left counts as in progress for ever.', {
      slotEndMs: () => Number.POSITIVE_INFINITY,
    }),
    'slot-freed-after-a-minute': always('A completion that its client left counts as in progress for a minute.', {
      slotEndMs: nowMs => nowMs + 60_000,
    }),
    'slot-of-slow-reader-never-freed': whileFull(
      'A completion whose client reads slower than it comes counts as in progress for ever.',
      ({ account }) => {
        const slot = account?.slots.at(-1)
        return () => {
          if (slot !== undefined) slot.endMs = Number.POSITIVE_INFINITY
          return 'waits'
        }
      },
    ),
  },
  'slow-reader.text': {
    'slow-reader-loses-text': whileFull(
      'A chunk of text is lost if its client has not read those before.',
      () => losesText,
    ),
  },
  'slow-reader.kept': {
    'slow-reader-cut-off': whileFull(
      'A stream breaks off if its client reads slower than it comes.',
      () => () => 'breaks-off',
    ),
  },
  'twin.accepted': {
    'streams-refused': alsoViolating(
      ['chat.request'],
      result('A streamed completion is refused.', 'chatObjection', (objection, body) =>
        body.stream === true ? 'stream: not available' : objection,
      ),
    ),
  },
  'twin.text': {
    'every-second-token-lost-in-streams': alsoViolating(
      ['twin.sampled', 'twin.answer'],
      events('Every second token of a stream is lost.', sent =>
        sent.filter(({ part }, index) => part !== 'content' || index % 2 === 0),
      ),
    ),
    'every-second-word-lost-outside-of-streams': alsoViolating(
      ['twin.sampled', 'twin.answer'],
      amend('Every second word of an unstreamed completion is lost.', 'choice', ({ message }) => ({
        message: { ...message, content: everySecond(message.content) },
      })),
    ),
  },
  'twin.tokens': {
    'streams-count-a-word-more': result(
      'A prompt has one more word if its completion is streamed.',
      'chatBody',
      body =>
        isObject(body) && body.stream === true && Array.isArray(body.messages)
          ? { ...body, messages: [...body.messages.slice(0, -1), withWord(body.messages.at(-1))] }
          : body,
    ),
  },
  'twin.credits': {
    'batches-cost-one-more': alsoViolating(
      ['rpc.credits.amount'],
      result(
        'An item of a batch costs one credit more.',
        'itemCredits',
        (credits, { batched }) => credits + (batched ? 1 : 0),
      ),
    ),
  },
  'twin.result': {
    'first-item-answered-as-second': alsoViolating(
      // The result of another method may look like an older block.
      ['rpc.coherence.head'],
      result('The first item of a batch gets the result of the second one.', 'responses', responses => {
        const [first, second, ...others] = responses
        return isObject(first) && isObject(second) && 'result' in first && 'result' in second
          ? [{ ...first, result: second.result }, second, ...others]
          : responses
      }),
    ),
    'batches-have-another-chain': replies(
      'A batch is answered by a node of another chain.',
      all(isNodeReply, isBatch),
      reply => withText(reply, replyText(reply).replace('"result":"0x1"', '"result":"0x2105"')),
    ),
  },
  'twin.answer': {
    'answers-change-in-a-crowd': inCrowd(
      'With 16 streams in flight, a deterministic completion begins with another word.',
      withOtherWord,
    ),
    'seed-ignored': result('A completion with a seed is sampled.', 'chatBody', body =>
      isObject(body) ? { ...body, seed: undefined } : body,
    ),
  },
  'twin.length': {
    'cut-ends-naturally': row('A completion that its limit cuts ends with stop.', honest => ({
      finishReason: reason => honest.finishReason(natural(reason)),
      stopReason: reason => honest.stopReason(natural(reason)),
    })),
  },
  'twin.sampled': {
    'streams-end-earlier': shortStreams('A streamed completion is half as long, and ends naturally.'),
    'streams-have-fewer-words': events(
      'The text of a streamed completion has "the" in place of each word of more than four letters.',
      changeData(
        ({ part }) => part === 'content',
        data => data.replace(/("content":" ?)[a-z]{5,}"/, '$1the"'),
      ),
    ),
  },
} as const satisfies Lies

const everySecond = (text: string | null): string | null =>
  text
    ?.split(' ')
    .filter((_, index) => index % 2 === 0)
    .join(' ') ?? null

const natural = (reason: FinishReason): FinishReason => (reason === 'length' ? 'stop' : reason)

function shortStreams(text: string): LieRow {
  return row(text, honest => {
    let isStreamed = false
    let isShort = false
    return {
      chatBody: body => {
        isStreamed = isObject(body) && body.stream === true
        return honest.chatBody(body)
      },
      completionTokens: (wanted, bound) => {
        const tokens = honest.completionTokens(wanted, bound)
        const fewer = isStreamed ? Math.ceil(tokens / 2) : tokens
        isShort = fewer < tokens
        return fewer
      },
      finishReason: reason => honest.finishReason(isShort ? natural(reason) : reason),
      stopReason: reason => honest.stopReason(isShort ? natural(reason) : reason),
    }
  })
}

const withWord = (message: unknown) =>
  isObject(message) && typeof message.content === 'string'
    ? { ...message, content: `${message.content} time` }
    : message
