import type { Clock } from '../../lib/clock.ts'
import type { Timeouts } from '../../plan/plan.ts'

/** The phase that a request is waiting to complete. */
export type TimeoutPhase = 'connect' | 'headers' | 'idle'

export type Deadline = {
  readonly enter: (phase: TimeoutPhase, atMs: number) => void
  /** Restarts the idle timeout, because bytes arrived. */
  readonly touch: (atMs: number) => void
  readonly stop: () => void
}

/**
 * Watches all timeouts of one request with one timer. Bytes do not reset the timer; if it fires too early, it is set
 * again. undici's own timers have a resolution of half a second and cannot be set for a single request.
 */
export function startDeadline(
  clock: Clock,
  timeouts: Timeouts,
  startMs: number,
  onTimeout: (limit: TimeoutPhase | 'total') => void,
): Deadline {
  const totalDueMs = startMs + timeouts.totalMs
  let phase: TimeoutPhase = 'connect'
  let phaseDueMs = startMs + timeouts.connectMs
  let missedMs = Number.NaN

  const wake = (): void => {
    const dueMs = Math.min(totalDueMs, phaseDueMs)
    const nowMs = clock.nowMs()
    if (nowMs < dueMs) {
      arm(dueMs)
      return
    }
    // Timers run before sockets are read. After a stall of this process the response may already be in the kernel, so
    // the target was in time. A timeout therefore counts only if one more turn of the event loop changes nothing.
    if (missedMs !== dueMs) {
      missedMs = dueMs
      arm(nowMs)
      return
    }
    onTimeout(totalDueMs <= phaseDueMs ? 'total' : phase)
  }
  let armedMs = Math.min(totalDueMs, phaseDueMs)
  let cancel = clock.at(armedMs, wake)
  const arm = (dueMs: number): void => {
    armedMs = dueMs
    cancel = clock.at(dueMs, wake)
  }

  return {
    enter: (next, atMs) => {
      phase = next
      phaseDueMs = atMs + phaseMs(timeouts, next)
      const dueMs = Math.min(totalDueMs, phaseDueMs)
      if (dueMs >= armedMs) return
      cancel()
      arm(dueMs)
    },
    touch: atMs => {
      phaseDueMs = atMs + timeouts.idleMs
    },
    stop: () => cancel(),
  }
}

function phaseMs(timeouts: Timeouts, phase: TimeoutPhase): number {
  switch (phase) {
    case 'connect':
      return timeouts.connectMs
    case 'headers':
      return timeouts.headersMs
    case 'idle':
      return timeouts.idleMs
  }
}
