import { setMaxListeners } from 'node:events'
import type { Cancel, Clock } from '../../lib/clock.ts'
import type { LogFooter } from '../../observation/log.ts'
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
  /** Aborted when sending must stop. */
  readonly stopping: AbortSignal
  /** Aborted when requests in flight must end now. */
  readonly cancelled: AbortSignal
  /** Aborted when the run must end now, without the closing balance checks. */
  readonly quit: AbortSignal
}

/** `stop` requests an orderly end, `quit` an immediate one. */
export function createRunStop(stop: AbortSignal, quit: AbortSignal): RunStop {
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
  onAbort(stop, () => stopFor('interrupted'))
  onAbort(quit, () => {
    stopFor('interrupted')
    cancelled.abort()
  })
  return {
    reason: () => ended,
    stop: stopFor,
    cancel: () => {
      stopping.abort()
      cancelled.abort()
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

/** How often somebody must be heard, at most. */
const silenceTickMs = 100

/** `heard`: somebody was heard now. */
export type SilenceWatch = { readonly heard: () => void; readonly end: () => void }

/**
 * Calls `onSilent` once if nobody is heard for `maxMs`; null: never. Only time in which this thread could have heard
 * somebody counts.
 */
export function watchSilence(clock: Clock, maxMs: number | null, onSilent: () => void): SilenceWatch {
  if (maxMs === null) return { heard: () => {}, end: () => {} }
  let unheardMs = 0
  let cancel: Cancel = () => {}
  const tick = (): void => {
    unheardMs += silenceTickMs
    if (unheardMs > maxMs) onSilent()
    else cancel = clock.at(clock.nowMs() + silenceTickMs, tick)
  }
  cancel = clock.at(clock.nowMs() + silenceTickMs, tick)
  return {
    heard: () => {
      unheardMs = 0
    },
    end: () => cancel(),
  }
}

/** After this many responses, and none of the service, no more of them are needed. */
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
    if (outcome.kind === 'answered' || !unreachable.includes(outcome.reason)) {
      failures = 0
      return
    }
    if (failures++ === 0) firstFailureMs = endMs
    if (lost || failures < minFailures || endMs - firstFailureMs < minSilenceMs) return
    lost = true
    onLost()
  }
}
