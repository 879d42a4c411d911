import type { Cancel, Clock } from '../../lib/clock.ts'
import type { Timeouts } from '../../plan/plan.ts'

/** The phase that a request is waiting to complete. */
export type TimeoutPhase = 'connect' | 'headers' | 'idle'

type OnTimeout = (limit: TimeoutPhase | 'total') => void

/** The timeouts of one request. */
export type Deadline = {
  readonly timeouts: Timeouts
  readonly onTimeout: OnTimeout
  totalDueMs: number
  phase: TimeoutPhase
  phaseDueMs: number
  /** The due time that a first turn of the event loop has found missed. */
  missedMs: number
  /** Its position in the list of its watch; -1: stopped. */
  slot: number
}

/** Watches the timeouts of any number of requests with one timer. */
export type DeadlineWatch = {
  readonly start: (timeouts: Timeouts, startMs: number, onTimeout: OnTimeout) => Deadline
  readonly enter: (deadline: Deadline, phase: TimeoutPhase, atMs: number) => void
  readonly stop: (deadline: Deadline) => void
}

/** Restarts the idle timeout, because bytes arrived. */
export function touch(deadline: Deadline, atMs: number): void {
  deadline.phaseDueMs = atMs + deadline.timeouts.idleMs
}

/** The client reads nothing for `ms`, until `untilMs`. That time counts for no timeout. */
export function postpone(deadline: Deadline, ms: number, untilMs: number): void {
  deadline.totalDueMs += ms
  deadline.phaseDueMs = untilMs + deadline.timeouts.idleMs
}

/**
 * Requests and bytes seldom move the timer: it stays at the earliest time that was due when it was set, and is set again
 * when it fires too early. A timer for each request would cost a tenth of the request. undici's own timers have a
 * resolution of half a second and cannot be set for a single request.
 */
export function createDeadlineWatch(clock: Clock): DeadlineWatch {
  const watched: (Deadline | null)[] = []
  const freeSlots: number[] = []
  let cancel: Cancel | null = null
  let armedMs = Number.POSITIVE_INFINITY

  const arm = (dueMs: number): void => {
    if (dueMs >= armedMs) return
    cancel?.()
    armedMs = dueMs
    cancel = clock.at(dueMs, wake)
  }
  const disarm = (): void => {
    cancel?.()
    cancel = null
    armedMs = Number.POSITIVE_INFINITY
  }
  const wake = (): void => {
    const nowMs = clock.nowMs()
    const late: Deadline[] = []
    let nextMs = Number.POSITIVE_INFINITY
    for (const deadline of watched) {
      if (deadline === null) continue
      const dueMs = dueMsOf(deadline)
      if (nowMs < dueMs) nextMs = Math.min(nextMs, dueMs)
      else if (deadline.missedMs === dueMs) late.push(deadline)
      else {
        // Timers run before sockets are read. After a stall of this process the response may already be in the kernel,
        // so the target was in time. A timeout therefore counts only if one more turn of the event loop changes nothing.
        deadline.missedMs = dueMs
        nextMs = nowMs
      }
    }
    disarm()
    if (nextMs < Number.POSITIVE_INFINITY) arm(nextMs)
    for (const deadline of late) {
      // The end of one request may end others.
      if (deadline.slot < 0) continue
      stop(deadline)
      const { onTimeout, totalDueMs, phase, phaseDueMs } = deadline
      onTimeout(totalDueMs <= phaseDueMs ? 'total' : phase)
    }
  }
  const stop = (deadline: Deadline): void => {
    const { slot } = deadline
    if (slot < 0) return
    deadline.slot = -1
    watched[slot] = null
    freeSlots.push(slot)
    if (freeSlots.length === watched.length) disarm()
  }

  return {
    start: (timeouts, startMs, onTimeout) => {
      const totalDueMs = startMs + timeouts.totalMs
      const phaseDueMs = startMs + timeouts.connectMs
      const slot = freeSlots.pop() ?? watched.length
      const missedMs = Number.NaN
      const deadline: Deadline = { timeouts, onTimeout, totalDueMs, phase: 'connect', phaseDueMs, missedMs, slot }
      watched[slot] = deadline
      arm(dueMsOf(deadline))
      return deadline
    },
    enter: (deadline, phase, atMs) => {
      deadline.phase = phase
      deadline.phaseDueMs = atMs + phaseMs(deadline.timeouts, phase)
      if (deadline.slot >= 0) arm(dueMsOf(deadline))
    },
    stop,
  }
}

const dueMsOf = ({ totalDueMs, phaseDueMs }: Deadline): number => Math.min(totalDueMs, phaseDueMs)

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
