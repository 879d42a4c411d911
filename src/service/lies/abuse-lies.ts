import { type Lies, lie, replyLie } from './lie.ts'
import { textOf, withText } from './reply-edit.ts'

/** A block that comes late, or not at all, comes late whatever the failures were. */
const late = ['abuse.block', 'abuse.counts'] as const
const early = ['abuse.not-early', 'abuse.counts'] as const

export const abuseLies = {
  'abuse.block': [
    lie('block-never', 'Nobody is ever blocked.', () => ({ toleratesFailures: () => true }), late),
    lie(
      'block-one-failure-late',
      'The failure that should block does not, and the next one does.',
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
      'The last failure that should be tolerated blocks.',
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
    lie('only-bad-requests-count', 'Nothing but a 400 counts as a failure.', () => ({
      isFailure: status => status === 400,
    })),
    lie('media-types-do-not-count', 'A 415 does not count as a failure.', honest => ({
      isFailure: status => status !== 415 && honest.isFailure(status),
    })),
    lie(
      'every-request-counts',
      'Requests count towards the block whatever their status.',
      () => ({ isFailure: () => true }),
      ['abuse.not-early'],
    ),
  ],
  'abuse.all-requests': [
    lie(
      'block-by-endpoint',
      'Failures are counted for each part of the service, and block that part.',
      () => ({ failureScope: ({ route }) => route.kind }),
      ['abuse.counts'],
    ),
  ],
  'abuse.duration': [
    lie('block-of-ten-seconds', 'A block lasts for 10 seconds.', () => ({ blockMs: 10_000 })),
    lie('block-two-seconds-short', 'A block lasts 2 seconds less than it should.', honest => ({
      blockMs: honest.blockMs - 2_000,
    })),
  ],
  'abuse.ends': [
    lie('block-of-a-minute', 'A block lasts for 60 seconds.', () => ({ blockMs: 60_000 })),
    lie('block-two-seconds-long', 'A block lasts 2 seconds more than it should.', honest => ({
      blockMs: honest.blockMs + 2_000,
    })),
    lie('block-prolonged', 'Every request during a block begins it anew.', honest => ({
      blockedUntilMs: (_, arrivedMs) => arrivedMs + honest.blockMs,
    })),
  ],
  'abuse.message': [
    replyLie('block-without-wait', 'The answer of a block does not say how long to wait.', (reply, _, { abuse }) =>
      textOf(reply).includes(abuse.opening) ? withText(reply, JSON.stringify({ error: abuse.opening })) : reply,
    ),
    replyLie(
      'block-of-another-length-said',
      'The answer of a block says to wait for a minute.',
      (reply, _, { abuse }) =>
        textOf(reply).includes(abuse.opening) ? withText(reply, textOf(reply).replace(/wait \d+s/, 'wait 60s')) : reply,
    ),
    replyLie(
      'block-as-rate-limit',
      'The answer of a block is that of a rate limit.',
      (reply, _, { abuse }) =>
        textOf(reply).includes(abuse.opening) ? withText(reply, '{"error":"Rate limit exceeded"}') : reply,
      ['limit.requests.not-early', 'limit.type', 'limit.rpc-429', 'limit.requests.headers'],
    ),
  ],
} as const satisfies Lies
