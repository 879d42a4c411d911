import { type FurtherLimit, windowsOf } from '../../../contract/limit-headers/further-limits.ts'
import type { StatedLimit } from '../../../observation/limit-scope.ts'
import type { AuditContext } from '../audit.ts'
import { createSortedQueue, type RequestInterval } from '../overlap-bounds.ts'
import { clockResolutionMs } from './resets.ts'

/** A request as one further limit counts it. Times on the clock of the observations. */
export type FurtherUse = RequestInterval & {
  readonly id: number
  readonly kind: 'accepted' | 'rejected' | 'uncertain'
  /** What it used at least, at most, and at most until it settled. */
  readonly certain: number
  readonly possible: number
  readonly reserved: number
  readonly stated: StatedLimit
  /** Whether only limits of the profile that state nothing may have refused it. */
  readonly isByUnstatedLimit: boolean
  /** Whether only this limit may have refused it. */
  readonly isAlone: boolean
  /** The window ends between these times; null: it states none. */
  readonly ends: { readonly fromMs: number; readonly toMs: number } | null
}

/** The parts of a window that amounts are added up by. */
const parts = 256

/** Sums of amounts by their time, of the last windows. */
export function createSums(windowMs: number) {
  const stepMs = windowMs / parts
  const sums = new Map<number, number>()
  const stepOf = (atMs: number) => Math.floor(atMs / stepMs)
  return {
    add: (atMs: number, amount: number) => {
      if (amount > 0) sums.set(stepOf(atMs), (sums.get(stepOf(atMs)) ?? 0) + amount)
    },
    /** `part`: whether the part counts that this time is in. */
    since: (atMs: number, part: 'with' | 'without') => {
      const first = stepOf(atMs) + (part === 'with' ? 0 : 1)
      let sum = 0
      for (const [step, amount] of sums) if (step >= first) sum += amount
      return sum
    },
    forget: (beforeMs: number) => {
      for (const step of sums.keys()) if (step < stepOf(beforeMs)) sums.delete(step)
    },
  }
}

/** null: it is open what one of the requests counted. */
const ifKnown = (sum: number): number | null => (Number.isFinite(sum) ? sum : null)

/** All requests of a caller, as one further limit may count them: in any scope, and whether or not they were accepted. */
export function createPossibleUse(limit: FurtherLimit, { shared }: AuditContext, firstSentMs: number) {
  const memoryMs = windowsOf(limit) * limit.windowMs
  const sums = createSums(memoryMs)
  /** What requests reserve and may give back, by when they settle. */
  const reserved = createSums(memoryMs)
  const later = createSortedQueue<FurtherUse>(({ sentMs }) => sentMs)
  let total = 0
  let before: number | null = null
  let lastShownMs = firstSentMs
  /** The first request after a window without any. */
  let beganMs = Number.NEGATIVE_INFINITY
  const sendUntil = (untilMs: number) => {
    for (let use = later.at(0); use !== undefined && use.sentMs <= untilMs; use = later.at(0)) {
      later.shift()
      if (use.sentMs - lastShownMs > limit.windowMs + clockResolutionMs) beganMs = use.sentMs
      lastShownMs = Math.max(lastShownMs, use.shownMs)
      total += use.reserved
      sums.add(use.settledMs, use.possible)
      reserved.add(use.settledMs, use.reserved - use.possible)
    }
  }
  return {
    add: later.insert,
    /** When the window began in which a request was sent, if each begins with its first request; null: unknown. */
    windowBeganMs: ({ sentMs }: FurtherUse): number | null => {
      sendUntil(sentMs)
      return shared || sentMs - beganMs > limit.windowMs ? null : beganMs
    },
    /** How much may count when this response is written, with its request; null: unknown. */
    atMost: ({ kind, sentMs, shownMs, stated }: FurtherUse): number | null => {
      sendUntil(shownMs)
      if (shared) return null
      sums.forget(sentMs - 2 * memoryMs)
      reserved.forget(sentMs - 2 * memoryMs)
      const fromMs = sentMs - memoryMs - clockResolutionMs
      if (fromMs > firstSentMs) return ifKnown(sums.since(fromMs, 'with') + reserved.since(sentMs, 'with'))
      // What was used before the run is in the first statement, and never counts for more.
      if (before !== null) return ifKnown(before + total)
      if (kind === 'accepted' && stated.remaining !== null)
        before = Math.max(0, (stated.limit ?? limit.amount) - stated.remaining)
      return null
    },
  }
}
