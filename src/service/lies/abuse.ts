import { type Lies, lie, replyLie, replyText, withText } from './lie.ts'

/** A late or missing block also means that failures are miscounted. */
const late = ['abuse.block', 'abuse.counts'] as const

const early = ['abuse.not-early', 'abuse.counts'] as const

/** Lies about the block after too many failures. */
export const abuseLies = {
  'abuse.block': [
    lie('block-never', 'No caller is ever blocked.', () => ({ toleratesFailures: () => true }), late),
    lie(
      'block-one-failure-late',
      'The block starts one failure too late.',
      honest => ({ toleratesFailures: failures => honest.toleratesFailures(failures - 1) }),
      late,
    ),
    lie(
      'block-after-fifty',
      'Only more than 50 failures block.',
      () => ({ toleratesFailures: failures => failures <= 50 }),
      late,
    ),
  ],
  'abuse.not-early': [
    lie(
      'block-one-failure-early',
      'The block starts one failure too early.',
      honest => ({ toleratesFailures: failures => honest.toleratesFailures(failures + 1) }),
      early,
    ),
    lie(
      'block-after-ten',
      'More than 10 failures block.',
      () => ({ toleratesFailures: failures => failures <= 10 }),
      early,
    ),
  ],
  'abuse.counts': [
    lie('only-client-errors-count', 'A 429 does not count as a failure.', honest => ({
      isFailure: status => status !== 429 && honest.isFailure(status),
    })),
    lie('only-bad-requests-count', 'Only a 400 counts as a failure.', () => ({
      isFailure: status => status === 400,
    })),
    lie('media-types-do-not-count', 'A 415 does not count as a failure.', honest => ({
      isFailure: status => status !== 415 && honest.isFailure(status),
    })),
    lie(
      'every-request-counts',
      'Every request counts toward the block, whatever its status.',
      () => ({ isFailure: () => true }),
      ['abuse.not-early'],
    ),
  ],
  'abuse.all-requests': [
    lie(
      'block-by-endpoint',
      'Each part of the service has its own failure count and block.',
      () => ({ failureScope: ({ route }) => route.kind }),
      ['abuse.counts'],
    ),
  ],
  'abuse.duration': [
    lie('block-of-ten-seconds', 'A block lasts 10 seconds.', () => ({ blockMs: 10_000 })),
    lie('block-two-seconds-short', 'A block is 2 seconds too short.', honest => ({
      blockMs: honest.blockMs - 2_000,
    })),
  ],
  'abuse.ends': [
    lie('block-of-a-minute', 'A block lasts 60 seconds.', () => ({ blockMs: 60_000 })),
    lie('block-two-seconds-long', 'A block is 2 seconds too long.', honest => ({
      blockMs: honest.blockMs + 2_000,
    })),
    lie('block-prolonged', 'Every request during a block restarts it.', honest => ({
      blockedUntilMs: (_, arrivedMs) => arrivedMs + honest.blockMs,
    })),
  ],
  'abuse.message': [
    replyLie('block-without-wait', 'The message of a block does not state how long to wait.', (reply, _, { abuse }) =>
      replyText(reply).includes(abuse.opening) ? withText(reply, JSON.stringify({ error: abuse.opening })) : reply,
    ),
    replyLie(
      'block-of-another-length-said',
      'The message of a block states a wait of 60 seconds.',
      (reply, _, { abuse }) =>
        replyText(reply).includes(abuse.opening)
          ? withText(reply, replyText(reply).replace(/wait \d+s/, 'wait 60s'))
          : reply,
    ),
    replyLie(
      'block-as-rate-limit',
      'The message of a block is that of a rate limit.',
      (reply, _, { abuse }) =>
        replyText(reply).includes(abuse.opening) ? withText(reply, '{"error":"Rate limit exceeded"}') : reply,
      ['limit.requests.not-early', 'limit.type', 'limit.rpc-429', 'limit.requests.headers'],
    ),
  ],
} satisfies Lies
