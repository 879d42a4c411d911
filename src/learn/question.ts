import type { ClauseId } from '../contract/clauses.ts'
import type { AccountTier, Contract, Model, Network } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import { is2xx } from '../lib/numbers.ts'
import { quotedError } from '../observation/response.ts'
import type { Call, RpcCall } from '../plan/plan.ts'
import type { Answer, Ask, Asker } from './asker.ts'

/** What a question found out. */
export type Fact =
  /** What the target does, as a value of a profile. It may equal the documented value. */
  | LearnedValue
  /** A sentence of the document that the target breaks, for which there is no value. */
  | {
      readonly kind: 'difference'
      readonly clause: ClauseId
      readonly text: string
      readonly evidence: string
      /** Whether it breaks it always, so that the profile no longer promises the clause. */
      readonly always: boolean
    }
  /** A part of the service that the target does not have: patterns of clauses. */
  | { readonly kind: 'missing'; readonly clauses: readonly string[]; readonly text: string; readonly evidence: string }
  /** A value that could not be determined, or not with certainty. */
  | { readonly kind: 'unknown'; readonly path: string; readonly why: string }

export type LearnedValue = {
  readonly kind: 'value'
  readonly path: ValuePath
  readonly value: unknown
  readonly evidence: string
}

/** The keys from the root of a profile to a value. A key may contain dots. */
export type ValuePath = readonly [string, ...string[]]

/** What later questions need of earlier ones. */
export type Known = {
  /** The contract as learned so far, by which requests are built. Values that are not known yet are as documented. */
  readonly contract: Contract
  /** The prefix of the service's own headers; null if there are none. */
  readonly prefix: string | null
  /** The models of the target, or else those of the document. */
  readonly models: readonly Model[]
  readonly networks: readonly string[]
  /** Per minute, by limit name. */
  readonly limits: ReadonlyMap<string, number>
  readonly accountTier: AccountTier
  /** The model whose completions are requested; null if there is none. */
  readonly chat: ChatUse | null
  /** Whether a completion may have a temperature of 0 and a seed, as deterministic ones have. */
  readonly takesSeeds: boolean
  /** The RPC proxy, or the node; null if there is none. */
  readonly rpc: RpcUse | null
  /** A number of items that a batch may have. */
  readonly batchLimit: number
  /** Whether one more is known to be too many. */
  readonly hasBatchLimit: boolean
  /** Whether another account is refused when the caller has used up a limit. */
  readonly sharesLimit: boolean
  /** The most of its limit that a request takes. */
  readonly unitsEach: number
  /** The clauses about limits that a target keeps that states them in a dialect. */
  readonly limitClauses: readonly ClauseId[]
  /** The clauses about replays that a target keeps that repeats completions for their keys. */
  readonly replayClauses: readonly ClauseId[]
  /** The clauses about credits that a target keeps whose balance falls by the costs that it states. */
  readonly creditClauses: readonly ClauseId[]
  /** What would take too long before a first run. */
  readonly leftOut: readonly string[]
}

export type LengthField = Contract['chat']['lengthField']

export type ChatUse = { readonly model: Model; readonly lengthField: LengthField; readonly whole: Answer }

export type RpcUse = {
  readonly network: string
  readonly family: Network['family']
  /** Whether it is a node at the address itself, and not a proxy. */
  readonly isNode: boolean
  /** Credits of a call in the standard tier; null if the target states none. */
  readonly credits: number | null
  /** Of one call in the standard tier. */
  readonly worstPico: bigint
}

export type Conclusion = {
  readonly findings: readonly Fact[]
  readonly known?: Partial<Known>
  /** Answers to requests that no run by the learned profile would send, so that no clause is about them. */
  readonly unjudged?: readonly Answer[]
}

export type QuestionAsker = Pick<Asker, 'replies' | 'callsLeft' | 'hasZeroBalance' | 'hasOtherCaller'> & {
  /** Whether a first run follows within a minute. */
  readonly isBrief: boolean
  /** Asks by the contract that is learned so far, with these changes. */
  readonly ask: (ask: Ask, change?: (contract: Contract) => Contract) => Promise<Answer>
}

/** For a first verdict within a minute. `left`: what a first run needs of a limit whose window is longer than `windowMs`. */
export const brief = { waitMs: 13_000, windowMs: 5_000, left: (limit: number) => Math.min(12, Math.ceil(limit / 2)) }

export type Question = {
  readonly name: string
  /** The maximum number of its calls. */
  readonly calls: number
  /** Whether the parts of the service that it asks about are there. */
  readonly applies: (known: Known) => boolean
  readonly answer: (known: Known, asker: QuestionAsker) => Promise<Conclusion>
}

/**
 * Whether the target is the service, and not another server with the same interface for chat or RPC. Its lists tell: other
 * gateways have headers with a prefix, a version and a balance, too.
 */
export const isService = ({ limits, networks }: Pick<Known, 'limits' | 'networks'>): boolean =>
  limits.size > 0 || networks.length > 0

export const value = (path: ValuePath, value: unknown, ...evidence: readonly (Answer | string)[]): Fact => ({
  kind: 'value',
  path,
  value,
  evidence: evidence.map(each => (typeof each === 'string' ? each : cite(each))).join(': '),
})

export const unknown = (path: string, why: string): Fact => ({ kind: 'unknown', path, why })

/** The status of a refusal as a value; null if the answer is no refusal of the request itself. */
export const refusalStatus = ({ status }: Answer): number | null =>
  status !== null && status >= 400 && status < 500 && status !== 429 ? status : null

/** `call 7, POST /chat/completions, 200`. */
export const cite = ({ call, what, status, why }: Answer): string =>
  call === 0 ? `${what}: ${why}` : `call ${call}, ${what}, ${status ?? why}`

/** Why an answer does not show a value. */
export function because(answer: Answer): string {
  if (answer.status === null) return `${answer.what}: ${answer.why}`
  if (answer.why !== '') return `${cite(answer)}: ${answer.why}`
  if (answer.status === 402 && answer.headers['payment-required'] !== undefined)
    return `${cite(answer)}: it wants a payment by x402, and learn pays nothing`
  const text = answer.observation?.response == null ? '' : quotedError(answer.observation.response)
  return `${cite(answer)}${text === '' ? ', which does not say' : `: ${JSON.stringify(text)}`}`
}

/** Whether a part of the service is not there: no such path, or a page for people. */
export const isAbsent = ({ status, body, why }: Answer): boolean =>
  status !== null && ([404, 405, 410, 501].includes(status) || (status < 400 && body === undefined && why === ''))

/** Calls without parameters that every node answers. */
export const standardMethods: Readonly<Record<Network['family'], string>> = {
  evm: 'eth_blockNumber',
  solana: 'getSlot',
  starknet: 'starknet_blockNumber',
}

/** One call of a standard method, unless `more` says otherwise. */
export const rpcCall = (
  { network, family }: Pick<RpcUse, 'network' | 'family'>,
  more: Partial<RpcCall> = {},
): RpcCall => ({
  ...{ kind: 'rpc', network, methods: [[standardMethods[family], 1]], batchSize: null, failing: 0 },
  ...more,
})

export const probeAsk = (probe: string, worstPico: bigint): Ask => ({ call: { kind: 'probe', probe }, worstPico })

export const listAsk = (
  kind: Extract<Call['kind'], 'models' | 'networks' | 'rate-limits' | 'rate-limit-logs'>,
): Ask => ({
  call: { kind },
  worstPico: 0n,
})

/** Whether a response has the members of a JSON-RPC response with a result. */
export const hasResult = ({ status, body }: Answer): boolean => is2xx(status) && 'result' in (toObject(body) ?? {})
