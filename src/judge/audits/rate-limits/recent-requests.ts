import { createSortedQueue } from '../overlap-bounds.ts'
import type { LimitContext } from './limit-record.ts'
import { addKey, countOfKey, noCounts } from './limit-use.ts'
import { clockResolutionMs } from './resets.ts'
import type { LimitRequest } from './window.ts'

/** What requests have used of a limit. */
export type Use = {
  /** Accepted requests, and those that may have counted. */
  readonly counted: number
  /** All other 429s, which count in some algorithms. */
  readonly rejected: number
  readonly maxTokens: number
  /** Requests with each API key but the first. Most accounts have only that. */
  readonly ofOtherKeys: readonly number[]
}

export const unused: Use = { counted: 0, rejected: 0, maxTokens: 0, ofOtherKeys: noCounts }

export const addRequest = (use: Use, { mayCount, key, maxTokens }: LimitRequest): Use => ({
  counted: use.counted + (mayCount ? 1 : 0),
  rejected: use.rejected + (mayCount ? 0 : 1),
  maxTokens: use.maxTokens + maxTokens,
  ofOtherKeys: key === 0 ? use.ofOtherKeys : addKey(use.ofOtherKeys, key),
})

export const sentWith = (key: number, { counted, rejected, ofOtherKeys }: Use): number =>
  key > 0 ? countOfKey(ofOtherKeys, key) : ofOtherKeys.reduce((left, count) => left - count, counted + rejected)

export const sentWithOthers = (key: number, use: Use): boolean => sentWith(key, use) < use.counted + use.rejected

/** An early request can affect a counter of sliding windows until the end of the next window. */
export const rememberedWindows = 2
/** With more requests than this that may still affect others, no upper bound on use is asserted. */
const maxRemembered = 10_000

/**
 * The requests of one limit that may still affect others, and so an upper bound of its use. A `possible` use is over all
 * requests of the limit so far; what is forgotten is subtracted.
 */
export function createRecentRequests(context: LimitContext) {
  const { contract, shared, startedAtMs, offset, firstSentMs, otherUse } = context
  const { windowMs } = contract.limits
  /** By their responses. */
  const recent = createSortedQueue<LimitRequest>(({ shownMs }) => shownMs)
  let forgotten = unused
  let areAllStored = true
  /** Requests that found no other counted. That holds for requests sent after their responses. */
  const firsts = createSortedQueue<LimitRequest>(({ shownMs }) => shownMs)
  /** No request from before this time affects later ones. Null: unknown. */
  let knownFromMs: number | null = null
  let hasAll = false

  /** Responses from before this time no longer affect a request that is sent at `sentMs`. */
  const horizonOf = (sentMs: number): number => sentMs - rememberedWindows * windowMs - clockResolutionMs

  /**
   * The last request that found no other counted, and that overlaps with this rejected one, but certainly came before it:
   * had it come later, the limit would have reset in between, and not after its response, as this 429 states.
   */
  function firstDuring({ resetMs }: LimitRequest): LimitRequest | null {
    let last: LimitRequest | null = null
    const untilMs = (resetMs ?? Number.NEGATIVE_INFINITY) - startedAtMs - offset().max - clockResolutionMs
    for (let index = 0, each = firsts.at(0); each !== undefined; each = firsts.at(++index))
      if (each.shownMs < untilMs && each.sentMs > (last?.sentMs ?? -1)) last = each
    return last
  }

  /** The requests in `recent` that counted, or may have, before this time. */
  function countedBefore(sentMs: number): number {
    let counted = 0
    for (let index = 0, each = recent.at(0); each !== undefined && each.shownMs < sentMs; each = recent.at(++index))
      if (each.mayCount) counted++
    return counted
  }

  return {
    /** The most requests that may have counted since this time of the run when one was rejected, if none counts later. */
    mostUsedSince: (sinceMs: number, { counted }: Use): number =>
      counted - forgotten.counted - countedBefore(sinceMs) + otherUse(),
    /** Forgets the requests that cannot affect one that is sent at this time. */
    moveTo: (sentMs: number) => {
      for (let first = firsts.at(0); first !== undefined && first.shownMs <= sentMs; first = firsts.at(0)) {
        knownFromMs = Math.max(knownFromMs ?? first.sentMs, first.sentMs)
        firsts.shift()
      }
      const fromMs = horizonOf(sentMs)
      const knownMs = Math.max(fromMs, knownFromMs ?? fromMs)
      for (let first = recent.at(0); first !== undefined && first.shownMs < knownMs; first = recent.at(0)) {
        forgotten = addRequest(forgotten, first)
        recent.shift()
      }
      if (recent.size() > maxRemembered) areAllStored = false
      if (!areAllStored) while (recent.size() > 0) recent.shift()
      hasAll = !shared && areAllStored && (knownFromMs !== null || fromMs >= firstSentMs)
    },
    add: (request: LimitRequest) => recent.insert(request),
    /** Adds a request that found no other counted. */
    addFirst: (request: LimitRequest) => firsts.insert(request),
    /** Whether all requests that can affect the current one are known. */
    hasAll: () => hasAll,
    /** Whether any request found no other counted. */
    isStartKnown: () => knownFromMs !== null,
    /** The most requests that an accepted request can state as used. */
    mostUsed: (possible: Use) =>
      possible.counted + possible.rejected - forgotten.counted - forgotten.rejected + otherUse(),
    /** The part of these tokens, of all requests, that recent requests may have used. */
    tokensOf: (maxTokens: number) => maxTokens - forgotten.maxTokens,
    /**
     * The most requests that may have counted when this one was rejected; null: unknown. Some algorithms count rejected
     * requests, too (`hasRejected`: one came before). But since a response that shows an unused limit, the first rejection
     * has none before it, so the others alone must have reached the limit. `enough`: the limit.
     */
    mostUsedBefore: (
      request: LimitRequest,
      { counted, rejected }: Use,
      enough: number,
      hasRejected: boolean,
    ): number | null => {
      const known = counted - forgotten.counted + otherUse()
      const first = shared || !areAllStored ? null : firstDuring(request)
      if (first !== null) return known - countedBefore(first.sentMs)
      // Whatever else counts, these are enough.
      if (known >= enough) return known
      if (!hasAll) return null
      if (knownFromMs !== null && knownFromMs >= horizonOf(request.sentMs)) return known
      return known + (hasRejected ? rejected - forgotten.rejected - 1 : 0)
    },
  }
}

/** A reset that moves with the time of the response is another one by then. */
const lastingMs = 3_000
/** In shorter windows, a whole second of the reset hides too much. */
const minWindowMs = 10_000

type BegunWindow = {
  readonly resetMs: number
  /** Nothing from before this time of the run counts. */
  readonly sinceMs: number
  readonly firstShownMs: number
  isLasting: boolean
  /** When the first 429 came. Some algorithms count it. */
  refusedMs: number
  /** The first 429s, until the window is known to last. */
  held: readonly EarlyRefusal[]
}

/** A 429, and the most requests that may have counted before it. */
export type EarlyRefusal = { readonly request: LimitRequest; readonly used: number }

/**
 * Finds the window that an accepted request began: it states a reset a window from now and that much is left, and later responses
 * state the same reset. So it is not a bucket and no counter of aligned windows, and nothing from before the request
 * counts, although the run has not lasted two windows. `decide` gets the first 429s of such a window.
 */
export function createBegunWindow(
  { contract, shared, startedAtMs, offset, firstSentMs }: LimitContext,
  decide: (refusal: EarlyRefusal) => void,
) {
  const { windowMs } = contract.limits
  let window: BegunWindow | null = null

  const isOf = (known: BegunWindow, resetMs: number): boolean => Math.abs(resetMs - known.resetMs) <= clockResolutionMs

  function begin({ kind, sentMs, shownMs, stated, remaining }: LimitRequest, resetMs: number): void {
    if (kind !== 'accepted' || stated === null || remaining === null) return
    const { min, max } = offset()
    // A bucket that needs a window to fill again has almost nothing left.
    const unsureMs = 2 * clockResolutionMs + shownMs - sentMs + max - min
    if (remaining <= (stated * unsureMs) / windowMs) return
    const beganMs = resetMs - windowMs - startedAtMs
    const sinceMs = beganMs - clockResolutionMs - max
    const untilMs = beganMs - min
    const isAligned = Math.abs(resetMs - Math.round(resetMs / windowMs) * windowMs) <= 2 * clockResolutionMs
    if (isAligned || untilMs < sentMs || sinceMs < firstSentMs) return
    const isNew = { isLasting: false, refusedMs: Number.POSITIVE_INFINITY, held: [] }
    window = { resetMs, sinceMs, firstShownMs: shownMs, ...isNew }
  }

  return {
    /** In the order of sending. */
    add: (request: LimitRequest): void => {
      const { resetMs, sentMs } = request
      if (shared || windowMs < minWindowMs || resetMs === null) return
      if (window === null || !isOf(window, resetMs)) {
        begin(request, resetMs)
        return
      }
      if (sentMs < window.firstShownMs + lastingMs) return
      window.isLasting = true
      for (const refusal of window.held) decide(refusal)
      window.held = []
    },
    /** Whether this 429 is decided now or later. `mostUsed`: since a time of the run. */
    decides: (request: LimitRequest, mostUsed: (sinceMs: number) => number): boolean => {
      const { resetMs, sentMs, shownMs } = request
      if (window === null || resetMs === null || !isOf(window, resetMs) || sentMs >= window.refusedMs) return false
      window.refusedMs = Math.min(window.refusedMs, shownMs)
      const refusal = { request, used: mostUsed(window.sinceMs) }
      if (window.isLasting) decide(refusal)
      else window.held = [...window.held, refusal]
      return window.isLasting
    },
  }
}
