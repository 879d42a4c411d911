import type { Clock } from '../lib/clock.ts'
import type { Output } from '../outputs/output.ts'
import { snapshotsOf } from '../outputs/progress.ts'
import type { ProgressSnapshot } from '../outputs/progress-snapshot.ts'
import type { Plan } from '../plan/plan.ts'
import type { RunProgress } from './options.ts'

const everyMs = 1_000

/** Calls `onProgress` about once per second and at the end. Calls `onError` once if that throws, and never again then. */
export function progressOutput(
  plan: Plan,
  clock: Clock,
  onProgress: (progress: RunProgress) => void,
  onError: (cause: unknown) => void,
): Output {
  let cancel = () => {}
  let isOpen = true
  let report = () => {}
  const stop = () => {
    isOpen = false
    cancel()
  }
  return {
    start: live => {
      const snapshot = snapshotsOf(plan, live, clock)
      report = () => {
        try {
          onProgress(progressOf(snapshot()))
        } catch (cause) {
          stop()
          onError(cause)
        }
      }
      const again = () => {
        cancel = clock.at(clock.nowMs() + everyMs, () => {
          void live.refresh().then(() => {
            if (isOpen) report()
            if (isOpen) again()
          })
        })
      }
      again()
    },
    finish: async () => {
      if (isOpen) report()
      stop()
    },
    close: async () => stop(),
  }
}

function progressOf(snapshot: ProgressSnapshot): RunProgress {
  const { scenario, elapsedMs, totalMs, stage, inFlight, sent, failed, dropped, statuses } = snapshot
  const { latencyMs, ttftMs, violations, claimedUsd, achievedPerSecond } = snapshot
  const counts = { inFlight, sent, failed, dropped, statuses }
  const measured = { latencyMs, ttftMs, violations, claimedUsd, achievedPerSecond }
  return { scenario, stage: stage.name, elapsedMs, totalMs, ...counts, ...measured }
}
