import type { ClauseId } from '../contract/clauses.ts'
import type { Model } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import type { Answer, Ask, Asker } from './asker.ts'

/** What a question found out. */
export type Fact =
  /** What the target does, as a value of a profile. It may equal the documented value. */
  | { readonly kind: 'value'; readonly path: ValuePath; readonly value: unknown; readonly evidence: string }
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
  /** A value that could not be told, or not for certain. */
  | { readonly kind: 'unknown'; readonly path: string; readonly why: string }

/** The keys from the root of a profile to a value. A key may contain dots. */
export type ValuePath = readonly [string, ...string[]]

/** What later questions need of earlier ones. */
export type Known = {
  /** The prefix of the service's own headers; null if there are none. */
  readonly prefix: string | null
  /** The models of the target, or else those of the document. */
  readonly models: readonly Model[]
  readonly networks: readonly string[]
  /** Per minute, by limit name. */
  readonly limits: ReadonlyMap<string, number>
  /** The model whose completions are requested; null if there is none. */
  readonly chat: ChatUse | null
  /** The RPC proxy, or the node; null if there is none. */
  readonly rpc: RpcUse | null
  /** A number of items that a batch may have. */
  readonly batchLimit: number
}

export type ChatUse = { readonly model: Model; readonly lengthField: string; readonly whole: Answer }

export type RpcUse = {
  /** `{network}` is replaced by the slug. */
  readonly path: string
  readonly network: string
  readonly family: 'evm' | 'solana' | 'starknet'
  /** Credits of a call in the standard tier; null if the target states none. */
  readonly credits: number | null
  /** Of one call in the standard tier. */
  readonly worstPico: bigint
}

export type Conclusion = { readonly findings: readonly Fact[]; readonly known?: Partial<Known> }

export type Question = {
  readonly name: string
  /** The maximum number of its calls. */
  readonly calls: number
  /** Whether the parts of the service that it asks about are there. */
  readonly applies: (known: Known) => boolean
  readonly answer: (known: Known, asker: Asker) => Promise<Conclusion>
}

export const value = (path: ValuePath, value: unknown, ...evidence: readonly (Answer | string)[]): Fact => ({
  kind: 'value',
  path,
  value,
  evidence: evidence.map(each => (typeof each === 'string' ? each : cite(each))).join(': '),
})

export const difference = (clause: ClauseId, text: string, reply: Answer, always = true): Fact => ({
  kind: 'difference',
  clause,
  text,
  evidence: cite(reply),
  always,
})

export const unknown = (path: string, why: string): Fact => ({ kind: 'unknown', path, why })

/** `call 7, POST /chat/completions, 200`. */
export const cite = ({ call, what, status, why }: Answer): string =>
  call === 0 ? `${what}: ${why}` : `call ${call}, ${what}, ${status ?? why}`

/** Why an answer does not tell something. */
export function because(answer: Answer): string {
  if (answer.status === null) return `${answer.what}: ${answer.why}`
  if (answer.why !== '') return `${cite(answer)}: ${answer.why}`
  const text = errorText(answer.body)
  return `${cite(answer)}${text === null ? ', which does not tell' : `: ${JSON.stringify(text.slice(0, maxErrorText))}`}`
}

const maxErrorText = 100

/** The text of an error object; null if there is none. */
function errorText(body: unknown): string | null {
  const error = toObject(body)?.error
  const text = toObject(error)?.message ?? error ?? toObject(body)?.message
  return typeof text === 'string' ? text : null
}

/** Whether a part of the service is not there: no such path, or a page for people. */
export const isAbsent = ({ status, body, why }: Answer): boolean =>
  status !== null && ([404, 405, 410, 501].includes(status) || (status < 400 && body === undefined && why === ''))

/** A header as a number; null if it is none. */
export function headerNumber({ headers }: Answer, name: string): number | null {
  const text = headers[name]?.trim() ?? ''
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : null
}

export const rpcAsk = (rpc: Pick<RpcUse, 'path' | 'network'>, body: unknown, worstPico: bigint): Ask => ({
  method: 'POST',
  path: rpc.path.replace('{network}', rpc.network),
  body,
  scope: 'rpc',
  worstPico,
})
