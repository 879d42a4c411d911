import { uptime } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createTimers, fire, type Timer } from './timers.ts'

/** Milliseconds, monotonic, counted from the clock's own origin (the start of the run). */
export type Clock = {
  /** Monotonic milliseconds since the origin, in whole microseconds. */
  readonly nowMs: () => number
  /** Unix time in milliseconds. Moves with `nowMs`, so that a step of the system clock cannot reorder a run. */
  readonly wallMs: () => number
  /** Calls `wake` once, at or after `dueMs`, and never before `at` has returned. The result cancels it. */
  readonly at: (dueMs: number, wake: () => void) => Cancel
  /** Like `at`, but less late, for events whose time is measured. It costs up to two milliseconds of CPU. */
  readonly atPrecisely: (dueMs: number, wake: () => void) => Cancel
  /**
   * Wakes the first that `atPrecisely` waits for if it is due at `nowMs`, once the work in progress has returned. Call it between
   * pieces of long work. Returns whether one is due. What was due when it was given waits for the next turn of the event loop.
   */
  readonly wakeDue: (nowMs: number) => boolean
}

export type Cancel = () => void

/** Rounds milliseconds to whole microseconds. Finer digits are noise, and take room in records. */
export const inMicroseconds = (ms: number): number => Math.round(ms * 1e3) / 1e3

/** The machine's clock, with its origin at the moment of the call. */
export function systemClock(): Clock {
  const originMs = performance.now()
  const originWallMs = Date.now()
  const nowMs = () => inMicroseconds(performance.now() - originMs)
  return {
    nowMs,
    wallMs: () => originWallMs + nowMs(),
    at: (dueMs, wake) => {
      // setTimeout truncates to whole milliseconds and may wake early by a fraction; rounding up keeps "never before".
      const timer = setTimeout(wake, Math.max(0, Math.ceil(dueMs - nowMs())))
      return () => clearTimeout(timer)
    },
    ...preciseTimers(nowMs),
  }
}

/** A timer of one millisecond may fire after two. */
const coarseMs = 2

/** Uses a timer while it cannot be late, then polls once per turn of the event loop, so that other work goes on. */
function preciseTimers(nowMs: () => number): Pick<Clock, 'atPrecisely' | 'wakeDue'> {
  const waiting = createTimers()
  /** Those that were due when they were given. */
  let overdue: Timer[] = []
  let order = 0
  let timeout: NodeJS.Timeout | undefined
  /** When the timeout has to come; infinite: there is none. */
  let timeoutForMs = Number.POSITIVE_INFINITY
  let turn: NodeJS.Immediate | undefined
  let isWaking = false

  const arm = (): void => {
    if (turn !== undefined) return
    const first = waiting.first()
    const nextMs = overdue.length > 0 ? 0 : (first?.dueMs ?? Number.POSITIVE_INFINITY)
    if (nextMs === timeoutForMs) return
    clearTimeout(timeout)
    timeoutForMs = Number.POSITIVE_INFINITY
    if (nextMs === Number.POSITIVE_INFINITY) return
    const leftMs = nextMs - nowMs()
    if (leftMs <= coarseMs) {
      turn = setImmediate(onTurn)
      return
    }
    timeoutForMs = nextMs
    timeout = setTimeout(onTurn, Math.floor(leftMs) - 1)
  }
  const onTurn = (): void => {
    turn = undefined
    timeoutForMs = Number.POSITIVE_INFINITY
    const atMs = nowMs()
    // What these add waits for another turn.
    const due = overdue
    overdue = []
    for (let timer = waiting.takeDue(atMs); timer !== null; timer = waiting.takeDue(atMs)) due.push(timer)
    for (const timer of due) fire(timer)
    arm()
  }
  return {
    atPrecisely: (dueMs, wake) => {
      const timer: Timer = { dueMs, order: order++, wake }
      if (dueMs <= nowMs()) overdue.push(timer)
      else waiting.add(timer)
      arm()
      return () => {
        if (timer.wake === null) return
        timer.wake = null
        arm()
      }
    },
    wakeDue: atMs => {
      const first = waiting.first()
      if (first === undefined || first.dueMs > atMs) return false
      if (isWaking) return true
      isWaking = true
      queueMicrotask(() => {
        isWaking = false
        const timer = waiting.takeDue(atMs)
        if (timer !== null) fire(timer)
      })
      return true
    },
  }
}

/** Resolves at `dueMs`, or as soon as `signal` aborts; never rejects. */
export const sleepUntil = (clock: Clock, dueMs: number, signal?: AbortSignal): Promise<void> =>
  sleep(clock.at, dueMs, signal)

/** Like `sleepUntil`, but with `atPrecisely`. */
export const sleepPreciselyUntil = (clock: Clock, dueMs: number, signal?: AbortSignal): Promise<void> =>
  sleep(clock.atPrecisely, dueMs, signal)

function sleep(at: Clock['at'], dueMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const wake = () => {
      cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = at(dueMs, wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
}

const maxReadings = 64

/**
 * The origin of `clock` on the machine's monotonic clock, in milliseconds. All processes of a machine share that clock.
 * So times of two processes are comparable after each adds its origin. The error is at most half of the shortest time
 * that reading both clocks takes, about a microsecond.
 */
export function monotonicOriginMs(clock: Clock): number {
  let narrowestMs = Number.POSITIVE_INFINITY
  let originMs = Number.NaN
  for (let i = 0; i < maxReadings; i++) {
    const beforeMs = clock.nowMs()
    const machineMs = Number(process.hrtime.bigint()) / 1e6
    const widthMs = clock.nowMs() - beforeMs
    if (widthMs >= narrowestMs) continue
    narrowestMs = widthMs
    originMs = machineMs - (beforeMs + widthMs / 2)
  }
  return originMs
}

/** The instant at which a clock shows 0: on the machine's monotonic clock, and as Unix time. Both in milliseconds. */
export type Epoch = { readonly machineMs: number; readonly wallMs: number }

export const epochOf = (clock: Clock): Epoch => {
  return { machineMs: monotonicOriginMs(clock), wallMs: clock.wallMs() - clock.nowMs() }
}

/** A clock with this epoch, for another thread. It always shows the same time as the original clock. */
export function clockFromEpoch({ machineMs, wallMs }: Epoch): Clock {
  const own = systemClock()
  const aheadMs = monotonicOriginMs(own) - machineMs
  const nowMs = () => inMicroseconds(own.nowMs() + aheadMs)
  return {
    nowMs,
    wallMs: () => wallMs + nowMs(),
    at: (dueMs, wake) => own.at(dueMs - aheadMs, wake),
    atPrecisely: (dueMs, wake) => own.atPrecisely(dueMs - aheadMs, wake),
    wakeDue: atMs => own.wakeDue(atMs - aheadMs),
  }
}

/**
 * Milliseconds since the machine started, to about 10 ms. Unlike a `Clock`, it includes the time in which the machine was
 * suspended. All processes of a machine share it. The machine is asked at most once in a millisecond of `clock`.
 */
export function createBootTime(clock: Pick<Clock, 'nowMs'>): () => number {
  let askedMs = Number.NEGATIVE_INFINITY
  let bootMs = 0
  return () => {
    const nowMs = clock.nowMs()
    if (nowMs - askedMs >= 1) {
      askedMs = nowMs
      bootMs = uptime() * 1e3
    }
    return bootMs
  }
}

/** The CPU time of this process so far, of all its threads, in milliseconds. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e3
}

export type EventLoopMonitor = {
  /** The delay of the event loop until now, in milliseconds. */
  readonly delayMs: () => { readonly p99: number; readonly max: number }
  readonly stop: () => void
}

const resolutionMs = 10
const nsPerMs = 1e6

/** Measures the delay of this thread's event loop until it is stopped. */
export function monitorEventLoop(): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  // Node records the time between two wake-ups that are due `resolutionMs` apart; the excess is the delay.
  const delay = (ns: number) => Math.max(0, ns / nsPerMs - resolutionMs)
  return {
    delayMs: () =>
      histogram.count === 0 ? { p99: 0, max: 0 } : { p99: delay(histogram.percentile(99)), max: delay(histogram.max) },
    stop: () => histogram.disable(),
  }
}
