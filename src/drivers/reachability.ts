import type { FailureReason, Observation } from '../observation/observation.ts'

/** So many requests in a row, over at least so long, without a single answer: nobody is there any more. */
const fewest = 20
const silenceMs = 5_000

const unreachable: readonly FailureReason[] = [
  'connect-refused',
  'connect-timeout',
  'connection-lost',
  'name-not-resolved',
  'tls',
  'protocol',
]

/** Calls `onLost` once when a target that should answer has stopped to. A target that answers with errors is there. */
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
    if (lost || failures < fewest || endMs - firstFailureMs < silenceMs) return
    lost = true
    onLost()
  }
}
