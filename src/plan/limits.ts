import type { Contract } from '../contract/contract.ts'
import type { Scenario } from '../scenario/schema.ts'
import { type LimitOf, type LimitScope, limitName, limitUsageOf, profileLimits } from '../scenario/tier-rate.ts'
import type { LimitDiscovery, LimitsPlan } from './plan.ts'

/** The limits that the target published, or why there are none. Limits are per minute, by limit name. */
export type PublishedLimits =
  | Exclude<LimitDiscovery, { readonly kind: 'answered' }>
  | { readonly kind: 'answered'; readonly caller: string; readonly perMinute: ReadonlyMap<string, number> }

/** For a plan that is only printed. */
export const notDiscovered: PublishedLimits = { kind: 'not-asked', why: 'a run discovers those of the target' }

/** Every limit of a scenario by the profile and by the target, and which of the two applies. */
export function planLimits(
  { callers, calls }: Pick<Scenario, 'callers' | 'calls'>,
  contract: Contract,
  published: PublishedLimits,
): LimitsPlan & { readonly limitOf: LimitOf } {
  const by = callers.limitsFrom
  const ofProfile = profileLimits(callers.accountTier, contract)
  const ofTarget = (scope: LimitScope) =>
    published.kind === 'answered' ? (published.perMinute.get(limitName(scope)) ?? null) : null
  const limitOf: LimitOf = scope => (by === 'target' ? ofTarget(scope) : null) ?? ofProfile(scope)
  const scopes = Object.values(calls).flatMap(call => limitUsageOf(call).map(({ scope }) => scope))
  return {
    by,
    discovery: published.kind === 'answered' ? { kind: 'answered', caller: published.caller } : published,
    scopes: [...new Map(scopes.map(scope => [limitName(scope), scope]))].map(([name, scope]) => {
      const profile = Number.isFinite(ofProfile(scope)) ? ofProfile(scope) : null
      const target = ofTarget(scope)
      const from = by === 'target' && target !== null ? 'target' : profile === null ? null : 'profile'
      return { scope: name, profile, target, from }
    }),
    limitOf,
  }
}

/** The published limits that a plan recorded; undefined stands for a plan of a version without them. */
export function recordedLimits(limits: LimitsPlan | undefined): PublishedLimits {
  if (limits === undefined) return notDiscovered
  const { discovery, scopes } = limits
  if (discovery.kind !== 'answered') return discovery
  return {
    ...discovery,
    perMinute: new Map(scopes.flatMap(({ scope, target }) => (target === null ? [] : [[scope, target]]))),
  }
}

/** A larger number is not credible as a limit, and load paced by it would be a flood. */
const maxPerMinute = { RPM: 6_000_000, TPM: 1e12 } as const

/**
 * The limits in a response of the rate-limits endpoint, per minute; null if there are none. The response is not trusted:
 * a limit that is not a positive number, or that exceeds `maxPerMinute`, is left out.
 */
export function parseLimits(body: unknown): ReadonlyMap<string, number> | null {
  const entries = member(member(body, 'data'), 'rateLimits')
  if (!Array.isArray(entries)) return null
  const perMinute = new Map<string, number>()
  for (const entry of entries as readonly unknown[]) {
    const [model, limits] = [member(entry, 'apiModelId'), member(entry, 'rateLimits')]
    if (typeof model !== 'string' || !Array.isArray(limits)) continue
    for (const limit of limits as readonly unknown[]) {
      const [type, amount] = [member(limit, 'type'), member(limit, 'amount')]
      if ((type !== 'RPM' && type !== 'TPM') || typeof amount !== 'number') continue
      if (amount > 0 && amount <= maxPerMinute[type])
        perMinute.set(type === 'RPM' ? `chat:${model}` : `chat:${model} tokens`, amount)
    }
  }
  return perMinute.size === 0 ? null : perMinute
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
