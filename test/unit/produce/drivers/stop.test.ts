import { describe, expect, test, vi } from 'vitest'
import {
  type FailureReason,
  failureReasons,
  type Observation,
  type Outcome,
} from '../../../../src/observation/observation.ts'
import {
  createPauseWatch,
  createRunStop,
  createSendLease,
  extendSendLease,
  isLeaseOver,
  onStop,
  watchLease,
  watchReachability,
} from '../../../../src/produce/drivers/stop.ts'

import { manualClock } from '../../../../src/prove/manual-clock.ts'

const made = () => {
  const [stop, quit] = [new AbortController(), new AbortController()]
  return { stop, quit, runStop: createRunStop(stop.signal, quit.signal) }
}

test('a run without a stop is complete', () => {
  const { runStop } = made()
  expect([runStop.reason(), runStop.stopping.aborted, runStop.cancelled.aborted]).toEqual(['complete', false, false])
})

test('a stop leaves requests in flight', () => {
  const { runStop, stop } = made()
  stop.abort()
  expect([runStop.reason(), runStop.stopping.aborted, runStop.cancelled.aborted]).toEqual(['interrupted', true, false])
})

test('a quit cancels requests in flight, even without an earlier stop', () => {
  const { runStop, quit } = made()
  quit.abort()
  expect([runStop.reason(), runStop.stopping.aborted, runStop.cancelled.aborted]).toEqual(['interrupted', true, true])
})

test('the first reason wins', () => {
  const { runStop, stop } = made()
  runStop.stop('budget-reached')
  stop.abort()
  runStop.stop('target-unreachable')
  expect(runStop.reason()).toBe('budget-reached')
})

test('a cancel is not a reason: a run whose drain took too long is complete', () => {
  const { runStop } = made()
  runStop.cancel()
  expect([runStop.reason(), runStop.stopping.aborted, runStop.cancelled.aborted]).toEqual(['complete', true, true])
})

test('a signal that is already aborted counts', () => {
  const stop = AbortSignal.abort()
  expect(createRunStop(stop, new AbortController().signal).stopping.aborted).toBe(true)
})

test('hundreds of listeners cause no leak warning of Node', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => warnings.push(name)
  process.on('warning', listen)
  const { runStop } = made()
  for (let waiter = 0; waiter < 200; waiter++) runStop.stopping.addEventListener('abort', () => {})
  await new Promise(setImmediate)
  process.off('warning', listen)
  expect(warnings).toEqual([])
})

test('a lost worker overrides any earlier reason', () => {
  const never = new AbortController().signal
  const runStop = createRunStop(never, never)
  runStop.stop('interrupted')
  runStop.stop('worker-lost')
  runStop.stop('budget-reached')
  expect(runStop.reason()).toBe('worker-lost')
})

test('a stop listener gets the reason once, and is not called for a cancel', () => {
  const reported: string[] = []
  const { runStop } = made()
  onStop(runStop, reason => reported.push(reason))
  runStop.stop('budget-reached')
  runStop.stop('worker-lost')
  const cancelled = made().runStop
  onStop(cancelled, reason => reported.push(reason))
  cancelled.cancel()
  expect(reported).toEqual(['budget-reached'])
})

const seen = (outcome: Outcome, endMs: number | null): Observation => ({
  id: 0,
  seq: 0,
  stage: 'test',
  call: 'models',
  caller: 'c0',
  key: 0,
  accountTier: 'default',
  request: { kind: 'models' },
  dueMs: 0,
  sentMs: 0,
  headersMs: null,
  endMs,
  outcome,
  response: null,
})
const failed = (endMs: number, reason: FailureReason = 'connect-refused') =>
  seen({ kind: 'failed', reason, detail: '' }, endMs)
const answered = (endMs: number, status = 200) => seen({ kind: 'answered', status }, endMs)

/** `count` failures from a start time, at a fixed interval. */
const failures = (count: number, fromMs: number, periodMs: number, reason?: FailureReason) =>
  Array.from({ length: count }, (_, index) => failed(fromMs + index * periodMs, reason))

/** How often a target with these observations is reported as unreachable. */
function reportCount(observations: readonly Observation[]): number {
  const onLost = vi.fn()
  const watch = watchReachability(onLost)
  for (const observation of observations) watch(observation)
  return onLost.mock.calls.length
}

describe('a target is unreachable', () => {
  test('after 20 consecutive failures over 5 s, which is reported once', () => {
    expect(reportCount(failures(20, 0, 250))).toBe(0)
    expect(reportCount(failures(21, 0, 250))).toBe(1)
    expect(reportCount(failures(500, 0, 250))).toBe(1)
  })

  test('not after 20 failures in less than 5 s', () => {
    expect(reportCount(failures(1_000, 0, 4))).toBe(0)
  })

  test('not after fewer than 20 failures over any time', () => {
    expect(reportCount(failures(19, 0, 60_000))).toBe(0)
  })

  test('not after a burst of failures after a long pause, because the time starts at the first failure', () => {
    expect(reportCount([answered(1_000), ...failures(50, 61_000, 10)])).toBe(0)
  })

  test('not while some responses arrive, even errors', () => {
    const rounds = Array.from({ length: 50 }, (_, round) => [
      ...failures(19, round * 20_000, 1_000),
      answered(round * 20_000 + 19_500, 503),
    ])
    expect(reportCount(rounds.flat())).toBe(0)
  })

  test('when responses stop, after any number of them', () => {
    const responses = Array.from({ length: 1_000 }, (_, index) => answered(index * 10))
    expect(reportCount([...responses, ...failures(30, 10_000, 200)])).toBe(1)
  })
})

describe('a failure counts against the target', () => {
  const counting: readonly FailureReason[] = [
    ...(['connect-refused', 'connect-timeout', 'connection-lost', 'name-not-resolved', 'tls', 'protocol'] as const),
  ]

  test.each(failureReasons.map(reason => ({ reason, counts: counting.includes(reason) })))(
    'by $reason: $counts',
    ({ reason, counts }) => {
      expect(reportCount(failures(100, 0, 100, reason))).toBe(counts ? 1 : 0)
    },
  )

  test('never if it was not sent', () => {
    const dropped = Array.from({ length: 100 }, () => seen({ kind: 'dropped', reason: 'max-in-flight' }, null))
    expect(reportCount(dropped)).toBe(0)
    expect(reportCount([...failures(10, 0, 300), ...dropped, ...failures(11, 3_000, 300)])).toBe(1)
  })
})

describe('the lease of a worker', () => {
  /** A machine that can be suspended: only the clock of its lease goes on then. */
  function leased(untilMs: number) {
    const clock = manualClock()
    let suspendedMs = 0
    const never = new AbortController().signal
    const lease = createSendLease(untilMs)
    const stop = createRunStop(never, never, () => isLeaseOver(lease, clock.nowMs() + suspendedMs))
    const suspend = (ms: number) => {
      suspendedMs += ms
    }
    return { clock, lease, stop, suspend }
  }

  test('lets it send until its end, and stops and cancels everything after it', () => {
    const { stop, suspend } = leased(1_000)
    suspend(999)
    expect([stop.maySend(), stop.reason(), stop.stopping.aborted]).toEqual([true, 'complete', false])
    suspend(1)
    expect([stop.maySend(), stop.reason()]).toEqual([false, 'worker-lost'])
    expect([stop.stopping.aborted, stop.cancelled.aborted]).toEqual([true, true])
  })

  test('is not taken up again once it was over', () => {
    const { stop, lease, suspend } = leased(1_000)
    suspend(2_000)
    expect(stop.maySend()).toBe(false)
    extendSendLease(lease, 9_000)
    expect(stop.maySend()).toBe(false)
  })

  test('goes on while somebody extends it', () => {
    const { stop, lease, suspend } = leased(1_000)
    suspend(900)
    extendSendLease(lease, 1_900)
    suspend(900)
    expect(stop.maySend()).toBe(true)
  })

  test('ends the run soon after, even if nothing is due', async () => {
    const { clock, stop } = leased(1_000)
    watchLease(clock, stop)
    await clock.advanceTo(900)
    expect(stop.reason()).toBe('complete')
    await clock.advanceTo(1_100)
    expect(stop.reason()).toBe('worker-lost')
  })

  test('does not end a run whose watch has ended', async () => {
    const { clock, stop } = leased(1_000)
    watchLease(clock, stop)()
    await clock.advanceTo(5_000)
    expect(stop.reason()).toBe('complete')
  })
})

describe('a worker that nobody supervises', () => {
  const paused = () => {
    const clock = manualClock()
    let bootMs = 0
    const stop = createRunStop(
      new AbortController().signal,
      new AbortController().signal,
      createPauseWatch(() => bootMs),
    )
    return { clock, stop, at: (nowMs: number) => (bootMs = nowMs) }
  }

  test('sends nothing after it stood still for more than 10 s, and stays stopped', () => {
    const { stop, at } = paused()
    at(9_000)
    expect(stop.maySend()).toBe(true)
    at(19_001)
    expect(stop.maySend()).toBe(false)
    expect([stop.reason(), stop.cancelled.aborted]).toEqual(['worker-lost', true])
    expect(stop.maySend()).toBe(false)
  })

  test('goes on for as long as it looks again in time', async () => {
    const { clock, stop, at } = paused()
    watchLease({ ...clock, nowMs: () => at(clock.nowMs()) }, stop)
    await clock.advanceTo(60_000)
    expect(stop.reason()).toBe('complete')
  })
})
