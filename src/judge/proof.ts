import type { ClauseId } from '../contract/clauses.ts'
import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { plural } from '../lib/format.ts'
import type { Observation } from '../observation/observation.ts'
import { applicableLimit, isProbeRequest, requestTraits } from '../observation/requests/request.ts'
import { isRpc } from '../observation/requests/rpc.ts'
import { isAbuseBlock, isConcurrencyRejection, isOverLimit, quotedError } from '../observation/response.ts'
import { isProbe, isSystemStage, type Plan, traitsOf } from '../plan/plan.ts'
import { bodyEndings, endingInBody } from './checks/rpc-response.ts'
import type { ClauseTally } from './findings/findings.ts'
import {
  addCount,
  eachBy,
  fieldsBy,
  getOrAdd,
  keep,
  type MergeRules,
  mapBy,
  mergeFields,
  sum,
  sumCounts,
} from './merge.ts'
import type { RequestStats } from './metrics/request-stats.ts'
import type { LimitResult } from './results.ts'
import { canFailOn, demandsRefusal, judgesSuccess, reachOf } from './threshold-reach.ts'

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
  /** Requests with the intended response: a success, for a probe a documented status, or how to pay. */
  readonly met: number
  /** Those of them that a clause about the content of the response judged. */
  readonly judged: number
  /** How the others ended: a status, a failure, or one of `otherEndings`. */
  readonly unmet: ReadonlyMap<string, number>
  /** The 429s among them, by the limit that the request draws on; an empty name: none. */
  readonly limited: ReadonlyMap<string, number>
  /** The 503s among them that say when to retry: the service refused on purpose. */
  readonly deferred: number
  /** By name: the probes, with how many the clause of the probe judged, and how the others ended. */
  readonly probes: ReadonlyMap<string, ProbeTally>
  /** The start of the first error among them; empty: there was none. */
  readonly error: string
}

type ProbeTally = { readonly judged: number; readonly open: ReadonlyMap<string, number> }

export type ProofLog = {
  /** `isJudged`: a clause about the content of its response judged it. */
  readonly add: (observation: Observation, isJudged: boolean) => void
  readonly proofs: () => readonly CallProof[]
  readonly merge: (proofs: readonly CallProof[]) => void
}

/** Endings without a status. `others`: beyond `maxEndings` distinct ones. */
export const otherEndings = { ...bodyEndings, dropped: 'dropped', others: 'others' } as const
const maxEndings = 32

type MutableProof = {
  -readonly [Key in keyof Omit<CallProof, 'unmet' | 'limited' | 'probes'>]: CallProof[Key]
} & {
  readonly unmet: Map<string, number>
  readonly limited: Map<string, number>
  readonly probes: Map<string, MutableTally>
}

type MutableTally = { judged: number; readonly open: Map<string, number> }

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
      proof = {
        stage,
        call,
        due: 0,
        sent: 0,
        met: 0,
        judged: 0,
        unmet: new Map(),
        limited: new Map(),
        deferred: 0,
        probes: new Map(),
        error: '',
      }
      calls.set(call, proof)
    }
    return proof
  }

  return {
    add: (observation, isJudged) => {
      const { stage, call, request, outcome, response } = observation
      if (isSystemStage(stage) || isNeverDue(outcome)) return
      if (!requestTraits(request).hasIntent(request, response?.status ?? null, contract)) return
      const proof = proofOf(stage, isProbeRequest(request) ? null : call)
      if (proof === null) return
      proof.due++
      if (outcome.kind !== 'dropped') proof.sent++
      const ending = unmetEnding(observation, provoked.has(stage), contract)
      if (isProbeRequest(request)) {
        const tally = getOrAdd(proof.probes, request.probe, emptyTally)
        if (isJudged) tally.judged++
        else addEnding(tally.open, ending ?? (response === null ? otherEndings.others : `${response.status}`), 1)
      }
      if (ending === '503' && response?.headers['retry-after'] !== undefined) proof.deferred++
      if (ending === '429' && !(response !== null && isConcurrencyRejection(response, contract)))
        addEnding(proof.limited, applicableLimit(observation, contract)?.name ?? '', 1)
      if (ending !== null) {
        if (proof.error === '' && response !== null) proof.error = quotedError(response)
        return addEnding(proof.unmet, ending, 1)
      }
      proof.met++
      if (isJudged) proof.judged++
    },
    proofs: () => [...stages.values()].flatMap(calls => [...calls.values()]),
    merge: proofs => {
      for (const proof of proofs) {
        const own = proofOf(proof.stage, proof.call)
        if (own !== null) mergeFields(own, proof, proofRules)
      }
    },
  }
}

/** Whether the request was never due: its key is missing, or the request before it got no response. */
const isNeverDue = (outcome: Observation['outcome']): boolean =>
  outcome.kind === 'dropped' && (outcome.reason === 'no-credentials' || outcome.reason === 'no-response')

function addEnding(unmet: Map<string, number>, ending: string, by: number): void {
  const name = unmet.has(ending) || unmet.size < maxEndings ? ending : otherEndings.others
  addCount(unmet, name, by)
}

function addEndings(own: Map<string, number>, part: ReadonlyMap<string, number>): Map<string, number> {
  for (const [ending, count] of part) addEnding(own, ending, count)
  return own
}

const emptyTally = (): MutableTally => ({ judged: 0, open: new Map() })

const proofRules: MergeRules<CallProof, MutableProof> = {
  stage: keep,
  call: keep,
  ...eachBy(sum, ['due', 'sent', 'met', 'judged', 'deferred']),
  unmet: addEndings,
  limited: addEndings,
  probes: mapBy(fieldsBy<ProbeTally, MutableTally>({ judged: sum, open: addEndings }), emptyTally),
  error: (own, part) => own || part,
}

/** How a request ended instead of as intended; null: as intended. `isProvoked`: its stage provokes the abuse block. */
function unmetEnding({ request, outcome, response }: Observation, isProvoked: boolean, contract: Contract) {
  if (outcome.kind === 'dropped') return otherEndings.dropped
  if (outcome.kind === 'failed') return outcome.reason
  if (outcome.kind === 'left') return null
  const { status } = outcome
  if (isProvoked && response !== null && isAbuseBlock(response, contract)) return null
  if (!requestTraits(request).isIntended(request, status, contract)) return `${status}`
  if (!isRpc(request) || response === null) return null
  return isOverLimit(response, contract) ? '429' : endingInBody(request, response)
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
  if (ending === otherEndings.unreadable) return 'got no JSON-RPC response'
  if (ending === otherEndings.others) return 'got other responses'
  return /^\d+$/.test(ending) ? `got ${ending}` : `ended with ${ending}`
}

/** The reasons for which a run that ended by itself proves too little to pass. `load`: of all stages of the plan. */
export function unprovenReasons(
  plan: Plan,
  proofs: readonly CallProof[],
  load: Pick<RequestStats, 'sent' | 'dropped' | 'skipped'>,
): readonly string[] {
  if (load.sent === 0) return [nothingSent(load)]
  const broken = proofs.filter(proof => isBroken(proof, proofs, plan))
  if (broken.length === proofs.length) {
    const endings = proofs.reduce((counts, { unmet }) => sumCounts(counts, unmet), new Map<string, number>())
    return [
      endings.size === 0
        ? nothingExpected
        : `No request of the load succeeded: ${describeEndings(endings)}${quotedIn(broken)}.`,
    ]
  }
  return [
    ...firstOf(broken.map(describeBroken)),
    ...firstOf(
      proofs
        .filter(proof => !broken.includes(proof) && isMostlyRefused(proof, plan))
        .map(
          proof =>
            `Most requests of ${placeOf(proof)} did not ${proof.call === null ? 'get a documented response' : 'succeed'}: ${describeEndings(proof.unmet)}${quotedIn([proof])}.`,
        ),
    ),
    ...firstOf(neverDue(plan, proofs)),
    ...firstOf(
      proofs
        .filter(({ call, met, judged }) => call !== null && met > 0 && judged === 0)
        .filter(proof => !plan.thresholds.some(each => canFailOn(each, proof, reachOf(each, plan, proofs))))
        .map(
          proof =>
            `Responses to ${placeOf(proof)} were not checked. Add a threshold, or promise a clause that covers their content.`,
        ),
    ),
  ]
}

/** The calls of stages that the reasons above are about already. */
export const unprovenCalls = (plan: Plan, proofs: readonly CallProof[]): readonly CallProof[] =>
  proofs.filter(proof => isBroken(proof, proofs, plan) || isMostlyRefused(proof, plan))

/** What any judgement of a block needs. */
const ofBlocks: readonly ClauseId[] = ['abuse.block', 'abuse.all-requests', 'abuse.duration', 'abuse.message']

/**
 * A stage that provokes blocks must prove them. Reports the stage if its blocks could not be judged for another reason
 * than a violation.
 */
export function unprovenBlocks({ stages }: Plan, clauses: readonly ClauseTally[]): readonly string[] {
  const provoking = stages.find(({ beyondFailures }) => beyondFailures)
  const ofAbuse = clauses.filter(({ id }) => ofBlocks.includes(id))
  const why = ofAbuse.find(({ because }) => because?.kind === 'not-judged' && because.clause === null)?.because
  if (provoking === undefined || why == null || ofAbuse.some(({ judged }) => judged > 0)) return []
  if (clauses.some(({ id, violated }) => id.startsWith('abuse.') && violated > 0)) return []
  return [`${provoking.name} should cause a block, and no block was judged: ${why.text}.`]
}

/**
 * A stage that exceeds a limit must prove that it is enforced. It cannot if the target states a higher limit than the
 * plan assumed, and no caller reached it.
 */
export function unprovenLimits({ forecast, callers }: Plan, results: readonly LimitResult[]): readonly string[] {
  const exceeding = forecast.limits.filter(row => !isSystemStage(row.stage) && row.perMinute > row.limit)
  return [...new Set(exceeding.map(({ scope }) => scope))].flatMap(scope => {
    const rows = exceeding.filter(row => row.scope === scope)
    const ofScope = results.filter(({ names }) => names.includes(scope))
    const stated = Math.min(...ofScope.map(result => result.limit ?? 0))
    const wasExceeded = ofScope.some(({ rejected, missing429 }) => rejected > 0 || (missing429 ?? 0) > 0)
    const [row] = rows
    if (row === undefined || ofScope.length === 0 || wasExceeded) return []
    if (rows.some(({ perMinute }) => perMinute > stated)) return []
    return [
      `${row.stage} should exceed the limit of ${scope}, ${row.limit} per minute, but the target states ${stated}: write ${lineOfLimit(scope, stated, callers)} into the profile.`,
    ]
  })
}

/** The line of a profile that states a limit. */
function lineOfLimit(scope: string, amount: number, { accountTier }: Plan['callers']): string {
  if (scope === 'rpc') return `rpc: { requestsPerMinute: ${amount} }`
  if (!scope.startsWith('chat:')) return `resourceLimits: { ${accountTier}: { ${scope}: ${amount} } }`
  const field = scope.endsWith(' tokens') ? 'tokensPerMinute' : 'requestsPerMinute'
  return `accounts: { ${accountTier}: { <tier of the model>: { ${field}: ${amount} } } }`
}

const nothingExpected = 'No request of the load has a documented response.'

function nothingSent({ dropped, skipped }: Pick<RequestStats, 'dropped' | 'skipped'>): string {
  if (dropped + skipped === 0) return 'No request of the load was due.'
  const why = [
    dropped > 0 ? `${plural(dropped, 'arrival was', 'arrivals were')} dropped` : null,
    skipped > 0 ? `${plural(skipped, 'arrival', 'arrivals')} had no key` : null,
  ]
  return `No request of the load was sent: ${why.filter(each => each !== null).join(', ')}.`
}

/** Whether all requests missed their intent, although the plan does not expect that. */
function isBroken(proof: CallProof, all: readonly CallProof[], plan: Plan): boolean {
  const { met, unmet, call } = proof
  if (met > 0 || plan.thresholds.some(threshold => demandsRefusal(threshold, proof))) return false
  // An earlier stage may have used up the limit.
  const isOverLimit = unmet.size === 1 && unmet.has('429') && mayExceedLimits(plan)
  return !(isOverLimit && all.some(other => other.call === call && other.met > 0))
}

function describeBroken(proof: CallProof): string {
  const { call, due, sent, unmet } = proof
  if (sent === 0) return `No request of ${placeOf(proof)} was sent: ${describeEndings(unmet)}.`
  return `None of ${plural(due, 'request')} of ${placeOf(proof)} ${call === null ? 'got a documented response' : 'succeeded'}: ${describeEndings(unmet)}${quotedIn([proof])}.`
}

/** The first error of the target in its own words, as ` ("Model not found")`. */
function quotedIn(proofs: readonly CallProof[]): string {
  const found = proofs.find(each => each.error !== '')
  return found === undefined ? '' : ` ("${found.error}")${found.call === null ? '' : withoutMethod(found.error)}`
}

const lacksMethod = /\bmethod\b.*\b(support|allow|available|enabled|permit|implement|unknown|found|exist)/i

/** What to write if a target does not have a method of the contract; empty: its error does not say so. */
function withoutMethod(error: string): string {
  if (!lacksMethod.test(error)) return ''
  const [method = '<method>'] = /\b[a-z0-9]+_\w+|\b[a-z]+[A-Z]\w*/.exec(error) ?? []
  const families = Object.entries(documentedContract.rpc.methods)
  const [family = '<family>'] = families.find(([, methods]) => Object.hasOwn(methods, method)) ?? []
  return `; if it does not have the method, the profile can say so: rpc: { methods: { ${family}: { ${method}: null } } }`
}

/** Fewer are chance. */
const minRefused = 3

/**
 * Whether most requests were answered with something else than a success. A status that the plan provokes does not
 * count, and a search tries rates that are too high.
 */
function isMostlyRefused(proof: CallProof, plan: Plan): boolean {
  const { met, unmet, stage } = proof
  const load = plan.stages.find(({ name }) => name === stage)?.load
  if (load === undefined || load.model === 'capacity') return false
  if (plan.thresholds.some(threshold => judgesSuccess(threshold, proof))) return false
  const provoked = [...(mayExceedLimits(plan) ? ['429'] : []), ...(load.model === 'saturate' ? ['503', '429'] : [])]
  const refused = [...unmet]
    .filter(([ending]) => /^\d+$|^errors$|^unreadable$/.test(ending) && !provoked.includes(ending))
    .reduce((sum, [, count]) => sum + count, 0)
  return refused >= minRefused && refused > met
}

const mayExceedLimits = ({ forecast }: Plan): boolean =>
  forecast.limits.some(({ perMinute, limit }) => perMinute > limit)

/** Of ten expected arrivals, chance draws none in one of 20,000 runs. */
const minExpected = 10

/** Calls that should have been sent and never were due. */
function neverDue({ forecast, calls }: Plan, proofs: readonly CallProof[]): readonly string[] {
  return Object.entries(calls).flatMap(([name, call]) => {
    if (isProbe(call) || proofs.some(proof => proof.call === name)) return []
    const rows = forecast.calls.filter(row => row.call === name && !row.isAtMost)
    const arrivals = rows.reduce((sum, { requests }) => sum + requests, 0) / traitsOf(call).requests
    return arrivals >= minExpected ? [`No request of ${name} was due.`] : []
  })
}

export const placeOf = ({ call, stage }: CallProof): string => `${call ?? 'the probes'} in ${stage}`

const maxSentences = 5

export function firstOf(sentences: readonly string[]): readonly string[] {
  if (sentences.length <= maxSentences) return sentences
  return [...sentences.slice(0, maxSentences), `The same holds in ${sentences.length - maxSentences} further cases.`]
}
