import type { AccountTier, Contract } from '../contract/contract.ts'
import { type LimitScope, limitName, publishedLimit, statedLimit } from '../contract/limits.ts'
import type { LimitUsage } from './calls/call-kind.ts'
import { type Call, traitsOf } from './calls/calls.ts'
import { type Mix, totalWeight } from './fields.ts'
import type { Rate } from './units.ts'

/**
 * How much of a limit one caller may use per minute; infinity if no limit is known. It defines "of tier": 100 % of tier is
 * the largest rate of a mix at which, on average, no limit of a caller is exceeded.
 */
export type LimitOf = (scope: LimitScope | TierScope) => number

/** Models of a tier that may share a counter. */
type TierScope = { readonly limiter: 'tier'; readonly of: readonly LimitScope[] }

/** The limits of the document and the profile. */
export function profileLimits(accountTier: AccountTier, contract: Contract): LimitOf {
  return ofTiers(contract, scope => statedLimit(scope, accountTier, contract) ?? Number.POSITIVE_INFINITY)
}

/** With the limit that models of a tier share. Infinity: the profile states that each has its own. */
export function ofTiers({ limits }: Contract, limitOf: (scope: LimitScope) => number): LimitOf {
  return scope => {
    if (scope.limiter !== 'tier') return limitOf(scope)
    return limits.chatScope === 'model' ? Number.POSITIVE_INFINITY : Math.min(...scope.of.map(limitOf))
  }
}

/** The limits that rates refer to. A limit that the target does not publish is taken from the profile. */
export function limitsFor(accountTier: AccountTier, from: 'target' | 'profile', contract: Contract): LimitOf {
  const stated = profileLimits(accountTier, contract)
  return ofTiers(contract, scope => (from === 'target' ? publishedLimit(scope, contract) : null) ?? stated(scope))
}

/** The mean usage of one arrival of a mix, by limit name. */
export function limitUsageOfMix(mix: Mix, calls: Readonly<Record<string, Call>>): ReadonlyMap<string, LimitUsage> {
  const total = totalWeight(mix)
  const means = new Map<string, LimitUsage>()
  for (const [name, weight] of mix) {
    const call = calls[name]
    if (call === undefined) continue
    for (const { scope, amount } of traitsOf(call).limits) {
      const before = means.get(limitName(scope))?.amount ?? 0
      means.set(limitName(scope), { scope, amount: before + (amount * weight) / total })
    }
  }
  return means
}

/** 100 % of tier: arrivals per minute of one caller. Null if no call of the mix is limited. */
export function tierRatePerMinute(mix: Mix, calls: Readonly<Record<string, Call>>, limitOf: LimitOf): number | null {
  const uses = [...limitUsageOfMix(mix, calls).values()]
  const rates = uses.map(({ scope, amount }) => limitOf(scope) / amount)
  const rate = Math.min(...rates, ...tierUsages(uses).map(({ scope, amount }) => limitOf(scope) / amount))
  return Number.isFinite(rate) ? rate : null
}

/** The sums for tiers with several models. */
function tierUsages(uses: readonly LimitUsage[]): readonly { readonly scope: TierScope; readonly amount: number }[] {
  const byTier = new Map<string, LimitUsage[]>()
  for (const use of uses)
    if ('modelTier' in use.scope && use.scope.modelTier !== null) {
      const key = `${use.scope.unit} ${use.scope.modelTier}`
      byTier.set(key, [...(byTier.get(key) ?? []), use])
    }
  return [...byTier.values()]
    .filter(({ length }) => length > 1)
    .map(of => ({
      scope: { limiter: 'tier', of: of.map(({ scope }) => scope) },
      amount: of.reduce((sum, { amount }) => sum + amount, 0),
    }))
}

/** Arrivals per second of all callers. A share without a limit is NaN, which `checkTier` reports. */
export function arrivalsPerSecond(rate: Rate, perMinuteOfCaller: number | null, callers: number): number {
  if (rate.kind === 'absolute') return rate.perSecond
  return perMinuteOfCaller === null ? Number.NaN : (rate.share * perMinuteOfCaller * callers) / 60
}

/**
 * Arrivals of one burst: a whole number for each caller, rounded away from the limit, so that 90 % stays within it and
 * 130 % exceeds it.
 */
export function burstArrivals(share: number, perMinuteOfCaller: number, callers: number): number {
  const each = Number((share * perMinuteOfCaller).toPrecision(12))
  return (share > 1 ? Math.ceil(each) : Math.floor(each)) * callers
}
