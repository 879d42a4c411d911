import type { Clock } from '../../lib/clock.ts'

/** Notes when the event loop of this thread was too busy to read what had arrived. */
export type StallWatch = {
  /** The stalls between two instants of the clock, of which the second is now; undefined: none. */
  readonly between: (
    fromMs: number,
    nowMs: number,
  ) => { readonly count: number; readonly longestMs: number } | undefined
  readonly stop: () => void
}

const tickMs = 5
/** A wake-up that is less than 3 ms late is not a stall: timers of Node.js count whole milliseconds. */
const stallMs = tickMs + 3
/** Beyond, neighbors are joined in pairs. */
const maxNoted = 1_000

/**
 * Wakes up every five milliseconds and notes when it was late. A stall may have begun right after the wake-up before, so
 * it counts from there, as the maximum wait.
 */
export function watchStalls(clock: Clock): StallWatch {
  let noted: { endMs: number; lengthMs: number; count: number }[] = []
  let wokenMs = clock.nowMs()
  let cancel = () => {}

  const wake = (): void => {
    const nowMs = clock.nowMs()
    const lengthMs = nowMs - wokenMs
    if (lengthMs >= stallMs) {
      noted.push({ endMs: nowMs, lengthMs, count: 1 })
      if (noted.length > maxNoted) noted = joinPairs(noted)
    }
    wokenMs = nowMs
    cancel = clock.at(nowMs + tickMs, wake)
  }
  cancel = clock.at(wokenMs + tickMs, wake)

  return {
    between: (fromMs, nowMs) => {
      // A wake-up that is overdue: what is read now has waited at most since the last one.
      const openMs = nowMs - wokenMs
      let [count, longestMs] = openMs >= stallMs ? [1, openMs] : [0, 0]
      for (let index = noted.length - 1; index >= 0; index--) {
        const stall = noted[index]
        if (stall === undefined || stall.endMs < fromMs) break
        count += stall.count
        longestMs = Math.max(longestMs, stall.lengthMs)
      }
      return count === 0 ? undefined : { count, longestMs: Math.ceil(longestMs * 10) / 10 }
    },
    stop: () => cancel(),
  }
}

type Noted = { readonly endMs: number; readonly lengthMs: number; readonly count: number }

/** A joined stall ends with the later one and is as long as the longer one, so no error becomes smaller. */
const joinPairs = (noted: readonly Noted[]): Noted[] =>
  noted.flatMap((one, index) => {
    const other = noted[index + 1]
    if (index % 2 === 1) return []
    if (other === undefined) return one
    return {
      endMs: other.endMs,
      lengthMs: Math.max(one.lengthMs, other.lengthMs),
      count: one.count + other.count,
    }
  })
