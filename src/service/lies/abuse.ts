import { addTo, changeInput, changeResult } from './decisions.ts'
import type { Lies } from './lie.ts'
import { changeReplyIf, type ReplyChange, type ReplyTest, replyText, setText, withText } from './replies.ts'

/** A late or missing block also means that failures are miscounted. */
const late = ['abuse.block', 'abuse.counts'] as const

const early = ['abuse.not-early', 'abuse.counts'] as const

const isBlock: ReplyTest = (reply, _, { abuse }) => replyText(reply).includes(abuse.opening)

const withoutWait: ReplyChange = (reply, _, { abuse }) => withText(reply, JSON.stringify({ error: abuse.opening }))
const waitOfAMinute: ReplyChange = reply => withText(reply, replyText(reply).replace(/wait \d+s/, 'wait 60s'))

/** Lies about the block after too many failures. */
export const abuseLies = {
  'abuse.block': {
    'block-never': ['No caller is ever blocked.', () => ({ toleratesFailures: () => true }), late],
    'block-one-failure-late': [
      'The block starts one failure too late.',
      changeInput('toleratesFailures', failures => [failures - 1]),
      late,
    ],
    'block-after-fifty': [
      'Only more than 50 failures block.',
      () => ({ toleratesFailures: failures => failures <= 50 }),
      late,
    ],
  },
  'abuse.not-early': {
    'block-one-failure-early': [
      'The block starts one failure too early.',
      changeInput('toleratesFailures', failures => [failures + 1]),
      early,
    ],
    'block-after-ten': [
      'More than 10 failures block.',
      () => ({ toleratesFailures: failures => failures <= 10 }),
      early,
    ],
  },
  'abuse.counts': {
    'only-client-errors-count': [
      'A 429 does not count as a failure.',
      changeResult('isFailure', (isFailure, status) => isFailure && status !== 429),
    ],
    'only-bad-requests-count': ['Only a 400 counts as a failure.', () => ({ isFailure: status => status === 400 })],
    'media-types-do-not-count': [
      'A 415 does not count as a failure.',
      changeResult('isFailure', (isFailure, status) => isFailure && status !== 415),
    ],
    'every-request-counts': [
      'Every request counts toward the block, whatever its status.',
      () => ({ isFailure: () => true }),
      ['abuse.not-early'],
    ],
  },
  'abuse.all-requests': {
    'block-by-endpoint': [
      'Each part of the service has its own failure count and block.',
      () => ({ failureScope: ({ route }) => route.kind }),
      ['abuse.counts'],
    ],
  },
  'abuse.duration': {
    'block-of-ten-seconds': ['A block lasts 10 seconds.', () => ({ blockMs: 10_000 })],
    'block-two-seconds-short': ['A block is 2 seconds too short.', addTo('blockMs', -2_000)],
  },
  'abuse.ends': {
    'block-of-a-minute': ['A block lasts 60 seconds.', () => ({ blockMs: 60_000 })],
    'block-two-seconds-long': ['A block is 2 seconds too long.', addTo('blockMs', 2_000)],
    'block-prolonged': [
      'Every request during a block restarts it.',
      honest => ({ blockedUntilMs: (_, arrivedMs) => arrivedMs + honest.blockMs }),
    ],
  },
  'abuse.message': {
    'block-without-wait': [
      'The message of a block does not state how long to wait.',
      changeReplyIf(isBlock, withoutWait),
    ],
    'block-of-another-length-said': [
      'The message of a block states a wait of 60 seconds.',
      changeReplyIf(isBlock, waitOfAMinute),
    ],
    'block-as-rate-limit': [
      'The message of a block is that of a rate limit.',
      changeReplyIf(isBlock, setText('{"error":"Rate limit exceeded"}')),
      ['limit.requests.not-early', 'limit.type', 'limit.rpc-429', 'limit.requests.headers'],
    ],
  },
} satisfies Lies
