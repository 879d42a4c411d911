import type { ClauseId } from '../contract/clauses.ts'
import type { AccountTier } from '../contract/contract.ts'
import type { Source } from '../contract/sources.ts'
import { isLoopback } from '../lib/loopback.ts'
import { pico } from '../lib/money.ts'
import type { Call } from '../scenario/call-schema.ts'
import type { Mix } from '../scenario/fields.ts'
import type { ServiceSpec } from '../scenario/schema.ts'
import type { Threshold, Timing } from '../scenario/threshold.ts'

export type { Call, RpcCall } from '../scenario/call-schema.ts'
export type { Mix } from '../scenario/fields.ts'
export type { ServiceSpec } from '../scenario/schema.ts'
export type { Aggregate, Count, Measure, Operator, Threshold, Timing } from '../scenario/threshold.ts'
export { operators, plainCounts, timings } from '../scenario/threshold.ts'

/** A scenario with everything decided: no optional field, no default, no unit in a string. Plain JSON, no secret. */
export type Plan = {
  readonly schema: 1
  readonly scenario: string
  readonly question: string | null
  readonly seed: number
  /** Base address of the target; null for an embedded reference service. */
  readonly target: string | null
  /** Capacity of the embedded reference service; null for unlimited. */
  readonly service: ServiceSpec | null
  /** Name of the profile that the target is judged by. */
  readonly profile: string
  /** The clauses that the target does not promise. They are never judged. */
  readonly notPromised: readonly ClauseId[]
  /** The part of the scenario that is sent and judged; null: all of it. */
  readonly only: OnlyPlan | null
  readonly callers: CallersPlan
  readonly limits: LimitsPlan
  /** The models, networks and prices that the calls use. */
  readonly values: readonly PlannedValue[]
  readonly calls: Readonly<Record<string, Call>>
  readonly stages: readonly StagePlan[]
  /** By call: the longest time in milliseconds of a good response. */
  readonly slo: Readonly<Record<string, Readonly<Partial<Record<Timing, number>>>>>
  readonly thresholds: readonly Threshold[]
  /** The clauses without which the run answers no question. Missing in plans of older versions: none. */
  readonly mustJudge?: readonly ClauseId[]
  readonly budgetUsd: string | null
  /** Whether the user has said that no budget binds. */
  readonly isBudgetUnlimited: boolean
  readonly bounds: Bounds
  /** Which observations are kept: all of them, those with a finding, or none. */
  readonly record: 'all' | 'findings' | 'none'
  readonly forecast: Forecast
}

/** A part of a scenario, as --only names it: calls decide what is sent, clauses what is judged. */
export type OnlyPlan = {
  /** As given: names of calls, and ids or patterns of clauses. */
  readonly names: readonly string[]
  /** The clauses that are judged; null for all of them. */
  readonly clauses: readonly ClauseId[] | null
  /** The calls that are sent; null for all of them, since nobody can tell which ones exercise the clauses. */
  readonly calls: readonly string[] | null
  /** The thresholds of the scenario that are not judged. */
  readonly leftOut: readonly string[]
}

export type CallersPlan = {
  /** `c0`, `c1`, …: one per account, in order. Then `w0`, `w1`, …: one per wallet. */
  readonly names: readonly string[]
  /** API keys per account. Its arrivals use them in turn. */
  readonly keysEach: number
  /** null: no caller has a wallet. */
  readonly wallets: WalletsPlan | null
  readonly accountTier: AccountTier
  /** Whether others use the same accounts during the run. Then usage has no upper bound to check. */
  readonly shared: boolean
  /** A file with the keys of one account per line; null for keys from the environment, or reference keys on loopback. */
  readonly keysFile: string | null
}

export type WalletsPlan = {
  /** The short name of the chain of each wallet, in order. */
  readonly chains: readonly string[]
  /** A file with one private key per line; null: from the environment, or generated for the run. */
  readonly keysFile: string | null
  /** What each wallet pays for credit before the load, a decimal in USD; null: nothing. */
  readonly topUpUsd: string | null
  /**
   * What the run may pay at most for credit, a decimal in USD. "0": it only asks how to pay. null: as much as the calls
   * say, because the target is on this machine and its money is simulated.
   */
  readonly maxPaidUsd: string | null
}

/** What the wallets of a run may pay at most, in pico-USD; null: no limit, because the target is on this machine. */
export function maxPaidPicoUsd({ target, callers: { wallets } }: Pick<Plan, 'target' | 'callers'>): bigint | null {
  if (wallets !== null && wallets.maxPaidUsd !== null) return pico(wallets.maxPaidUsd)
  return target === null || isLoopback(target) ? null : 0n
}

/** The number of callers with API keys. They precede the wallets. */
export const keyCallers = ({ names, wallets }: Pick<CallersPlan, 'names' | 'wallets'>): number =>
  names.length - (wallets?.chains.length ?? 0)

/** The number of API keys that a caller uses in turn: one for a wallet, which has none. */
export const keysOfCaller = (callers: CallersPlan, caller: number): number =>
  caller < keyCallers(callers) ? callers.keysEach : 1

/** A value of the contract that the plan uses, in words, and who stated it. */
export type PlannedValue = { readonly name: string; readonly text: string; readonly source: Source }

/** Which limits rates and forecast use. */
export type LimitsPlan = {
  /** Which of them applies if both state a limit. */
  readonly by: 'target' | 'profile'
  readonly discovery: LimitDiscovery
  /** Every limit that some call uses. */
  readonly scopes: readonly {
    readonly scope: string
    /** Per minute, for one caller; null if not stated. `profile`: by the document or the profile. */
    readonly profile: number | null
    readonly target: number | null
    /** The source of the limit that applies; null if none is stated. */
    readonly from: Source | null
  }[]
}

/** Whether one of the callers requested its limits from the target. */
export type LimitDiscovery =
  | { readonly kind: 'not-asked'; readonly why: string }
  | { readonly kind: 'failed'; readonly caller: string; readonly why: string }
  | { readonly kind: 'answered'; readonly caller: string }

export type StagePlan = {
  readonly name: string
  /** From the start of the run. */
  readonly startMs: number
  readonly durationMs: number
  /** The stage uses `callers` callers from `firstCaller` on, an index into `callers.names`. */
  readonly callers: number
  readonly firstCaller: number
  /** Whether its callers may exceed the failure limit of the abuse block. Otherwise their failures are paced. */
  readonly beyondFailures: boolean
  readonly load: Load
}

export type Load =
  | { readonly model: 'open'; readonly shape: Shape; readonly mix: Mix }
  /** Users who send a request, wait for its response, think, and send the next one. */
  | { readonly model: 'closed'; readonly users: number; readonly thinkMs: number; readonly mix: Mix }
  /** Connections that send the next request as soon as they have a response; `maxCalls` in all. */
  | { readonly model: 'saturate'; readonly connections: number; readonly maxCalls: number; readonly mix: Mix }
  /** Searches for the highest rate at which responses stay good. */
  | {
      readonly model: 'capacity'
      readonly search: SearchTerms
      readonly spacing: 'even' | 'poisson'
      /** Pause before a trial whose rate is not higher than the last one. */
      readonly coolDownMs: number
      readonly mix: Mix
    }
  /** Each caller sends the calls in order, one at a time. */
  | {
      readonly model: 'sequence'
      readonly calls: readonly string[]
      /** After this time from the start of the stage, no call is sent; null: after its duration, in an older plan. */
      readonly atMostMs: number | null
    }

/** Arrivals per second of all callers together. */
export type Shape =
  | { readonly kind: 'constant'; readonly perSecond: number }
  | { readonly kind: 'poisson'; readonly perSecond: number }
  | { readonly kind: 'ramp'; readonly fromPerSecond: number; readonly toPerSecond: number }
  /** Levels of equal length, with a linear ramp of `rampMs` from each to the next. */
  | {
      readonly kind: 'stairs'
      readonly fromPerSecond: number
      readonly toPerSecond: number
      readonly steps: number
      readonly rampMs: number
    }
  /** The peak lasts from `atMs` for `forMs`, with a ramp before and a ramp after it. */
  | {
      readonly kind: 'spike'
      readonly basePerSecond: number
      readonly peakPerSecond: number
      readonly atMs: number
      readonly forMs: number
      readonly rampUpMs: number
      readonly rampDownMs: number
    }
  /** `size` simultaneous arrivals, at the start of the stage and then every `everyMs`. */
  | { readonly kind: 'burst'; readonly size: number; readonly everyMs: number }
  /** The arrivals of another run, packed by `packArrivals`. Their calls are indices into the mix. */
  | {
      readonly kind: 'recorded'
      readonly run: string
      /** The stage that is repeated; null for all of them. */
      readonly stage: string | null
      readonly speed: number
      readonly packed: string
    }
  | { readonly kind: 'pause' }

export type Bounds = {
  readonly maxInFlight: number
  readonly maxBodyBytes: number
  /** How long a run waits for requests in flight after its last stage. */
  readonly drainMs: number
  readonly timeouts: { readonly chat: Timeouts; readonly rpc: Timeouts; readonly control: Timeouts }
}

/** All in milliseconds. `idleMs` is the longest silence between two reads of a body. */
export type Timeouts = {
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
  readonly totalMs: number
}

/** What the plan will send, spend and prove. */
export type Forecast = {
  readonly requests: number
  readonly durationMs: number
  readonly credits: number
  /** The worst case: every completion has its maximum length. A decimal; null if a price is unknown. */
  readonly worstUsd: string | null
  readonly calls: readonly {
    readonly call: string
    readonly stage: string
    readonly requests: number
    /** Those that should succeed: neither refused on purpose nor above a limit. Only they are timed. */
    readonly samples: number
    /** Whether this is a maximum, since responses set the pace. */
    readonly isAtMost: boolean
    /** The highest percentile that the samples can prove, such as 99; null if not even the median. */
    readonly provablePercentile: number | null
  }[]
  /** Failures of one caller in a window of the abuse block, and how many the service tolerates. */
  readonly failures: readonly {
    readonly stage: string
    readonly windowMs: number
    readonly expected: number
    readonly tolerated: number
    /** Whether the stage exceeds it on purpose. Otherwise requests that must fail are paced. */
    readonly isMeant: boolean
  }[]
  /** The busiest minute of one caller for each limit that it uses. */
  readonly limits: readonly {
    readonly stage: string
    readonly scope: string
    readonly perMinute: number
    readonly limit: number
  }[]
}

/** The calls of a stage with their weights. In a sequence, a weight is how often the call occurs. */
/** The longest that a stage lasts. Only a sequence lasts longer than its duration, if its calls do. */
export const longestMs = ({ load, durationMs }: StagePlan): number =>
  load.model === 'sequence' ? (load.atMostMs ?? durationMs) : durationMs

export function mixOf({ load }: StagePlan): Mix {
  if (load.model !== 'sequence') return load.mix
  return [...new Set(load.calls)].map(name => [name, load.calls.filter(each => each === name).length])
}

export const totalWeight = (mix: Mix): number => mix.reduce((sum, [, weight]) => sum + weight, 0)

/** The mean of an amount over the arrivals of a mix; 0 for an empty mix. */
export function meanOf(mix: Mix, amountOf: (call: string) => number): number {
  const total = totalWeight(mix)
  return mix.reduce((sum, [call, weight]) => sum + (amountOf(call) * weight) / total, 0)
}

/** The terms of a capacity search. Rates are arrivals per second of all callers. */
export type SearchTerms = {
  readonly fromPerSecond: number
  readonly toPerSecond: number
  /** The ratio of responses to each call that must be good, above 0 and at most 1. */
  readonly goodRatio: number
  /** The search ends when the lowest exceeded rate is at most this ratio above the highest sustained one. */
  readonly precision: number
  readonly trialMs: number
  readonly confirmMs: number
  /** Responses to each call that a confirmation needs to prove `goodRatio`. */
  readonly confirmSamples: number
  /** The share of each call among the arrivals. They add up to 1. */
  readonly mix: Readonly<Record<string, number>>
  /** 100 % of tier of one caller; null if no call of the mix has a limit, or if an older version made the plan. */
  readonly callerPerSecond: number | null
}

/** One trial of a search: `arrivals` arrivals at a rate of `perSecond`. */
export type Trial = {
  /** Index in its search, from 0. */
  readonly index: number
  /** raise: no rate was exceeded yet · narrow: between a sustained and an exceeded rate · confirm: whether a rate lasts */
  readonly purpose: 'raise' | 'narrow' | 'confirm'
  readonly perSecond: number
  readonly arrivals: number
}

/** Whether a stage is one that Turnpike adds, such as the opening balance check. */
export const isSystemStage = (stage: string): boolean => stage.startsWith('(')

/** The call that Turnpike adds before and after the load to read the balance and the limits of each caller with keys. */
const balanceCheckCall = '(statement)'
/** The same for a wallet, which has no list of limits. */
const walletBalanceCall = '(wallet-balance)'
/** The call that Turnpike adds before the load if wallets must pay for credit. */
export const topUpCall = '(top-up)'

/** What a wallet pays before the load. */
export const openingTopUp = (usd: string): Extract<Call, { kind: 'top-up' }> => {
  return { kind: 'top-up', pay: true, usd, duplicates: 0, concurrent: false, invalid: null }
}

/** The calls that Turnpike adds to a plan. */
export function systemCallsOf({ callers: { wallets } }: Pick<Plan, 'callers'>): Plan['calls'] {
  return {
    [balanceCheckCall]: { kind: 'rate-limits' },
    ...(wallets !== null && { [walletBalanceCall]: { kind: 'wallet-balance' } }),
    ...(wallets !== null && wallets.topUpUsd !== null && { [topUpCall]: openingTopUp(wallets.topUpUsd) }),
  }
}

/** The call that reads the balance of a caller. */
export const balanceCheckOf = (callers: CallersPlan, caller: number): string =>
  caller < keyCallers(callers) ? balanceCheckCall : walletBalanceCall
