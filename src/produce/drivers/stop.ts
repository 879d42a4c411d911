import { setMaxListeners } from 'node:events'
import type { Cancel, Clock } from '../../lib/clock.ts'
import type { LogFooter } from '../../observation/log-lines.ts'
import type { FailureReason, Observation } from '../../observation/observation.ts'
import type { originOf } from '../../observation/response.ts'

/** Why a run ends before its plan is complete. */
export type StopReason = Exclude<LogFooter['ended'], 'complete'>

/** Ends a run early, and records why: first it stops sending, then it cancels requests in flight. */
export type RunStop = {
  readonly reason: () => LogFooter['ended']
  /** Stops sending, and waits for requests in flight. The first reason wins, but `worker-lost` overrides it. */
  readonly stop: (reason: StopReason) => void
  /** Stops sending, and cancels requests in flight. This alone sets no reason. */
  readonly cancel: () => void
  /** Whether a request may be sent now. Once the lease of the worker is over, this stops and cancels everything. */
  readonly maySend: () => boolean
  /** Aborted when sending must stop. */
  readonly stopping: AbortSignal
  /** Aborted when requests in flight must end now. */
  readonly cancelled: AbortSignal
  /** Aborted when the run must end now, without the closing balance checks. */
  readonly quit: AbortSignal
}

/** `stop` requests an orderly end, `quit` an immediate one. `isOver`: whether the lease of the worker is over. */
export function createRunStop(stop: AbortSignal, quit: AbortSignal, isOver: () => boolean = () => false): RunStop {
  const stopping = new AbortController()
  const cancelled = new AbortController()
  // Each user adds a listener while it thinks between two calls; Node would report a leak.
  setMaxListeners(0, stopping.signal, cancelled.signal)
  let ended: LogFooter['ended'] = 'complete'
  const stopFor: RunStop['stop'] = reason => {
    // A lost worker leaves a gap in the results, so it overrides any other reason.
    if (ended === 'complete' || reason === 'worker-lost') ended = reason
    stopping.abort()
  }
  const cancel = () => {
    stopping.abort()
    cancelled.abort()
  }
  let isLeaseLost = false
  onAbort(stop, () => stopFor('interrupted'))
  onAbort(quit, () => {
    stopFor('interrupted')
    cancelled.abort()
  })
  return {
    reason: () => ended,
    stop: stopFor,
    cancel,
    maySend: () => {
      if (isLeaseLost || !isOver()) return !isLeaseLost
      // A lease that was over once stays over, because other workers may know.
      isLeaseLost = true
      stopFor('worker-lost')
      cancel()
      return false
    },
    stopping: stopping.signal,
    cancelled: cancelled.signal,
    quit,
  }
}

/** Calls `then` when the signal aborts, or now if it already has. */
export function onAbort(signal: AbortSignal, then: () => void): void {
  if (signal.aborted) then()
  else signal.addEventListener('abort', then, { once: true })
}

/** Calls `then` with the reason when the run stops. Never calls it if the run is only cancelled. */
export function onStop({ stopping, reason }: RunStop, then: (reason: StopReason) => void): void {
  onAbort(stopping, () => {
    const ended = reason()
    if (ended !== 'complete') then(ended)
  })
}

/**
 * Until when a worker of a run over several machines may send, in shared memory: milliseconds on a clock that includes the
 * time in which the machine was suspended. Later, the others may have ended the run without it.
 */
export type SendLease = BigInt64Array

export function createSendLease(untilMs: number): SendLease {
  const lease = new BigInt64Array(new SharedArrayBuffer(8))
  extendSendLease(lease, untilMs)
  return lease
}

export const extendSendLease = (lease: SendLease, untilMs: number): void =>
  void Atomics.store(lease, 0, BigInt(Math.floor(untilMs)))

export const isLeaseOver = (lease: SendLease, nowMs: number): boolean => nowMs >= Number(Atomics.load(lease, 0))

/** The maximum pause of a worker without a supervisor. */
const maxPauseMs = 10_000

/**
 * The lease of a worker without a supervisor. It is over once the machine or the process has paused for so long that the
 * requests that became due would be a burst. Each look extends it.
 */
export function createPauseWatch(bootMs: () => number): () => boolean {
  let seenMs = bootMs()
  return () => {
    const earlierMs = seenMs
    seenMs = bootMs()
    return seenMs > earlierMs + maxPauseMs
  }
}

/** How often an idle worker checks its lease. */
const leaseTickMs = 100

/** Ends a run soon after its lease is over, even if no request is due. Returns a function that ends the watch. */
export function watchLease(clock: Clock, { maySend }: Pick<RunStop, 'maySend'>): Cancel {
  let cancel: Cancel = () => {}
  const tick = (): void => {
    if (maySend()) cancel = clock.at(clock.nowMs() + leaseTickMs, tick)
  }
  tick()
  return () => cancel()
}

/** After this many responses that are not from the service, the target is the wrong one. */
const minElsewhere = 20

/** Calls `onWrong` once if the target responds, and none of the first responses is of the service. */
export function watchTarget(
  origin: (observation: Observation) => ReturnType<typeof originOf>,
  onWrong: (reason: 'wrong-target' | 'unauthorized') => void,
): (observation: Observation) => void {
  let elsewhere = 0
  let isKnown = false
  return observation => {
    if (isKnown) return
    const from = origin(observation)
    if (from === 'elsewhere') elsewhere++
    isKnown = from === 'service' || elsewhere >= minElsewhere
    if (elsewhere >= minElsewhere) onWrong(observation.response?.status === 401 ? 'unauthorized' : 'wrong-target')
  }
}

/** A target is unreachable after this many consecutive failures over at least this much time. */
const minFailures = 20
const minSilenceMs = 5_000

const unreachable: readonly FailureReason[] = [
  'connect-refused',
  'connect-timeout',
  'connection-lost',
  'name-not-resolved',
  'tls',
  'protocol',
]

/** Calls `onLost` once when the target has stopped responding. A target that responds with errors is reachable. */
export function watchReachability(onLost: () => void): (observation: Observation) => void {
  let failures = 0
  let firstFailureMs = 0
  let lost = false
  return ({ outcome, endMs }) => {
    if (outcome.kind === 'dropped' || endMs === null) return
    if (outcome.kind !== 'failed' || !unreachable.includes(outcome.reason)) {
      failures = 0
      return
    }
    if (failures++ === 0) firstFailureMs = endMs
    if (lost || failures < minFailures || endMs - firstFailureMs < minSilenceMs) return
    lost = true
    onLost()
  }
}
