import type { Contract } from '../contract/contract.ts'
import { statedRequests } from '../observation/limit-scope.ts'
import { isProbeRequest } from '../observation/requests/request.ts'
import { isLimitReached } from './ask-rpc.ts'
import { type Answer, sentMs } from './asker.ts'
import { isLimited } from './find-window.ts'
import { brief, isService, type Known } from './question.ts'

type Lesson = {
  readonly isBrief: boolean
  readonly known: Known
  readonly contract: Contract
  readonly replies: readonly Answer[]
}

/**
 * `requests`: what a limit allows after a pause of `pauseMs`, at once or over time; `everyMs`: the interval in which it allows
 * one more, all the time; null: that is not known.
 */
type Rest = { readonly requests: number; readonly pauseMs: number; readonly everyMs: number | null }

/**
 * What is left of a limit, if a run within a minute cannot wait for its next window: nothing if it refuses now and does not
 * recover soon. null: the run may send what the limit allows.
 */
export function restOf({ isBrief, known, replies, contract }: Lesson, limit: number | null): Rest | null {
  if (!isBrief || isService(known)) return null
  const isOver = contract.limits.dialect === null ? refusedIn(replies) : isLimitReached
  const limited = replies.findLast(reply => isOver(reply) || statedRequests(reply.headers, contract).remaining !== null)
  if (limited === undefined) return null
  if (limit !== null && contract.limits.windowMs <= brief.windowMs) return null
  if (isOver(limited)) return limit === null ? afterRefill(replies) : nothing
  const { remaining } = statedRequests(limited.headers, contract)
  return remaining === null ? null : { requests: Math.floor(remaining / known.unitsEach), pauseMs: 0, everyMs: null }
}

/** A pause before the calls, where a limit refuses now and recovers sooner. */
const refillMs = 25_000

const nothing: Rest = { requests: 0, pauseMs: 0, everyMs: null }

/** What a limit that no response states accepts after a pause, as far as its refusals so far tell. */
function afterRefill(replies: readonly Answer[]): Rest {
  const { before, since, sinceMs, recoveriesMs, isOver } = refusalsIn(replies)
  const longestMs = Math.max(...recoveriesMs)
  // All came back at once, and there was no time to see it twice: it may be a window of any length.
  const isOpen = recoveriesMs.length === 1 && isOver && since >= before
  const requests = Math.min(before, Math.floor(refillMs / longestMs))
  if (recoveriesMs.length === 0 || isOpen || requests === 0) return nothing
  if (recoveriesMs.length > 1) return { requests, pauseMs: refillMs, everyMs: longestMs }
  if (isOver || since >= before) return { requests, pauseMs: refillMs, everyMs: null }
  // The recovery may be the begin of a window that lasts longer than the pause.
  const left = before - since
  if (since <= requests) return { requests: Math.min(requests, left), pauseMs: refillMs, everyMs: null }
  const pauseMs = Math.min(refillMs, Math.ceil(longestMs + sinceMs) + 1_000)
  return { requests: Math.min(since, left), pauseMs, everyMs: null }
}

/**
 * Whether a first run needs what is left of a limit that no response states: it has recovered once, and so late that
 * another refusal could not be waited for.
 */
export function isLastOfUnstated(replies: readonly Answer[]): boolean {
  const { before, since, recoveriesMs, isOver } = refusalsIn(replies)
  const [recoveryMs = 0] = recoveriesMs
  return !isOver && recoveriesMs.length === 1 && recoveryMs > brief.windowMs && since >= Math.floor(before / 2)
}

/** Whether a limit has refused requests twice, and has accepted some after each. */
export const recoversTwice = (replies: readonly Answer[]): boolean => refusalsIn(replies).recoveriesMs.length > 1

/**
 * `before`: how many requests were accepted before the first refusal; `since`: after the last recovery, and `sinceMs`: how
 * long that took; `recoveriesMs`: from each refusal to the next request that was accepted; `isOver`: whether the last one
 * was refused.
 */
function refusalsIn(replies: readonly Answer[]) {
  const isRefusal = refusedIn(replies)
  let [before, since, isOver, refusedMs, againMs, lastMs] = [0, 0, false, 0, 0, 0]
  const recoveriesMs: number[] = []
  for (const reply of replies) {
    if (isRefusal(reply)) {
      if (!isOver) refusedMs = sentMs(reply)
      isOver = true
    } else if (isLimited(reply)) {
      lastMs = sentMs(reply)
      if (isOver) {
        ;[since, againMs] = [0, lastMs]
        recoveriesMs.push(lastMs - refusedMs)
      }
      if (recoveriesMs.length === 0) before++
      isOver = false
      since++
    }
  }
  return { before, since, sinceMs: lastMs - againMs, recoveriesMs, isOver }
}

/** Whether a limit refuses a call, or may do so: it has a status of limits, and was accepted before or after. */
const refusedIn =
  (replies: readonly Answer[]) =>
  (reply: Answer): boolean =>
    isLimitReached(reply) || hasOtherStatus(reply, replies)

/** Whether a call was refused with another status than 429 that a limit may have, and was accepted before or after. */
export const hasOtherStatus = ({ observation, status, what }: Answer, replies: readonly Answer[]): boolean =>
  observation !== null &&
  !isProbeRequest(observation.request) &&
  (status === 503 || status === 403) &&
  replies.some(other => isLimited(other) && other.what === what)
