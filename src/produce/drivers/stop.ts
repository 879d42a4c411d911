import { setMaxListeners } from 'node:events'
import type { LogFooter } from '../../observation/log.ts'
import type { FailureReason, Observation } from '../../observation/observation.ts'

/** Why a run ends before its plan does. */
export type StopReason = Exclude<LogFooter['ended'], 'complete'>

/** How a run comes to its end, and why: first it stops sending, then requests in flight are cancelled. */
export type RunStop = {
  readonly reason: () => LogFooter['ended']
  /** Nothing more is sent; requests in flight are waited for. The first reason stands, unless a worker is lost. */
  readonly stop: (reason: StopReason) => void
  /** Nothing more is sent and requests in flight are cancelled; that is no reason by itself. */
  readonly cancel: () => void
  /** Aborted when nothing more may be sent. */
  readonly stopping: AbortSignal
  /** Aborted when requests in flight are to end now. */
  readonly cancelled: AbortSignal
  /** Aborted when nothing at all is to be waited for, not even the closing balance check. */
  readonly quit: AbortSignal
}

/** `stop` asks for an orderly end, `quit` for one now. */
export function createRunStop(stop: AbortSignal, quit: AbortSignal): RunStop {
  const stopping = new AbortController()
  const cancelled = new AbortController()
  // Every user who thinks between two calls listens to it; Node would report a leak.
  setMaxListeners(0, stopping.signal, cancelled.signal)
  let ended: LogFooter['ended'] = 'complete'
  const stopFor: RunStop['stop'] = reason => {
    // What a lost worker did is not known, whatever else ended the run.
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

/** Calls `then` with the reason when the run stops; never where it is only cancelled. */
export function onStop({ stopping, reason }: RunStop, then: (reason: StopReason) => void): void {
  onAbort(stopping, () => {
    const ended = reason()
    if (ended !== 'complete') then(ended)
  })
}

/** A target that answers none of this many requests in a row, over at least this long, is unreachable. */
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
