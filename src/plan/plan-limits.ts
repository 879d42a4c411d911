import type { Contract } from '../contract/contract.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { type LimitOf, profileLimits, type Scope, scopeName, usesOf } from '../scenario/tier-rate.ts'
import type { Asked, LimitsPlan } from './plan.ts'

/** What a target said, or why it said nothing. Limits are a minute, by the name of their scope. */
export type Granted =
  | Exclude<Asked, { readonly kind: 'answered' }>
  | { readonly kind: 'answered'; readonly caller: string; readonly perMinute: ReadonlyMap<string, number> }

/** Of a plan that is only shown. */
export const unasked: Granted = { kind: 'not-asked', why: 'the target is asked when a run begins' }

/** Every limit of a scenario by the profile and by the target, and which of the two counts. */
export function planLimits(
  { callers, calls }: Pick<Scenario, 'callers' | 'calls'>,
  contract: Contract,
  granted: Granted,
): LimitsPlan & { readonly limitOf: LimitOf } {
  const by = callers.limits
  const ofProfile = profileLimits(callers.accountTier, contract)
  const ofTarget = (scope: Scope) =>
    granted.kind === 'answered' ? (granted.perMinute.get(scopeName(scope)) ?? null) : null
  const limitOf: LimitOf = scope => (by === 'target' ? ofTarget(scope) : null) ?? ofProfile(scope)
  const scopes = Object.values(calls).flatMap(call => usesOf(call).map(({ scope }) => scope))
  return {
    by,
    asked: granted.kind === 'answered' ? { kind: 'answered', caller: granted.caller } : granted,
    scopes: [...new Map(scopes.map(scope => [scopeName(scope), scope]))].map(([name, scope]) => {
      const profile = Number.isFinite(ofProfile(scope)) ? ofProfile(scope) : null
      const target = ofTarget(scope)
      const from = by === 'target' && target !== null ? 'target' : profile === null ? null : 'profile'
      return { scope: name, profile, target, from }
    }),
    limitOf,
  }
}

/** What a target granted to a run, by its plan; an older plan has no limits, for nobody was asked. */
export function grantedThen(limits: LimitsPlan | undefined): Granted {
  if (limits === undefined) return unasked
  const { asked, scopes } = limits
  if (asked.kind !== 'answered') return asked
  return {
    ...asked,
    perMinute: new Map(scopes.flatMap(({ scope, target }) => (target === null ? [] : [[scope, target]]))),
  }
}

/** Beyond these a number is no limit, and what is paced by it would be a flood. */
const mostPerMinute = { RPM: 6_000_000, TPM: 1e12 } as const

/**
 * The limits in an answer to the question for a caller's rate limits, as far as they can be understood; null where there
 * are none. What a target says is not trusted: a limit that is no positive number, or an absurd one, is left out.
 */
export function readGranted(body: unknown): ReadonlyMap<string, number> | null {
  const entries = member(member(body, 'data'), 'rateLimits')
  if (!Array.isArray(entries)) return null
  const perMinute = new Map<string, number>()
  for (const entry of entries as readonly unknown[]) {
    const [model, limits] = [member(entry, 'apiModelId'), member(entry, 'rateLimits')]
    if (typeof model !== 'string' || !Array.isArray(limits)) continue
    for (const limit of limits as readonly unknown[]) {
      const [type, amount] = [member(limit, 'type'), member(limit, 'amount')]
      if ((type !== 'RPM' && type !== 'TPM') || typeof amount !== 'number') continue
      if (amount > 0 && amount <= mostPerMinute[type])
        perMinute.set(type === 'RPM' ? `chat:${model}` : `chat:${model} tokens`, amount)
    }
  }
  return perMinute.size === 0 ? null : perMinute
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
