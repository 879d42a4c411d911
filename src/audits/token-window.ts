import type { Say } from '../checks/docket.ts'
import { type Observation, streamOf } from '../observation/observation.ts'
import { asObject, jsonObject, type Scope } from '../observation/scope.ts'
import type { AuditScope } from './audit.ts'
import type { Offset } from './server-clock.ts'

/** A completed request and the tokens that it used for sure. */
type Used = { readonly sentMs: number; readonly endMs: number; readonly tokens: number }

/**
 * Judges `x-ratelimit-remaining-tokens`: whatever else a service counts, what completed requests used in the same
 * window cannot remain. The window is known only by its end in whole seconds, so it is taken as short as it may be.
 */
export function createTokenWindow({ contract, startedAtMs }: AuditScope, offset: () => Offset, say: Say<'limiter'>) {
  const { windowMs, tokensReset } = contract.limits
  const used = new Map<string, Used[]>()
  return {
    add: (observation: Observation, { name, tokensPerMinute }: Scope, watermarkMs: number) => {
      const { sentMs, endMs, headersMs, answer, caller, seq, asked } = observation
      if (asked.kind !== 'chat' || answer?.status !== 200 || sentMs === null || endMs === null) return
      const key = `${caller} ${name}`
      const past = (used.get(key) ?? []).filter(other => other.endMs > watermarkMs - 2 * windowMs)
      const remaining = Number(answer.headers['x-ratelimit-remaining-tokens'] ?? Number.NaN)
      const reset = Number(answer.headers['x-ratelimit-reset-tokens'] ?? Number.NaN)
      const limit = tokensPerMinute ?? Number(answer.headers['x-ratelimit-limit-tokens'])
      if (
        tokensReset === 'seconds' &&
        Number.isFinite(remaining) &&
        Number.isFinite(reset) &&
        reset * 1000 <= windowMs
      ) {
        const { least, most } = offset()
        const latestStartMs = startedAtMs + (headersMs ?? endMs) + most + reset * 1000 - windowMs
        const sure = past.filter(other => other.endMs < sentMs && startedAtMs + other.sentMs + least >= latestStartMs)
        const tokens = sure.reduce((sum, other) => sum + other.tokens, 0)
        if (remaining > limit - tokens) {
          say.broken(
            'limit.tokens.remaining',
            `${remaining} of ${limit} tokens of ${name} are said to remain, but ${tokens} were used`,
            [seq],
          )
        } else if (tokens > 0) say.kept('limit.tokens.remaining')
      }
      used.set(key, [...past, { sentMs, endMs, tokens: tokensOf(observation) }])
    },
  }
}

function tokensOf(observation: Observation): number {
  const total = asObject(streamOf(observation)?.usage ?? jsonObject(observation.answer)?.usage)?.total_tokens
  return Number.isSafeInteger(total) ? Number(total) : 0
}
