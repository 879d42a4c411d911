import type { AccountTier } from '../contract/contract.ts'
import type { Call as CallPlan, Mix } from '../scenario/call.ts'
import type { ServiceSpec as ServicePlan } from '../scenario/scenario.ts'
import type { Threshold, Timing } from '../scenario/threshold.ts'
import type { SearchTerms } from './search-terms.ts'

export type { Call as CallPlan, Mix, RpcCall as RpcPlan } from '../scenario/call.ts'
export type { ServiceSpec as ServicePlan } from '../scenario/scenario.ts'
export type { Aggregate, Count, Measure, Operator, Threshold, Timing } from '../scenario/threshold.ts'
export { timings } from '../scenario/threshold.ts'

/** A scenario with everything decided: no optional field, no default, no unit in a string. Plain JSON, no secret. */
export type Plan = {
  readonly schema: 1
  readonly scenario: string
  readonly question: string | null
  readonly seed: number
  /** Base address of the target; null: a reference service of our own. */
  readonly target: string | null
  /** What the reference service can do at once, where it is the target; null: everything. */
  readonly service: ServicePlan | null
  /** Name of the profile that the target is judged by. */
  readonly profile: string
  readonly callers: CallersPlan
  readonly limits: LimitsPlan
  readonly calls: Readonly<Record<string, CallPlan>>
  readonly stages: readonly StagePlan[]
  /** By call: the longest time, in milliseconds, at which an answer is still good. */
  readonly slo: Readonly<Record<string, Readonly<Partial<Record<Timing, number>>>>>
  readonly thresholds: readonly Threshold[]
  readonly budgetUsd: string | null
  readonly bounds: Bounds
  /** Which observations are kept: all of them, those on which a check has found something, or none. */
  readonly record: 'all' | 'findings' | 'none'
  readonly forecast: Forecast
}

export type CallersPlan = {
  /** `c0`, `c1`, … stand for the accounts in their order. */
  readonly names: readonly string[]
  /** API keys of each account, which its arrivals use in turn. */
  readonly keysEach: number
  readonly accountTier: AccountTier
  /** Whether others use the same accounts during the run; then no upper bound on use is asserted. */
  readonly shared: boolean
  /** A file with the keys of one account a line; null: the environment, or reference keys for a loopback target. */
  readonly keysFile: string | null
}

/** Whose limits rates and forecast go by. What is judged goes by the profile, whoever grants what. */
export type LimitsPlan = {
  /** Where both say something. */
  readonly by: 'target' | 'profile'
  readonly asked: Asked
  /** Every limit that some call draws on. */
  readonly scopes: readonly {
    readonly scope: string
    /** A minute, for one caller; null: it says nothing of this limit. */
    readonly profile: number | null
    readonly target: number | null
    /** Whose it is that counts; null: nobody knows a limit. */
    readonly from: 'target' | 'profile' | null
  }[]
}

/** Whether the target was asked, as one of the callers, what it grants. */
export type Asked =
  | { readonly kind: 'not-asked'; readonly why: string }
  | { readonly kind: 'failed'; readonly caller: string; readonly why: string }
  | { readonly kind: 'answered'; readonly caller: string }

export type StagePlan = {
  readonly name: string
  /** From the start of the run. */
  readonly startMs: number
  readonly durationMs: number
  /** So many callers take part, from this one on: `firstCaller` is a position in `callers.names`. */
  readonly callers: number
  readonly firstCaller: number
  /** Whether its callers may fail more often than the service tolerates: then they are not held back. */
  readonly beyondFailures: boolean
  readonly load: Load
}

export type Load =
  | { readonly model: 'open'; readonly shape: Shape; readonly mix: Mix }
  /** Users who call, wait for the answer, think, and call again. */
  | { readonly model: 'closed'; readonly users: number; readonly thinkMs: number; readonly mix: Mix }
  /** Connections that send their next call as soon as they have an answer; at most so many calls in all. */
  | { readonly model: 'saturate'; readonly connections: number; readonly maxCalls: number; readonly mix: Mix }
  /** Tries rates until the highest is found at which answers stay good. */
  | {
      readonly model: 'capacity'
      readonly search: SearchTerms
      readonly spacing: 'even' | 'poisson'
      /** How long nothing is sent before a rate that is not higher than the last. */
      readonly coolDownMs: number
      readonly mix: Mix
    }
  /** Each caller sends the calls in order, one at a time. */
  | { readonly model: 'sequence'; readonly calls: readonly string[] }

/** Arrivals per second of all callers together. */
export type Shape =
  | { readonly kind: 'constant'; readonly perSecond: number }
  | { readonly kind: 'poisson'; readonly perSecond: number }
  | { readonly kind: 'ramp'; readonly fromPerSecond: number; readonly toPerSecond: number }
  /** Levels of equal length; from one to the next the rate goes evenly within `rampMs`. */
  | {
      readonly kind: 'stairs'
      readonly fromPerSecond: number
      readonly toPerSecond: number
      readonly steps: number
      readonly rampMs: number
    }
  /** All of the peak from `atMs` on for `forMs`, with a ramp before and a ramp behind it. */
  | {
      readonly kind: 'spike'
      readonly basePerSecond: number
      readonly peakPerSecond: number
      readonly atMs: number
      readonly forMs: number
      readonly rampUpMs: number
      readonly rampDownMs: number
    }
  /** `size` arrivals at once, at the start of the stage and then every `everyMs`. */
  | { readonly kind: 'burst'; readonly size: number; readonly everyMs: number }
  /** As in another run: the arrivals are packed (`packed-arrivals.ts`), their calls are positions in the mix. */
  | {
      readonly kind: 'recorded'
      readonly run: string
      /** The only stage that is repeated; null: all of them. */
      readonly stage: string | null
      readonly speed: number
      readonly packed: string
    }
  | { readonly kind: 'pause' }

export type Bounds = {
  readonly maxInFlight: number
  readonly maxBodyBytes: number
  /** How long a run waits for what is in flight when its stages are over. */
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

/** What the plan would spend and prove, before anything is sent. */
export type Forecast = {
  readonly requests: number
  readonly durationMs: number
  readonly credits: number
  /** The worst case: every completion as long as it may be. Decimal; null where a price is not known. */
  readonly worstUsd: string | null
  readonly calls: readonly {
    readonly call: string
    readonly stage: string
    readonly requests: number
    /** Of those, the ones that should succeed: neither refused on purpose nor beyond a limit. Only they are timed. */
    readonly samples: number
    /** Whether there may be far fewer, since answers set the pace. */
    readonly isAtMost: boolean
    /** The highest percentile that so many samples can bound, such as 99; null: not even the median. */
    readonly provablePercentile: number | null
  }[]
  /** How often one caller fails on purpose in a window of the abuse block, and how often it may without being blocked. */
  readonly failures: readonly {
    readonly stage: string
    readonly windowMs: number
    readonly expected: number
    readonly tolerated: number
    /** Whether the stage means to exceed it; else what is to be refused is held back. */
    readonly isMeant: boolean
  }[]
  /** The busiest minute of one caller against each limit that it touches. */
  readonly limits: readonly {
    readonly stage: string
    readonly scope: string
    readonly perMinute: number
    readonly limit: number
  }[]
}

/** The system call by which each caller's balance and limits are read before and after the load. */
export const balanceCheckCall = '(statement)'
/** Calls that the program makes on its own account, beside those of the plan. */
export const systemCalls = { [balanceCheckCall]: { kind: 'rate-limits' } } as const

/** Stages that the program adds on its own account, such as the opening balance statement. */
export const isSystemStage = (stage: string): boolean => stage.startsWith('(')
