import type { Contract } from '../contract/contract.ts'
import { type LimitScope, limitName, publishedLimit, sourceOfLimit } from '../contract/limits.ts'
import type { Scenario } from '../scenario/schema.ts'
import { type LimitOf, limitsFor, ofTiers, profileLimits } from '../scenario/tier-rate.ts'
import { type LimitDiscovery, type LimitsPlan, traitsOf } from './plan.ts'

/** The limits that the target published, or why there are none. Limits are per minute, by limit name. */
export type PublishedLimits =
  | Exclude<LimitDiscovery, { readonly kind: 'answered' }>
  | { readonly kind: 'answered'; readonly caller: string; readonly perMinute: ReadonlyMap<string, number> }

/** For a plan that is only printed. */
export const notDiscovered: PublishedLimits = { kind: 'not-asked', why: 'a run discovers the limits of the target' }

/**
 * Every limit of a scenario by the profile and by the target, and which of the two applies. A profile may state the limits
 * that a target published before; they count as its own.
 */
export function planLimits(
  { callers, calls }: Pick<Scenario, 'callers' | 'calls'>,
  contract: Contract,
  published: PublishedLimits,
): LimitsPlan & { readonly limitOf: LimitOf } {
  const { limitsFrom: by, accountTier } = callers
  // After discovery, the contract holds the limits that the target published, and no longer those of the profile.
  const hasOwn = published.kind !== 'answered' && by === 'target'
  const ofProfile = hasOwn ? limitsFor(accountTier, by, contract) : profileLimits(accountTier, contract)
  const ofTarget = (scope: LimitScope) =>
    published.kind === 'answered' ? (published.perMinute.get(limitName(scope)) ?? null) : null
  const limitOf = ofTiers(contract, scope => (by === 'target' ? ofTarget(scope) : null) ?? ofProfile(scope))
  const scopes = Object.values(calls).flatMap(call => traitsOf(call).limits.map(({ scope }) => scope))
  return {
    by,
    discovery: published.kind === 'answered' ? { kind: 'answered', caller: published.caller } : published,
    scopes: [...new Map(scopes.map(scope => [limitName(scope), scope]))].map(([name, scope]) => {
      const profile = Number.isFinite(ofProfile(scope)) ? ofProfile(scope) : null
      const target = ofTarget(scope)
      const isOwn = hasOwn && publishedLimit(scope, contract) !== null
      const stated = profile === null ? null : isOwn ? 'profile' : sourceOfLimit(scope, accountTier, contract)
      const from = by === 'target' && target !== null ? 'target' : stated
      return { scope: name, profile, target, from }
    }),
    limitOf,
  }
}

/** The published limits in a recorded plan. Plans of older versions have none. */
export function recordedLimits(limits: LimitsPlan | undefined): PublishedLimits {
  if (limits === undefined) return notDiscovered
  const { discovery, scopes } = limits
  if (discovery.kind !== 'answered') return discovery
  return {
    ...discovery,
    perMinute: new Map(scopes.flatMap(({ scope, target }) => (target === null ? [] : [[scope, target]]))),
  }
}
