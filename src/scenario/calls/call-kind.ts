import { z } from 'zod'
import type { JudgeName } from '../../contract/clause.ts'
import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { type Draw, limiterOf } from '../../contract/limiters.ts'
import type { LimitScope } from '../../contract/limits.ts'
import type { Sender } from '../../contract/probe.ts'
import type { ArrivalStep, replayRoles, twinForms } from '../../contract/requests/steps.ts'
import type { Random } from '../../lib/random.ts'
import type { Mistake } from '../../lib/usage-error.ts'
import type { Path } from '../../lib/yaml.ts'

/** The key of a written call that decides how it is read. */
export const kindField = <Kind extends string>(name: Kind) => z.literal(name).describe('The kind of call.')

/** What a call is resolved with. */
export type CallContext = {
  readonly contract: Contract
  /** The lists of models and networks are not known yet, so every name is accepted. */
  readonly isTentative: boolean
  /** The number of callers, and of API keys per caller; undefined if that part of the file has a mistake. */
  readonly callers: number | undefined
  readonly keysPerCaller: number | undefined
  /** All calls of the file, by name. */
  readonly written: Readonly<Record<string, unknown>>
  /** The calls that are resolved so far, by name; null for a call with a mistake. */
  readonly resolved: ReadonlyMap<string, { readonly kind: string } | null>
  /** Reports a mistake in the value at `keys` of the call, or in the last of these keys. */
  readonly report: (keys: Path, problem: Omit<Mistake, 'where'>, at?: 'value' | 'key') => void
}

/** How much of a limit one arrival uses, on average. */
export type LimitUsage = { readonly scope: LimitScope; readonly amount: number }

/** What one request, and its tokens, use of the limits that the contract states. */
export function limitUsages(draw: Draw, tokens = 0): readonly LimitUsage[] {
  const amounts = { requests: 1, tokens } as const
  return (['requests', 'tokens'] as const)
    .filter(unit => limiterOf(draw)[unit] !== null)
    .map(unit => ({ scope: { ...draw, unit }, amount: amounts[unit] }))
}

/** What a call costs. Amounts are pico-USD; null if a price is unknown. */
export type CallCost = {
  /** The expected credits of one arrival. */
  readonly credits: (contract: Contract) => number
  /** The cost of some arrivals if completions have their maximum length, and repetitions are free. */
  readonly arrivals: (arrivals: number, contract: Contract) => bigint | null
  /** The maximum cost of one request. */
  readonly maxRequest: (contract: Contract) => bigint | null
  /** The maximum number of requests of one arrival that the service may charge, even if it is broken. */
  readonly maxCharged: number
}

/** What a request of a replay, or one without repetitions, is for in its arrival. */
export type ReplayStep = 'only' | (typeof replayRoles)[number]
export type TwinForm = (typeof twinForms)[number]

/** What decides about the requests of one arrival. `keys`: of its caller. */
type StepTerms = { readonly random: () => Random; readonly callers: number; readonly keys: number }

/** All that the program asks about a call, whatever its kind. */
export type CallTraits = {
  /** The judges of its responses, if these clauses are judged. */
  readonly judges: (judged: readonly ClauseId[]) => readonly JudgeName[]
  /** What one arrival uses of each limit. A replay by another caller counts too, since each caller gets one in turn. */
  readonly limits: readonly LimitUsage[]
  readonly cost: CallCost
  /** Why a saturate stage cannot send it; null if it can. */
  readonly unfitToSaturate: string | null
  /** Whether a capacity search can send it. */
  readonly isSearchable: boolean
  /** The expected number of requests of one arrival. */
  readonly requests: number
  /** The requests of one arrival, in order. */
  readonly steps: (terms: StepTerms) => readonly ArrivalStep[]
  /** How many requests of one arrival are in flight at once. */
  readonly requestsAtOnce: number
  /** The expected number of requests of one arrival that should succeed. Only those are timed. */
  readonly samples: (contract: Contract) => number
  /** The expected number of requests of one arrival that the target must refuse, and counts as failures of the caller. */
  readonly refusals: (contract: Contract) => number
  /** The maximum number of tokens of a response; 0 if it has none. */
  readonly maxTokens: number
  /** Whether the response is a stream of tokens. */
  readonly isStream: boolean
  /** The time that Turnpike waits between the requests of one arrival, in milliseconds. */
  readonly waitMs: number
  /** The same at least. */
  readonly minWaitMs: number
  readonly sender: Sender
  /** Whether only a caller with a wallet can send it. */
  readonly needsWallet: boolean
  /** Whether its caller signs payments. */
  readonly pays: boolean
  /** Whether another caller repeats some of its requests. */
  readonly usesOtherCallers: boolean
  /** The model or the network that it names; null for none. */
  readonly model: string | null
  readonly network: string | null
  /** The methods of JSON-RPC that it calls. */
  readonly methods: readonly string[]
}

/** One kind of resolved call. */
export type CallKind<Call> = {
  /** The judges that only calls of this kind, and probes like them, concern. */
  readonly judges: readonly JudgeName[]
  readonly traits: (call: Call) => CallTraits
  /** The same call without payments, or without the time that Turnpike waits. Missing: it has none. */
  readonly unpaid?: (call: Call) => Call
  readonly prompt?: (call: Call) => Call
  /** The keys that a person would write, and the kind if that is another word. `nameOf`: of a call that it repeats. */
  readonly written: (call: Call, nameOf: NameOf) => Readonly<Record<string, unknown>>
}

/** The name that another call has in the written file. */
type NameOf = (other: { readonly kind: string }) => string

const only: readonly ArrivalStep[] = ['only']

/** The traits of most calls: one request of the caller, which should succeed. Each kind states the others. */
export const usualTraits = {
  isSearchable: true,
  requests: 1,
  steps: () => only,
  requestsAtOnce: 1,
  samples: () => 1,
  refusals: () => 0,
  maxTokens: 0,
  isStream: false,
  waitMs: 0,
  minWaitMs: 0,
  sender: 'caller',
  needsWallet: false,
  pays: false,
  usesOtherCallers: false,
  model: null,
  network: null,
  methods: [],
} as const satisfies Partial<CallTraits>

export const noCost: CallCost = {
  credits: () => 0,
  arrivals: () => 0n,
  maxRequest: () => 0n,
  maxCharged: 1,
}

/** Whose list a name is looked up in, for messages. */
export const offeredBy = ({ name, sources }: Contract, list: 'models' | 'rpc.networks'): string =>
  sources[list] === 'target' ? 'that the target offers' : `of the profile "${name}"`
