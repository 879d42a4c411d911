import { statedRequests } from '../observation/limit-scope.ts'
import { type Answer, isRefused, sentMs } from './asker.ts'
import { isLimited } from './find-dialect.ts'
import type { Lesson } from './learn.ts'
import { brief, isService } from './question.ts'

/** `requests`: what a limit allows after a pause of `pauseMs`. */
type Rest = { readonly requests: number; readonly pauseMs: number }

/**
 * What is left of a limit, if a run within a minute cannot wait for its next window: nothing if it refuses now and does not
 * recover soon. null: the run may send what the limit allows.
 */
export function restOf({ isBrief, known, replies, contract }: Lesson, limit: number | null): Rest | null {
  if (!isBrief || isService(known)) return null
  const limited = replies.findLast(
    reply => isRefused(reply) || statedRequests(reply.headers, contract).remaining !== null,
  )
  if (limited === undefined) return null
  if (limit !== null && contract.limits.windowMs <= brief.windowMs) return null
  if (isRefused(limited)) {
    const recovers = limit === null ? recoveryMs(replies) : null
    const requests = recovers === null ? 0 : Math.floor(refillMs / recovers)
    return { requests, pauseMs: requests > 0 ? refillMs : 0 }
  }
  const { remaining } = statedRequests(limited.headers, contract)
  return remaining === null ? null : { requests: Math.floor(remaining / known.unitsEach), pauseMs: 0 }
}

/** A pause before the calls, where a limit refuses now and recovers sooner. */
const refillMs = 25_000

/** The longest time after which a target that refused a call has accepted one again; null: it has not. */
function recoveryMs(replies: readonly Answer[]): number | null {
  let refusedMs: number | null = null
  let longest: number | null = null
  for (const reply of replies) {
    if (isRefused(reply)) refusedMs ??= sentMs(reply)
    else if (refusedMs !== null && isLimited(reply)) {
      longest = Math.max(longest ?? 0, sentMs(reply) - refusedMs)
      refusedMs = null
    }
  }
  return longest
}
