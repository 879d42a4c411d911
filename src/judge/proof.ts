import type { Contract } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { toObject } from '../lib/json.ts'
import type { Observation } from '../observation/observation.ts'
import { is2xx, isAbuseBlock } from '../observation/response.ts'
import { isSystemStage, type Plan } from '../plan/plan.ts'
import { isRpcError } from './checks/rpc-response.ts'

/**
 * What shows that one call works in one stage, as plain data. Requests that should be refused count only as probes, and
 * all probes of a stage count together: which of them a stray 503 hits is chance.
 */
export type CallProof = {
  readonly stage: string
  /** null: the probes of the stage. */
  readonly call: string | null
  /** Requests that were due. */
  readonly due: number
  readonly sent: number
  /** Requests with the intended response: a success, or for a probe a documented status. */
  readonly met: number
  /** Those of them that a clause about the content of the response judged. */
  readonly judged: number
  /** How the others ended: a status, a failure, or one of `otherEndings`. */
  readonly unmet: ReadonlyMap<string, number>
}

export type ProofLog = {
  /** `isJudged`: a clause about the content of its response judged it. */
  readonly add: (observation: Observation, isJudged: boolean) => void
  readonly proofs: () => readonly CallProof[]
  readonly merge: (proofs: readonly CallProof[]) => void
}

/** Endings without a status. `errors`: a JSON-RPC error for each item. `others`: beyond `maxEndings` distinct ones. */
const otherEndings = { dropped: 'dropped', errors: 'errors', others: 'others' } as const
const maxEndings = 32

type MutableProof = {
  -readonly [Key in keyof Omit<CallProof, 'unmet'>]: CallProof[Key]
} & { readonly unmet: Map<string, number> }

/** Collects the proofs of a run. Memory is bounded by the calls and stages of the plan. */
export function createProofLog(plan: Plan, contract: Contract): ProofLog {
  const provoked = new Set(plan.stages.filter(stage => stage.beyondFailures).map(({ name }) => name))
  const stages = new Map<string, Map<string | null, MutableProof>>()
  for (const { name } of plan.stages) stages.set(name, new Map())

  const proofOf = (stage: string, call: string | null): MutableProof | null => {
    const calls = stages.get(stage)
    if (calls === undefined) return null
    let proof = calls.get(call)
    if (proof === undefined) {
      proof = { stage, call, due: 0, sent: 0, met: 0, judged: 0, unmet: new Map() }
      calls.set(call, proof)
    }
    return proof
  }

  return {
    add: (observation, isJudged) => {
      const { stage, call, request, outcome } = observation
      if (isSystemStage(stage) || (outcome.kind === 'dropped' && outcome.reason === 'no-credentials')) return
      if (!hasIntent(observation, contract)) return
      const proof = proofOf(stage, request.kind === 'probe' ? null : call)
      if (proof === null) return
      proof.due++
      if (outcome.kind !== 'dropped') proof.sent++
      const ending = unmetEnding(observation, provoked.has(stage), contract)
      if (ending !== null) return addEnding(proof.unmet, ending, 1)
      proof.met++
      if (isJudged) proof.judged++
    },
    proofs: () => [...stages.values()].flatMap(calls => [...calls.values()]),
    merge: proofs => {
      for (const { stage, call, due, sent, met, judged, unmet } of proofs) {
        const sum = proofOf(stage, call)
        if (sum === null) continue
        sum.due += due
        sum.sent += sent
        sum.met += met
        sum.judged += judged
        for (const [ending, count] of unmet) addEnding(sum.unmet, ending, count)
      }
    },
  }
}

function addEnding(unmet: Map<string, number>, ending: string, by: number): void {
  const name = unmet.has(ending) || unmet.size < maxEndings ? ending : otherEndings.others
  unmet.set(name, (unmet.get(name) ?? 0) + by)
}

/** Whether the contract says what a request should get. What a conflict gets is judged elsewhere. */
function hasIntent({ request }: Observation, contract: Contract): boolean {
  if (request.kind === 'probe') return probeOf(request.probe).promised(contract).length > 0
  return request.kind !== 'rpc' || request.replay?.role !== 'conflict'
}

/** How a request ended instead of as intended; null: as intended. `isProvoked`: its stage provokes the abuse block. */
function unmetEnding({ request, outcome, response }: Observation, isProvoked: boolean, contract: Contract) {
  if (outcome.kind === 'dropped') return otherEndings.dropped
  if (outcome.kind === 'failed') return outcome.reason
  const { status } = outcome
  if (isProvoked && response !== null && isAbuseBlock(response, contract)) return null
  if (request.kind === 'probe') return probeOf(request.probe).promised(contract).includes(status) ? null : `${status}`
  if (!is2xx(status)) return `${status}`
  if (request.kind !== 'rpc' || response === null || request.items.every(item => item.failing)) return null
  const value = response.body.kind === 'json' ? response.body.value : undefined
  return (Array.isArray(value) ? value : [value]).some(isResult) ? null : otherEndings.errors
}

function isResult(value: unknown): boolean {
  const response = toObject(value)
  return response !== null && !isRpcError(response)
}

/** `5 got 500, 2 were dropped`: the most frequent first. */
export function describeEndings(unmet: ReadonlyMap<string, number>): string {
  return [...unmet]
    .toSorted(([, a], [, b]) => b - a)
    .map(([ending, count]) => `${count} ${verbOf(ending, count)}`)
    .join(', ')
}

function verbOf(ending: string, count: number): string {
  if (ending === otherEndings.dropped) return `${count === 1 ? 'was' : 'were'} dropped`
  if (ending === otherEndings.errors) return 'got a JSON-RPC error for every item'
  if (ending === otherEndings.others) return 'got other responses'
  return /^\d+$/.test(ending) ? `got ${ending}` : `ended with ${ending}`
}
