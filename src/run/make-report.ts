import type { Baselines } from '../judge/compare/comparable.ts'
import { type ComparedRun, compareRuns } from '../judge/compare/compare-runs.ts'
import { shownIds } from '../judge/findings/causes.ts'
import { type JudgedRun, type JudgeJob, judgeRun, type WorkerResult } from '../judge/judge-run.ts'
import type { Slices } from '../judge/metrics/slices.ts'
import type { Observation } from '../observation/observation.ts'
import { systemCallsOf } from '../plan/plan.ts'
import { buildReport } from '../report/build.ts'
import type { Report } from '../report/document.ts'
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
): Promise<{ readonly report: Report; readonly slices: Slices }> {
  const { plan, contract, head } = job
  const judged = judgeRun(job, results)
  const comparison = baselines && compareRuns(baselines.runs, comparedRun(judged), baselines.criteria)
  const cited = await citedObservations(judged, readObservations)
  const context = { contract, bounds: plan.bounds, seed: plan.seed, runId: head.runId }
  const calls = { ...plan.calls, ...systemCallsOf(plan) }
  const report = buildReport(judged, comparison, id => {
    const observation = cited.get(id)
    return observation === undefined ? null : evidenceOf(observation, calls, context, head)
  })
  return { report, slices: judged.slices }
}

function comparedRun({ plan, head, ended, slices, verdict }: JudgedRun): ComparedRun {
  const { runId: id, startedAtMs, target, version } = head
  const startedAt = new Date(startedAtMs).toISOString()
  const info = { id, startedAt, target, version, seed: plan.seed }
  return { info, plan, slices, isComplete: ended === 'complete', verdict }
}

/** The observations that examples cite, if the judges or the record have them. */
async function citedObservations(
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
