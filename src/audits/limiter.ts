import type { Say } from '../checks/docket.ts'
import type { Contract } from '../contract/contract.ts'
import type { Observation } from '../observation/observation.ts'
import { jsonObject, type Scope, scopeOf } from '../observation/scope.ts'
import type { Audit, AuditScope } from './audit.ts'
import { createLimit, type Limit } from './limit.ts'
import type { LimitUse } from './results.ts'
import { createServerClock } from './server-clock.ts'
import { createTokenWindow } from './token-window.ts'

/**
 * Models the target's limiter from outside: one limit for each caller and scope, in fixed windows that the answers
 * name by their reset time. Requests overlap, so everything is judged by bounds.
 */
export function createLimiter(
  scope: AuditScope,
  say: Say<'limiter'>,
): Audit & { readonly limits: () => readonly LimitUse[] } {
  const { contract, startedAtMs } = scope
  const clock = createServerClock(startedAtMs)
  const limits = new Map<string, Limit>()
  const tokens = createTokenWindow(scope, clock.offset, say)

  return {
    add: (observation, watermarkMs) => {
      const drawn = scopeOf(observation, contract)
      const { sentMs, endMs, headersMs, caller, seq, outcome, answer } = observation
      if (sentMs === null || endMs === null) return
      clock.add(observation)
      if (drawn === null || answer?.status === 401 || isOtherRefusal(observation)) return
      if (outcome.kind === 'failed' && outcome.reason === 'connect-refused') return

      const key = `${caller} ${drawn.name}`
      const limit = limits.get(key) ?? createLimit({ ...scope, caller, drawn, offset: clock.offset }, say)
      limits.set(key, limit)
      limit.add(
        {
          seq,
          sentMs,
          // A request was counted, and its headers written, before they arrived; a stream goes on long after that.
          endMs: headersMs ?? endMs,
          sort: sortOf(observation),
          used: usedOf(observation, drawn),
          tokensMost: mostTokens(observation),
        },
        resetOf(observation, contract),
        watermarkMs,
      )
      tokens.add(observation, drawn, watermarkMs)
    },
    conclude: () => {
      for (const limit of limits.values()) limit.conclude()
    },
    limits: () => [...limits.values()].map(limit => limit.use()),
  }
}

/** A 429 that speaks of failed attempts is the abuse block, not a rate limit. */
function isOtherRefusal({ answer }: Observation): boolean {
  if (answer?.status !== 429) return false
  const error = jsonObject(answer)?.error
  return /^Too many failed attempts/.test(typeof error === 'string' ? error : '')
}

function sortOf({ outcome, asked, answer }: Observation): 'accepted' | 'rejected' | 'uncertain' {
  if (answer?.status === 429) return 'rejected'
  // A stream that broke off was accepted all the same: its headers came.
  const accepted = answer !== null && answer.status < 300 && asked.kind !== 'probe'
  return accepted && outcome.kind !== 'dropped' ? 'accepted' : 'uncertain'
}

function usedOf({ answer }: Observation, { requestsPerMinute }: Scope): number | null {
  const remaining = numberIn(answer?.headers['x-ratelimit-remaining-requests'])
  const limit = requestsPerMinute ?? numberIn(answer?.headers['x-ratelimit-limit-requests'])
  return remaining === null || limit === null ? null : limit - remaining
}

/** The reset stamp as Unix time in milliseconds; null where there is none. */
function resetOf({ answer }: Observation, { limits }: Contract): number | null {
  const stamp = numberIn(answer?.headers['x-ratelimit-reset-requests'])
  if (stamp === null) return null
  return limits.requestsReset === 'unix-seconds' ? stamp * 1000 : stamp
}

/** Services count tokens their own way, so the bound is generous. */
function mostTokens({ asked }: Observation): number {
  return asked.kind === 'chat' ? asked.promptTokens * 2 + 4_000 + asked.maxCompletionTokens : 0
}

const numberIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null
