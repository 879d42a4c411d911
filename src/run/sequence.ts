import type { Contract } from '../contract/contract.ts'
import { promisesAny } from '../contract/promises.ts'
import type { Observation } from '../observation/observation.ts'
import { isSystemStage, type Plan, systemCallsOf } from '../plan/plan.ts'
import { type PlannedRequest, plannedRequests } from '../produce/arrivals/planned-requests.ts'
import type { Evidence, ReportedExample } from '../report/document.ts'
import { describeOutcome, positionOf, type RequestPlace } from './evidence.ts'

/** One request of an example, with all that is needed to send it again in its place. Times are of the run's clock. */
export type SequenceRequest = RequestPlace & {
  readonly id: number
  readonly caller: string
  readonly stage: string
  readonly call: string
  readonly sentMs: number
  /** null: unknown. */
  readonly endMs: number | null
  /** What the target responded; null: unknown, because the request was not recorded. */
  readonly outcome: string | null
  readonly decides: boolean
}

/** All requests of an example, in the order of sending. */
export type Sequence = {
  readonly requests: readonly SequenceRequest[]
  /** Requests that were not recorded and that the plan does not decide. */
  readonly missing: readonly number[]
  /** Earlier requests whose numbers the report does not list. */
  readonly omitted: number
  /** Requests that the finding does not cite. Without them, a limit would not be reached again. */
  readonly added: number
}

/** What a run directory knows. */
export type RecordedFacts = {
  readonly plan: Plan
  readonly contract: Contract
  readonly observations: () => AsyncIterable<Observation>
}

type Found = Omit<SequenceRequest, 'decides'>

/** Finds the requests of an example in the record of its run, in its evidence, or in its plan. */
export async function sequenceOf(example: ReportedExample, known: RecordedFacts): Promise<Sequence> {
  const { requestIds, decidedBy, omitted, evidence } = example
  const ids = new Set(requestIds)
  const found = await recorded(known, ({ id }) => ids.has(id), ids.size)
  for (const each of evidence) if (!found.has(each.id) && isPlanned(each.call, known)) addEvidence(found, each)
  const missing = requestIds.filter(id => !found.has(id))
  if (missing.length > 0) for (const request of planned(new Set(missing), found, known)) found.set(request.id, request)
  const cited = found.size
  const others = await limitUse([...found.values()], known)
  for (const [id, request] of others) if (!found.has(id)) found.set(id, request)
  return {
    requests: [...found.values()]
      .map(request => ({ ...request, decides: decidedBy.includes(request.id) }))
      .toSorted(bySending),
    missing: missing.filter(id => !found.has(id)),
    omitted,
    added: found.size - cited,
  }
}

/** The maximum number of requests that are sent again only because they may count toward a limit. */
const maxAdded = 2_000

/** A 429 depends on the earlier requests of its caller in the window of the limit. */
async function limitUse(cited: readonly Found[], known: RecordedFacts): Promise<ReadonlyMap<number, Found>> {
  const refused = cited.filter(({ outcome }) => outcome === 'answered 429')
  return await useBefore(refused, cited, known)
}

/** All that the callers of a finding sent until then, in the window of a limit: what may have led to it, cited or not. */
export async function historyOf({ requests }: Sequence, known: RecordedFacts): Promise<readonly SequenceRequest[]> {
  const all = await useBefore(requests, requests, known)
  return [...all.values()].map(request => ({ ...request, decides: false })).toSorted(bySending)
}

/** What the callers of some requests sent, from a window before them until the last cited request. */
async function useBefore(
  requests: readonly Found[],
  cited: readonly Found[],
  known: RecordedFacts,
): Promise<ReadonlyMap<number, Found>> {
  if (requests.length === 0) return new Map()
  const callers = new Set(requests.map(({ caller }) => caller))
  const fromMs = Math.min(...requests.map(({ sentMs }) => sentMs)) - known.contract.limits.windowMs
  const untilMs = Math.max(...cited.map(({ sentMs }) => sentMs))
  return await recorded(
    known,
    ({ caller, stage, sentMs }) =>
      callers.has(caller) && !isSystemStage(stage) && sentMs !== null && sentMs >= fromMs && sentMs <= untilMs,
    maxAdded,
  )
}

const bySending = (a: Found, b: Found): number => a.sentMs - b.sentMs || a.id - b.id

const isPlanned = (call: string, { plan }: RecordedFacts): boolean =>
  Object.hasOwn(plan.calls, call) || Object.hasOwn(systemCallsOf(plan), call)

/** The first `max` recorded requests of a kind. */
async function recorded(
  known: RecordedFacts,
  isWanted: (observation: Observation) => boolean,
  max: number,
): Promise<Map<number, Found>> {
  const found = new Map<number, Found>()
  for await (const observation of known.observations()) {
    const { id, caller, stage, call, sentMs, endMs, outcome } = observation
    if (sentMs === null || !isWanted(observation) || !isPlanned(call, known)) continue
    const place = positionOf(observation)
    found.set(id, { ...place, id, caller, stage, call, sentMs, endMs, outcome: describeOutcome(outcome) })
    if (found.size === max) break
  }
  return found
}

function addEvidence(found: Map<number, Found>, evidence: Evidence): void {
  const { position, id, caller, stage, call, sentMs, endMs, outcome } = evidence
  if (position !== null && sentMs !== null)
    found.set(id, { ...position, id, caller, stage, call, sentMs, endMs, outcome })
}

/** The requests that the plan decides. None if it contradicts what is known of the others. */
function planned(
  missing: ReadonlySet<number>,
  known: ReadonlyMap<number, Found>,
  { plan, contract }: RecordedFacts,
): readonly Found[] {
  const found: PlannedRequest[] = []
  let left = missing.size + known.size
  let loadStartMs: number | null = null
  for (const request of plannedRequests(plan, promisesAny(contract, ['catalogue.rate-limits', 'billing.*']))) {
    const seen = known.get(request.id)
    if (seen !== undefined && (seen.call !== request.call || seen.caller !== request.caller)) return []
    if (seen !== undefined && seen.stage !== '(opening)') loadStartMs ??= seen.sentMs - request.dueMs
    if (missing.has(request.id)) found.push(request)
    if ((seen !== undefined || missing.has(request.id)) && --left === 0) break
  }
  return found.map(({ dueMs, ...request }) => ({
    ...request,
    // A caller sends its requests in the order of their ids.
    sentMs: Math.max(
      request.stage === '(opening)' ? 0 : (loadStartMs ?? 0) + dueMs,
      ...[...known.values()]
        .filter(({ caller, firstId }) => caller === request.caller && firstId < request.firstId)
        .map(({ sentMs }) => sentMs),
    ),
    endMs: null,
    outcome: null,
  }))
}
