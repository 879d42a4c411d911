import type { Say } from '../../checks/findings.ts'
import { createOverlapBounds, type RequestInterval, type SumBounds } from '../overlap-bounds.ts'

/** One request of a window, as its limit sees it. It was counted between its sending and the arrival of its headers. */
export type WindowRequest = RequestInterval & {
  readonly id: number
  /** Which of the caller's keys it came with. */
  readonly key: number
  /** Whether it was sent after the reset that a 429 of an earlier window named. */
  readonly isRetry: boolean
  /**
   * accepted: it counts · rejected: a 429, which need not count · uncertain: another non-success, or no answer, or a
   * probe; whether it counts is open
   */
  readonly kind: 'accepted' | 'rejected' | 'uncertain'
  /** What the answer said that the limit is and what is left of it; null: it said nothing. */
  readonly stated: number | null
  readonly remaining: number | null
  /** The most tokens that the request can draw, and what the answer said is left of them. */
  readonly maxTokens: number
  readonly tokensLeft: number | null
}

type WindowOptions = {
  /** What reports call the limit. */
  readonly scope: string
  /** By the contract; null where it is silent. */
  readonly limit: number | null
  readonly tokenLimit: number | null
  /** Whether all use of the window is known: it began during the run, on accounts that no one else uses. */
  readonly isComplete: () => boolean
  /** Tokens that requests of the windows before can have drawn: a token window may begin earlier. */
  readonly earlierTokens: () => number
  /** Requests of the window before. */
  readonly earlierRequests: () => number
}

type WindowVerdict = { readonly unexpected429: number; readonly missing429: number }

export type LimitWindow = {
  /** Members added later were sent at `watermarkMs` or after it. */
  readonly add: (member: WindowRequest, watermarkMs: number) => void
  /** To be called once, when no request can join any more. */
  readonly finish: () => WindowVerdict
}

/** How many requests came with each key of an account, in the order of the keys. */
type CountsByKey = readonly number[]

export const noCounts: CountsByKey = []

/** How many requests of each kind were sent, and what tokens they can have drawn. */
type WindowUse = {
  readonly accepted: number
  readonly rejected: number
  readonly uncertain: number
  readonly maxTokens: number
  readonly acceptedByKey: CountsByKey
  readonly sentByKey: CountsByKey
}

const unused: WindowUse = {
  accepted: 0,
  rejected: 0,
  uncertain: 0,
  maxTokens: 0,
  acceptedByKey: noCounts,
  sentByKey: noCounts,
}

const addRequest = (use: WindowUse, { kind, key, maxTokens }: WindowRequest): WindowUse => ({
  accepted: use.accepted + (kind === 'accepted' ? 1 : 0),
  rejected: use.rejected + (kind === 'rejected' ? 1 : 0),
  uncertain: use.uncertain + (kind === 'uncertain' ? 1 : 0),
  maxTokens: use.maxTokens + maxTokens,
  acceptedByKey: kind === 'accepted' ? addKey(use.acceptedByKey, key) : use.acceptedByKey,
  sentByKey: addKey(use.sentByKey, key),
})

const maxNamed = 8

/** The requests whose answers named the same reset time, with those that named none but may belong to it. */
export function createLimitWindow(options: WindowOptions, say: Say<'rate-limits'>): LimitWindow {
  const { scope, limit, tokenLimit } = options
  let minStated = Number.POSITIVE_INFINITY
  let maxStated = 0
  let accepted = 0
  let acceptedByKey = noCounts
  /** The most requests that an answer said were used. */
  let maxUsed = 0
  let rejected = 0
  let unexpected429 = 0
  const excessRequests: number[] = []
  const bounds = createOverlapBounds<WindowRequest, WindowUse>(unused, addRequest, (member, view) => {
    if (member.kind === 'accepted') judgeAccepted(member, view)
    if (member.kind === 'rejected') judgeRejected(member, view)
  })

  /** Where an answer states another limit than the contract, it broke that clause, and the benefit of it is given here. */
  const maxAllowed = () => Math.max(limit ?? 0, maxStated) || Number.POSITIVE_INFINITY
  const minAllowed = () => Math.min(limit ?? Number.POSITIVE_INFINITY, minStated)

  function judgeAccepted(member: WindowRequest, { certain, possible }: SumBounds<WindowUse>) {
    accepted++
    acceptedByKey = addKey(acceptedByKey, member.key)
    if (member.isRetry) say.kept('retry.after-reset')
    if (accepted > maxAllowed() && excessRequests.length < maxNamed) excessRequests.push(member.id)
    const { stated, remaining, id, key } = member
    if (stated === null || remaining === null || (limit !== null && stated !== limit)) return
    const used = stated - remaining
    maxUsed = Math.max(maxUsed, used)
    // What is left is never said to be less than nothing.
    const min = Math.min(stated, 1 + certain.accepted)
    // A request that was rejected, or not answered, may count or not.
    const max = possible.accepted + possible.rejected + possible.uncertain
    const isComplete = options.isComplete()
    const foundOtherKeys = hasOtherKeys(certain.acceptedByKey, key)
    if (used >= min && (used <= max || !isComplete)) {
      if (foundOtherKeys) say.kept('auth.keys-share-limits')
      return say.kept('limit.requests.remaining')
    }
    const [minOfKey, maxOfKey] = [1 + countOfKey(certain.acceptedByKey, key), countOfKey(possible.sentByKey, key)]
    if (foundOtherKeys && used >= minOfKey && used <= maxOfKey) {
      const message = `${used} requests of ${scope} are said to be used, which are those of one key, expected ${min} of all keys`
      return say.broken('auth.keys-share-limits', message, [id])
    }
    // As many too many as the window before had for the greater part: it did not end.
    const tooMany = used - max
    if (tooMany > 1 && tooMany <= options.earlierRequests() && tooMany * 2 >= options.earlierRequests() - 1) {
      const message = `${used} requests of ${scope} are said to be used where ${max} were sent since the reset, expected none of the window before`
      return say.broken('limit.requests.window', message, [id])
    }
    const range = !isComplete ? `at least ${min}` : min === max ? String(min) : `${min} to ${max}`
    say.broken(
      'limit.requests.remaining',
      `${remaining} of ${stated} requests of ${scope} are said to remain, so ${used} were used, expected ${range}`,
      [id],
    )
  }

  function judgeRejected(member: WindowRequest, { possible }: SumBounds<WindowUse>) {
    rejected++
    if (!options.isComplete()) return
    const used = possible.accepted + possible.uncertain
    const isForTokens = used < minAllowed() && mayLackTokens(member, possible)
    if (isForTokens) say.kept('limit.tokens.enforced')
    if (isForTokens || used >= minAllowed()) return say.kept('limit.requests.not-early')
    unexpected429++
    if (member.isRetry && possible.accepted === 0) {
      const message = `a 429 of ${scope} came after the reset that an earlier one had named, expected the request to be admitted`
      return say.broken('retry.after-reset', message, [member.id])
    }
    say.broken(
      'limit.requests.not-early',
      `a 429 came when at most ${used} of ${minAllowed()} requests of ${scope} were used, expected it beyond them`,
      [member.id],
    )
  }

  /** By what the answer says is left of the tokens, or else by what all that was sent before can have drawn. */
  function mayLackTokens({ maxTokens, tokensLeft }: WindowRequest, possible: WindowUse): boolean {
    if (tokenLimit === null) return false
    if (tokensLeft !== null) return tokensLeft < maxTokens
    return possible.maxTokens + options.earlierTokens() > tokenLimit
  }

  return {
    add: (member, watermarkMs) => {
      if (member.stated !== null && member.kind !== 'uncertain') {
        minStated = Math.min(minStated, member.stated)
        maxStated = Math.max(maxStated, member.stated)
      }
      bounds.add(member, watermarkMs)
    },
    finish: () => {
      bounds.finish()
      const missing429 = Math.max(0, accepted - maxAllowed())
      if (missing429 > 0) {
        const message = `${accepted} requests of ${scope} were accepted in one window, expected ${maxAllowed()} at most`
        const isByKey = acceptedByKey.length > 1 && maxUsed > 0 && maxUsed <= Math.max(...acceptedByKey)
        say.broken(isByKey ? 'auth.keys-share-limits' : 'limit.requests.enforced', message, excessRequests)
      } else if (rejected > 0) say.kept('limit.requests.enforced')
      return { unexpected429, missing429 }
    },
  }
}

export function addKey(counts: CountsByKey, key: number): CountsByKey {
  // Most accounts have one key.
  if (key === 0 && counts.length < 2) return [(counts[0] ?? 0) + 1]
  const next = [...counts]
  while (next.length <= key) next.push(0)
  next[key] = (next[key] ?? 0) + 1
  return next
}

export const countOfKey = (counts: CountsByKey, key: number): number => counts[key] ?? 0

/** Whether there are requests that came with another key than this one. */
export const hasOtherKeys = (counts: CountsByKey, key: number): boolean =>
  counts.some((count, other) => other !== key && count > 0)
