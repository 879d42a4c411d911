import type { Baselines } from '../judge/compare/comparable.ts'
import { type ComparedRun, compareRuns } from '../judge/compare/compare-runs.ts'
import { endedByItself } from '../judge/ended-early.ts'
import { shownIds } from '../judge/findings/causes.ts'
import type { RunView } from '../judge/judge.ts'
import { type JudgedRun, type JudgeJob, judgeRun, type WorkerResult } from '../judge/judge-run.ts'
import { judgeSoFar, type WorkerSoFar } from '../judge/judge-so-far.ts'
import type { Slices } from '../judge/metrics/slices.ts'
import { type TracedRequest, tracedRequest } from '../judge/traced-requests.ts'
import type { Observation } from '../observation/observation.ts'
import { systemCallsOf } from '../plan/plan.ts'
import { buildReport } from '../report/build.ts'
import type { Evidence, Report } from '../report/document.ts'
import { evidenceOf } from './evidence.ts'

/**
 * The report of a run, from the results of all workers in order. `readObservations` reads the record again, because the
 * judges keep only some of the requests that findings cite.
 */
export async function makeReport(
  job: JudgeJob,
  results: readonly WorkerResult[],
  readObservations: () => AsyncIterable<Observation>,
  baselines: Baselines | null = null,
): Promise<{
  readonly report: Report
  readonly slices: Slices
  /** The requests that findings show, if requests carried trace ids. */
  readonly traced: readonly TracedRequest[]
}> {
  const judged = judgeRun(job, results)
  const comparison = baselines && compareRuns(baselines.runs, comparedRun(judged), baselines.criteria)
  const cited = await citedObservationsOf(judged, readObservations)
  const report = buildReport(judged, comparison, evidenceIn(cited, job))
  const traced = job.head.traces ? tracedFindings(judged, cited, job.contract) : []
  return { report, slices: judged.slices, traced }
}

/**
 * The report of a run in progress, with the verdict that it would get if it were complete now. It has the evidence that
 * the judges of the workers keep.
 */
export function makeReportSoFar(job: JudgeJob, view: RunView, workers: readonly WorkerSoFar[], nowMs: number): Report {
  const judged = judgeSoFar(job, view, workers, nowMs)
  return buildReport(judged, null, evidenceIn(judged.citedObservations, job))
}

/** The evidence of cited requests, by their ids. */
function evidenceIn(cited: ReadonlyMap<number, Observation>, { plan, contract, head }: JudgeJob) {
  const { bounds, seed, stages, callers: planned } = plan
  const context = { contract, bounds, seed, stages, planned, runId: head.runId }
  const calls = { ...plan.calls, ...systemCallsOf(plan) }
  return (id: number): Evidence | null => {
    const observation = cited.get(id)
    return observation === undefined ? null : evidenceOf(observation, calls, context, head)
  }
}

function tracedFindings(
  { findings }: JudgedRun,
  cited: ReadonlyMap<number, Observation>,
  contract: JudgeJob['contract'],
): readonly TracedRequest[] {
  const clausesOf = new Map<number, Set<string>>()
  for (const { clause, examples } of findings)
    for (const id of examples.flatMap(({ decidedBy }) => decidedBy))
      clausesOf.set(id, (clausesOf.get(id) ?? new Set()).add(clause))
  return [...cited.values()].flatMap(observation => {
    const clauses = [...(clausesOf.get(observation.id) ?? [])]
    return tracedRequest(observation, contract, { chosen: 'finding', clauses }) ?? []
  })
}

function comparedRun({ plan, head, ended, slices, verdict }: JudgedRun): ComparedRun {
  const { runId: id, startedAtMs, target, version } = head
  const startedAt = new Date(startedAtMs).toISOString()
  const info = { id, startedAt, target, version, seed: plan.seed }
  return { info, plan, slices, isComplete: endedByItself(ended), verdict }
}

/** The observations that examples cite, if the judges or the record have them. */
async function citedObservationsOf(
  { findings, billing, citedObservations: judged }: JudgedRun,
  readObservations: () => AsyncIterable<Observation>,
): Promise<ReadonlyMap<number, Observation>> {
  const examples = [...findings, ...billing.discrepancies].flatMap(finding => finding.examples)
  const wanted = new Set(examples.flatMap(shownIds))
  const found = new Map([...judged].filter(([id]) => wanted.has(id)))
  if (found.size === wanted.size) return found
  for await (const observation of readObservations()) {
    if (wanted.has(observation.id)) found.set(observation.id, observation)
    if (found.size === wanted.size) break
  }
  return found
}

/**
 * The result of a shard with every observation that its findings cite, so that its evidence needs the record no more.
 */
export async function withEvidence<Result extends WorkerResult>(
  job: JudgeJob,
  result: Result,
  readObservations: () => AsyncIterable<Observation>,
): Promise<Result> {
  const citedObservations = await citedObservationsOf(judgeRun(job, [result]), readObservations)
  return { ...result, snapshot: { ...result.snapshot, citedObservations } }
}
