import type { Contract } from '../../contract/contract.ts'
import { parsePico } from '../../lib/money.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { type Plan, traitsOf } from '../../plan/plan.ts'
import { type ComparedRun, compareRuns } from './compare-runs.ts'
import type { Comparison, Criteria } from './comparison.ts'

/** The plan of a run, and the contract that judged it. */
export type JudgedPlan = { readonly plan: Plan; readonly contract: Contract }

/** A run for a comparison, read from the directory `path`. */
export type RecordedComparedRun = ComparedRun & JudgedPlan & { readonly path: string }

/** The runs that a run must not be worse than. */
export type Baselines = { readonly runs: readonly RecordedComparedRun[]; readonly criteria: Criteria }

type PlanDifference = { readonly path: string; readonly base: string; readonly run: string }

/**
 * The differences that make two runs incomparable. These may differ: target, seed, name, question, budget, thresholds and
 * recording; in the contract, its name and the spelling of names. A price that only one of them knows does not count as a difference.
 */
export const planDifferences = (base: JudgedPlan, run: JudgedPlan): readonly PlanDifference[] =>
  differences(comparedParts(base), comparedParts(run), '').filter(difference => !isSamePrice(difference))

/** Whether a difference is one of spelling, such as 0.6 and 0.60, or a price that only one of the runs knows. */
function isSamePrice({ path, base, run }: PlanDifference): boolean {
  if (!path.includes('.usdPerMillion')) return false
  const [was, is] = [base, run].map(text => parsePico(text.replaceAll('"', '')))
  return base === 'null' || run === 'null' || (was !== null && was === is)
}

function comparedParts({ plan, contract }: JudgedPlan) {
  const { only, callers, calls, stages, slo, bounds } = plan
  const { accounts, resources, resourceLimits, chat, idempotency, abuse, billing } = contract
  const used = Object.values(calls).map(traitsOf)
  // What else the target offers may change from day to day. The rates of the stages show its limits.
  const models = contract.models.filter(({ id }) => used.some(({ model }) => model === id))
  const networks = Object.entries(contract.rpc.networks).filter(([slug]) =>
    used.some(({ network }) => network === slug),
  )
  const rpc = { ...contract.rpc, networks: Object.fromEntries(networks) }
  const { published: _, judgedBy: __, ...limits } = contract.limits
  return {
    only: only === null ? 'the whole scenario' : only.names.join(', '),
    callers: {
      count: callers.names.length,
      'keys-per-caller': callers.keysEach,
      tier: callers.accountTier,
      shared: callers.shared,
    },
    calls,
    stages: Object.fromEntries(stages.map(stage => [stage.name, stage])),
    slo,
    limits: bounds,
    contract: { accounts, models, resources, resourceLimits, chat, rpc, idempotency, limits, abuse, billing },
  }
}

/** All differing leaves, with their paths. */
function differences(base: unknown, run: unknown, path: string): readonly PlanDifference[] {
  if (isBranch(base) && isBranch(run) && Array.isArray(base) === Array.isArray(run)) {
    const keys = [...new Set([...Object.keys(base), ...Object.keys(run)])]
    return keys.flatMap(key =>
      differences(Reflect.get(base, key), Reflect.get(run, key), path === '' ? key : `${path}.${key}`),
    )
  }
  const [was, is] = [shown(base), shown(run)]
  return was === is ? [] : [{ path, base: was, run: is }]
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null

const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value))

/** Plans that differ more are not worth a list. */
const maxDifferences = 20

/** Throws a UsageError with the differences if the plans of two runs differ. */
export function assertComparable(baseline: RecordedComparedRun, path: string, run: JudgedPlan): void {
  const found = planDifferences(baseline, run)
  const [first] = found
  if (first === undefined) return
  if (found.length <= maxDifferences) throw new UsageError(found.map(mistakeOf))
  throw new UsageError({
    where: path,
    got: `a plan with ${found.length} differences, such as ${first.path}`,
    expected: `the plan of the baseline ${baseline.path}`,
    hint: 'is it the same scenario?',
  })

  function mistakeOf({ path: at, base, run: value }: PlanDifference) {
    return {
      where: `${path}: ${at}`,
      got: truncateValue(value),
      expected: `${truncateValue(base)}, as in the baseline ${baseline.path}`,
    }
  }
}

const maxValueLength = 200
const truncateValue = (value: string): string =>
  value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value

/** Compares the last run with those before it. Throws a UsageError if a run is given twice, or two plans differ. */
export function compareRecorded(runs: readonly RecordedComparedRun[], criteria: Criteria): Comparison {
  assertDistinct(runs)
  const baselines = runs.slice(0, -1)
  const last = runs.at(-1)
  if (last === undefined) throw new RangeError('no run to compare')
  for (const baseline of baselines) assertComparable(baseline, last.path, last)
  return compareRuns(baselines, last, criteria)
}

/** Throws a UsageError if a run is given twice: compared with itself, it shows neither changes nor noise. */
export function assertDistinct(runs: readonly RecordedComparedRun[]): void {
  runs.forEach(({ path, info }, index) => {
    const twin = runs.slice(0, index).find(other => other.info.id === info.id)
    if (twin === undefined) return
    throw new UsageError({ where: path, got: `run ${info.id}, as in ${twin.path}`, expected: 'each run once' })
  })
}
