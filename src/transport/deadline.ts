import type { Clock } from '../lib/clock.ts'
import type { Timeouts } from '../plan/plan.ts'

/** What a request is waiting for. */
export type Phase = 'connect' | 'headers' | 'idle'

export type Deadline = {
  /** The request waits for something else now. */
  readonly enter: (phase: Phase, atMs: number) => void
  /** Something came; the silence is counted from here. */
  readonly touch: (atMs: number) => void
  readonly stop: () => void
}

/**
 * Watches the limits of one request with one timer, which is not touched while bytes come: when it wakes too early, it
 * is set again. undici's own timers count in steps of half a second and cannot be set for one request.
 */
export function startDeadline(
  clock: Clock,
  timeouts: Timeouts,
  startMs: number,
  onLate: (limit: Phase | 'total') => void,
): Deadline {
  const totalDueMs = startMs + timeouts.totalMs
  let phase: Phase = 'connect'
  let phaseDueMs = startMs + timeouts.connectMs
  let missedMs = Number.NaN

  const wake = (): void => {
    const dueMs = Math.min(totalDueMs, phaseDueMs)
    const nowMs = clock.nowMs()
    if (nowMs < dueMs) {
      arm(dueMs)
      return
    }
    // Timers run before sockets are read. After a stall of this process the answer may be waiting in the kernel, and
    // the service must not be blamed for that, so a limit counts as missed only when one more turn has changed nothing.
    if (missedMs !== dueMs) {
      missedMs = dueMs
      arm(nowMs)
      return
    }
    onLate(totalDueMs <= phaseDueMs ? 'total' : phase)
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
      phaseDueMs = atMs + limitMs(timeouts, next)
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

function limitMs(timeouts: Timeouts, phase: Phase): number {
  switch (phase) {
    case 'connect':
      return timeouts.connectMs
    case 'headers':
      return timeouts.headersMs
    case 'idle':
      return timeouts.idleMs
  }
}
