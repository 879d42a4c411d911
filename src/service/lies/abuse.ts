import type { RequestState } from '../message.ts'
import { always, input, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import { asksForStream, type ReplyChange, type ReplyTest, replies, replyText, setText, withText } from './replies.ts'

/** A late or missing block also means that failures are miscounted. */
const late = ['abuse.block', 'abuse.counts'] as const

const early = ['abuse.not-early', 'abuse.counts'] as const

const isBlock: ReplyTest = (reply, _, { abuse }) => replyText(reply).includes(abuse.opening)

const withoutWait: ReplyChange = (reply, _, { abuse }) => withText(reply, JSON.stringify({ error: abuse.opening }))
const waitOfAMinute: ReplyChange = reply => withText(reply, replyText(reply).replace(/wait \d+s/, 'wait 60s'))

/** Some requests have a count of failures, and a block, of their own. */
const spare = (text: string, fits: (state: RequestState) => boolean): LieRow =>
  always(`${text} have their own failure count and block.`, {
    failureScope: state => (fits(state) ? 'spared' : 'account'),
  })

/** Lies about the block after too many failures. */
export const abuseLies = {
  'abuse.block': {
    'block-never': alsoViolating(late, always('No caller is ever blocked.', { toleratesFailures: () => true })),
    'block-one-failure-late': alsoViolating(
      late,
      input('The block starts one failure too late.', 'toleratesFailures', (failures, blocks) => [
        failures - 1,
        blocks,
      ]),
    ),
    'block-after-fifty': alsoViolating(
      late,
      always('Only more than 50 failures block.', { toleratesFailures: failures => failures <= 50 }),
    ),
    'block-after-a-burst-alone': alsoViolating(
      late,
      always('A failure counts for 10 seconds.', { isRemembered: ageMs => ageMs < 10_000 }),
    ),
    'failure-counts-for-20-seconds': alsoViolating(
      late,
      always('A failure counts for 20 seconds.', { isRemembered: ageMs => ageMs < 20_000 }),
    ),
    'blocked-only-once': alsoViolating(
      late,
      result('No caller is blocked twice.', 'toleratesFailures', (tolerates, _, blocks) => tolerates || blocks > 0),
    ),
  },
  'abuse.not-early': {
    'block-one-failure-early': alsoViolating(
      early,
      input('The block starts one failure too early.', 'toleratesFailures', (failures, blocks) => [
        failures + 1,
        blocks,
      ]),
    ),
    // Such a block has no cause among the failures of its last 30 seconds, so an earlier one seems to last.
    'block-after-ten': alsoViolating(
      [...early, 'abuse.ends'],
      always('More than 10 failures block.', { toleratesFailures: failures => failures <= 10 }),
    ),
    'media-types-count-twice': always('A 415 counts as two failures.', {
      failureWeight: status => (status === 415 ? 2 : 1),
    }),
    'failure-counts-for-a-minute': alsoViolating(
      early,
      always('A failure counts for a minute.', { isRemembered: ageMs => ageMs < 60_000 }),
    ),
    'failure-counts-for-40-seconds': alsoViolating(
      early,
      always('A failure counts for 40 seconds.', { isRemembered: ageMs => ageMs < 40_000 }),
    ),
    'blocked-again-by-one-failure': alsoViolating(
      early,
      result(
        'After its first block, each failure blocks a caller.',
        'toleratesFailures',
        (tolerates, _, blocks) => tolerates && blocks === 0,
      ),
    ),
  },
  'abuse.counts': {
    'only-client-errors-count': result(
      'A 429 does not count as a failure.',
      'isFailure',
      (isFailure, status) => isFailure && status !== 429,
    ),
    'only-bad-requests-count': always('Only a 400 counts as a failure.', { isFailure: status => status === 400 }),
    'media-types-do-not-count': result(
      'A 415 does not count as a failure.',
      'isFailure',
      (isFailure, status) => isFailure && status !== 415,
    ),
    'block-after-failures-in-a-row': result(
      'A success forgives the failures before it.',
      'isRemembered',
      (isRemembered, _, status) => isRemembered && status >= 300,
    ),
    'every-request-counts': alsoViolating(
      ['abuse.not-early', 'abuse.ends'],
      always('Every request counts toward the block, whatever its status.', { isFailure: () => true }),
    ),
  },
  'abuse.all-requests': {
    'block-by-endpoint': alsoViolating(
      ['abuse.counts'],
      always('Each part of the service has its own failure count and block.', {
        failureScope: ({ route }) => route.kind,
      }),
    ),
    'block-spares-embeddings': spare('Embeddings', ({ route }) => route.kind === 'resource'),
    // Nor do their failures count.
    'block-spares-batches': alsoViolating(
      ['abuse.block'],
      spare('Batches', ({ request }) => request.body.toString().startsWith('[')),
    ),
    'block-spares-keys': spare(
      'Requests with an idempotency key',
      ({ request }) => request.headers['idempotency-key'] !== undefined,
    ),
    'block-spares-logs': spare('Rate-limit logs', ({ route }) => route.kind === 'rate-limit-logs'),
    'block-spares-streams': alsoViolating(
      ['abuse.counts'],
      spare('Streams', ({ request }) => asksForStream(request)),
    ),
  },
  'abuse.duration': {
    'block-of-ten-seconds': always('A block lasts 10 seconds.', { blockMs: () => 10_000 }),
    'block-two-seconds-short': result('A block is 2 seconds too short.', 'blockMs', ms => ms - 2_000),
    'second-block-halved': result(
      'Each further block of a caller lasts half as long.',
      'blockMs',
      (ms, blocks) => ms / 2 ** blocks,
    ),
  },
  'abuse.ends': {
    'block-of-a-minute': always('A block lasts 60 seconds.', { blockMs: () => 60_000 }),
    'block-two-seconds-long': result('A block is 2 seconds too long.', 'blockMs', ms => ms + 2_000),
    'second-block-doubled': result(
      'Each further block of a caller lasts twice as long.',
      'blockMs',
      (ms, blocks) => ms * 2 ** blocks,
    ),
    'block-prolonged': row('Every request during a block restarts it.', honest => ({
      blockedUntilMs: (_, arrivedMs) => arrivedMs + honest.blockMs(0),
    })),
  },
  'abuse.message': {
    'block-without-wait': replies('The message of a block does not state how long to wait.', isBlock, withoutWait),
    'block-of-another-length-said': replies(
      'The message of a block states a wait of 60 seconds.',
      isBlock,
      waitOfAMinute,
    ),
    'block-as-rate-limit': alsoViolating(
      ['limit.requests.not-early', 'limit.type', 'limit.rpc-429', 'limit.requests.headers'],
      replies('The message of a block is that of a rate limit.', isBlock, setText('{"error":"Rate limit exceeded"}')),
    ),
  },
} satisfies Lies
