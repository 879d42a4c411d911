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
