import { compareRuns } from '../compare/compare-runs.ts'
import type { Criteria } from '../compare/comparison.ts'
import { type Brief, reportOf, slicesOf, type Part as WorkerResult } from '../judging/report-of.ts'
import type { Slices } from '../metrics/slices.ts'
import type { Observation } from '../observation/observation.ts'
import { comparedRun, type RecordedComparedRun } from '../report/compared-run.ts'
import { withComparison } from '../report/comparison/with-comparison.ts'
import type { Report } from '../report/report.ts'

/** The runs that a run is compared with when it is over. */
export type Baselines = { readonly runs: readonly RecordedComparedRun[]; readonly criteria: Criteria }

/**
 * The report of a run, from the results of all of its workers, in their order. `readObservations` reads the logs again: of
 * the requests that findings cite, the judges keep only some.
 */
export async function makeReport(
  job: Brief,
  results: readonly WorkerResult[],
  readObservations: () => AsyncIterable<Observation>,
  baselines: Baselines | null,
): Promise<{ readonly report: Report; readonly slices: Slices }> {
  const slices = slicesOf(
    job,
    results.map(({ facts }) => facts),
  )
  const report = await reportOf(job, results, readObservations)
  if (baselines === null) return { report, slices }
  const runs = baselines.runs.map(baseline => baseline.run)
  const comparison = compareRuns(runs, comparedRun(report, job, slices), baselines.criteria)
  return { report: withComparison(report, comparison), slices }
}
