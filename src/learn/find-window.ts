import type { Contract } from '../contract/contract.ts'
import { limitHeadersOf, statedWait, statesWait } from '../contract/limit-headers/limit-headers.ts'
import { countsRequests, policiesIn, policySeconds } from '../contract/limit-headers/policies.ts'
import { is2xx } from '../lib/numbers.ts'
import { statedRequests } from '../observation/limit-scope.ts'
import { type Answer, endMs, sentMs } from './asker.ts'
import { cite, type Fact, unknown, value } from './question.ts'

/** The length of a window, where a policy states it. */
export function windowFacts(replies: readonly Answer[]): readonly Fact[] {
  for (const reply of replies)
    for (const name of ['ratelimit-policy', 'x-ratelimit-limit']) {
      const seconds = policiesIn(reply.headers[name]).filter(countsRequests).map(policySeconds).find(isPositive)
      if (seconds !== undefined)
        return [value(['limits', 'windowMs'], seconds * 1_000, reply, `${name}: ${reply.headers[name]}`)]
    }
  return []
}

export const isPositive = (amount: number | null): amount is number =>
  amount !== null && Number.isSafeInteger(amount) && amount > 0

/** Some state the whole window as the wait, whatever is left of it. Without a reset, nothing else tells its length. */
function waitedLength(replies: readonly Answer[], { limits }: Contract): readonly Fact[] {
  const refused = replies.filter(({ status }) => status === 429)
  const waits = new Set(refused.map(({ headers }) => statedWait(limitHeadersOf(limits), headers)))
  const [waitMs = null] = waits
  const [, second] = refused
  if (second === undefined || waits.size > 1 || waitMs === null || !usualSeconds.includes(waitMs / 1_000)) return []
  const evidence = `likely, since every 429 states a wait of ${waitMs / 1_000} s`
  return [value(['limits', 'windowMs'], waitMs, second, evidence)]
}

/** A longer window of an unusual length is in another form than it seems to be. */
const longestSeconds = 60
/** Usual lengths of windows, in seconds. */
const usualSeconds = [1, 5, 10, 15, 30, 60, 300, 600, 900, 1_800, 3_600, 86_400]

/** What a response states about its window. `used`: requests of the window, with this one. */
export type WindowStatement = {
  readonly reply: Answer
  readonly used: number
  readonly limit: number
  readonly remaining: number
  /** Until its reset. */
  readonly seconds: number
}

export function windowStatements(
  replies: readonly Answer[],
  contract: Contract,
  isWait: boolean,
): readonly WindowStatement[] {
  return replies.flatMap(reply => {
    const { limit, remaining, reset } = statedRequests(reply.headers, contract)
    const nowMs = isWait ? 0 : Date.parse(reply.headers.date ?? '')
    if (limit === null || remaining === null || reset === null || Number.isNaN(nowMs)) return []
    return { reply, limit, remaining, used: limit - remaining, seconds: (reset - nowMs) / 1_000 }
  })
}

/** How far a stated number of seconds is off: by its rounding, and by that of the clock that it is compared with. */
type Rounding = { readonly isExact: boolean; readonly of: (length: number) => number }

export function roundingOf(stated: readonly WindowStatement[], isWait: boolean): Rounding {
  const isExact = isWait && stated.some(({ seconds }) => !Number.isInteger(seconds))
  return { isExact, of: length => (isExact ? exactMs / 1_000 : !isWait || length > 10 ? longestRounding : oneSecond) }
}

/** What a response may be late by. */
export const exactMs = 300
/** A whole second, rounded up or down. */
const oneSecond = 1.05
/** Whole seconds of a reset, and of the clock that it is compared with. */
export const longestRounding = 2.05

/** Whether responses are those of a bucket: its reset rises with each request. That of a window falls, or stays. */
const isBucket = (accepted: readonly WindowStatement[], rounding: Rounding): boolean =>
  accepted.some((each, index) => {
    // The requests of others, and the end of a window, begin anew. A bucket may fill up by one between two requests.
    let first = index
    while (first > 0 && isNext(accepted[first]?.used ?? 0, accepted[first - 1]?.used ?? 0)) first--
    return each.seconds - (accepted[first]?.seconds ?? 0) > rounding.of(each.seconds)
  })

const isNext = (used: number, before: number): boolean => used === before + 1 || (used === before && used > 1)

/** How long a bucket that is empty needs until it is full, in seconds; null if whole seconds do not tell. */
function bucketLength(accepted: readonly WindowStatement[], { isExact }: Rounding): number | null {
  const fromFullest = accepted.filter(({ used }) => used > 0).toSorted((a, b) => b.used - a.used)
  const lengths = fromFullest.map(({ seconds, limit, used }) => (seconds * limit) / used)
  // A part of a request counts as a whole one, so the longest of them is the nearest. Some state only the next request.
  if (isExact) return Math.min(...lengths.slice(0, 3)) < Math.max(...lengths) / 2 ? null : Math.max(...lengths)
  const [length = null] = lengths
  if (length === null || fromFullest[0]?.remaining === 0) return length
  return usualSeconds.find(usual => Math.abs(usual - length) <= usual / 20) ?? null
}

/**
 * The length of a window by the resets. It is as long as the reset of its first request is away; a bucket that is empty is
 * full again after it.
 */
export function lengthFacts(replies: readonly Answer[], contract: Contract): readonly Fact[] {
  const { requests } = limitHeadersOf(contract.limits)
  if (contract.sources['limits.windowMs'] === 'profile') return []
  if (requests.reset === null) return waitedLength(replies, contract)
  const isWait = statesWait(requests)
  const everything = windowStatements(replies, contract, isWait)
  // A list may have a limit of its own.
  const limitOfCalls = everything.findLast(({ reply }) => isLimited(reply))?.limit
  const stated = everything.filter(({ limit }) => limit === (limitOfCalls ?? limit))
  const rounding = roundingOf(stated, isWait)
  const path = ['limits', 'windowMs'] as const
  // A limiter may punish: the reset of its 429s is later than the end of a window.
  const successes = stated.filter(({ reply }) => is2xx(reply.status))
  const ofBucket = isBucket(
    stated.filter(({ reply }) => reply.status !== 429),
    rounding,
  )
  const firsts = successes.filter(({ used }) => used === 1)
  const [longest] = ofBucket
    ? successes.toSorted((a, b) => b.used - a.used)
    : firsts.toSorted((a, b) => b.seconds - a.seconds)
  if (longest === undefined) return [unknown(path.join('.'), 'no response is the first of a window')]
  const { reply } = longest
  // Some state the time until the next request instead.
  if (!ofBucket && longest.seconds > 0 && !beginsAnew(longest, successes, replies, rounding))
    return [unknown(path.join('.'), `${cite(reply)}: ${noWindowBegins}`)]
  const bucketSeconds = ofBucket ? bucketLength(successes, rounding) : null
  if (ofBucket && (bucketSeconds === null || !fillsUp(bucketSeconds, successes, rounding)))
    return [unknown(path.join('.'), `${cite(reply)}: ${noWindowBegins}`)]
  const isSure = ofBucket || longest.seconds > longestRounding || firsts.length > 1
  // If each first request tells the same length, it is nearly exact. A clock that a time is compared with is late.
  const isAgreed = firsts.length > 1 && firsts.every(first => longest.seconds - first.seconds <= oneSecond)
  const ahead = isAgreed && !isWait ? Math.min(...firsts.map(first => first.seconds)) : longest.seconds
  const seconds = bucketSeconds ?? ahead
  const about =
    isAgreed && !ofBucket && !rounding.isExact ? { isExact: rounding.isExact, of: () => oneSecond } : rounding
  const evidence = ofBucket
    ? 'its reset rises with each request'
    : `its reset is ${Math.round(longest.seconds)} s ahead`
  const usual = seconds === null ? undefined : usualSeconds.findLast(each => isAbout(each, seconds, about, isWait))
  const isStated =
    seconds !== null && (ofBucket || (isAgreed && seconds > exactMs / 1_000 && seconds <= longestSeconds))
  const length = !isSure ? null : (usual ?? (isStated ? Math.max(1, Math.round(seconds)) : null))
  if (length === null) return [unknown(path.join('.'), `${cite(reply)}: ${evidence}`)]
  return [value(path, length * 1_000, reply, `likely, since ${evidence}`)]
}

/** Whether a reset is that of a window of this length. What is left of a window is never more than all of it. */
const isAbout = (length: number, seconds: number, rounding: Rounding, isWait: boolean): boolean =>
  isWait
    ? seconds <= length + 0.05 && length - seconds <= rounding.of(length)
    : seconds - length <= rounding.of(length) && length - seconds <= oneSecond

/** Whether each response of a bucket states the time until it is full. */
const fillsUp = (length: number, successes: readonly WindowStatement[], rounding: Rounding): boolean =>
  successes.every(({ seconds, used, limit }) => {
    const [least, most] = [(length * (used - 1)) / limit, (length * used) / limit]
    return seconds > least - rounding.of(seconds) && seconds < most + rounding.of(seconds)
  })

const noWindowBegins = 'no window begins where its reset is'
/** Whether what is stated cannot be the end of a window, but of something else. */
export const isNoEnd = (fact: Fact): boolean => fact.kind === 'unknown' && fact.why.endsWith(noWindowBegins)

/** Whether each response after the end that a statement names counts requests of one window at most. */
function beginsAnew(
  { reply, seconds }: WindowStatement,
  successes: readonly WindowStatement[],
  replies: readonly Answer[],
  rounding: Rounding,
): boolean {
  const lengthMs = (seconds + rounding.of(seconds)) * 1_000
  const after = successes.filter(each => sentMs(each.reply) > sentMs(reply) + lengthMs)
  return after.every(each => {
    const nowMs = sentMs(each.reply)
    // A request may count until its response is there.
    const inWindow = replies.filter(other => sentMs(other) <= nowMs && endMs(other) > nowMs - lengthMs)
    return each.used <= inWindow.length
  })
}

export const isLimited = ({ observation, status }: Answer): boolean =>
  (observation?.request.kind === 'chat' || observation?.request.kind === 'rpc') && is2xx(status)
