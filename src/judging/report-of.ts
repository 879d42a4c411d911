import { workerOf } from '../arrivals/share.ts'
import type { Contract } from '../contract/contract.ts'
import { evidenceOf } from '../evidence.ts'
import { createHistogram } from '../metrics/histogram.ts'
import { percentiles } from '../metrics/percentiles.ts'
import { createSeries, type Series } from '../metrics/series.ts'
import { createSlices, type Slices } from '../metrics/slices.ts'
import type { LogEnd, RunHead } from '../observation/log.ts'
import type { Observation } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import { buildReport } from '../report/build-report.ts'
import type { Evidence, Report, WorkerFacts } from '../report/report.ts'
import { type Facts, ownCalls } from './judgement.ts'
import { readGlances, thresholdsOf } from './readings.ts'

/** What a worker has come to, and what it wrote at the end of its record; null: it was cut off before that. */
export type Part = { readonly facts: Facts; readonly end: LogEnd | null }

/** What a run was judged by. */
export type Brief = { readonly plan: Plan; readonly contract: Contract; readonly head: RunHead }

/**
 * The verdict, taken once over what all workers have come to, in their order. `recall` gives the observations of the
 * records again: of those that findings name, only what a check broke on is still at hand.
 */
export async function reportOf(
  brief: Brief,
  parts: readonly Part[],
  recall: () => AsyncIterable<Observation>,
): Promise<Report> {
  const { plan, head } = brief
  const all = parts.map(({ facts }) => facts)
  const readings = readGlances(plan, all)
  const { metrics, docket, audits } = readings
  audits.finish(all.map(({ memories }) => memories))
  const end = endOf(parts.map(part => part.end))
  const latestMs = Math.max(0, ...all.map(facts => facts.latestMs))
  const durationMs = Math.round(end?.durationMs ?? latestMs)
  const findings = docket.findings()
  const billing = audits.billing()
  const examples = [...findings, ...billing.discrepancies].flatMap(finding => finding.examples)
  const named = await find(new Set(examples.flatMap(example => example.seqs)), all, recall)
  const ends = parts.flatMap(part => part.end ?? [])
  const eventLoopDelayMs = longestDelay(ends)
  return buildReport({
    plan,
    run: {
      id: head.runId,
      version: head.version,
      target: head.target,
      startedAt: new Date(head.startedAtMs).toISOString(),
      durationMs,
      ended: end?.ended ?? 'cut-short',
    },
    metrics,
    series: seriesOf(plan, all),
    tallies: docket.tallies(),
    findings,
    evidence: new Map(named.map(observation => [observation.seq, evidence(observation, brief)])),
    billing,
    limits: audits.limits(),
    blocks: audits.blocks(),
    capacity: readings.capacity(end?.ended === 'complete'),
    thresholds: thresholdsOf(
      plan,
      readings,
      { complete: end?.ended === 'complete', elapsedMs: durationMs },
      eventLoopDelayMs,
    ),
    eventLoopDelayMs,
    unrecorded: ends.reduce((sum, { unrecorded }) => sum + unrecorded, 0),
    pushed: end?.pushed ?? null,
    workers: parts.map((part, worker) => workerFacts(part, worker, parts.length, plan)),
  })
}

/** What other runs can be compared with. */
export function slicesOf({ plan, contract }: Pick<Brief, 'plan' | 'contract'>, all: readonly Facts[]): Slices {
  const slices = createSlices(plan, contract)
  for (const facts of all) slices.absorb(facts.slices)
  return slices.slices()
}

function seriesOf(plan: Plan, all: readonly Facts[]): Series {
  const series = createSeries(plan)
  for (const facts of all) series.absorb(facts.series)
  return series.series()
}

/** How the run ended: each worker wrote down the same. Null where it was killed, and not a worker of it alone. */
function endOf(ends: readonly (LogEnd | null)[]): LogEnd | null {
  const known = ends.find(end => end !== null) ?? null
  return known?.ended === 'worker-lost' || !ends.includes(null) ? known : null
}

/** The longest of all workers: each is deaf for itself. */
function longestDelay(ends: readonly LogEnd[]): LogEnd['eventLoopDelayMs'] {
  const delays = ends.flatMap(end => end.eventLoopDelayMs ?? [])
  if (delays.length === 0) return null
  return { p99: Math.max(...delays.map(({ p99 }) => p99)), max: Math.max(...delays.map(({ max }) => max)) }
}

function workerFacts({ facts, end }: Part, worker: number, workers: number, plan: Plan): WorkerFacts {
  const lateness = createHistogram()
  for (const { figures } of facts.metrics.cells) {
    const late = figures.histograms.get('lateness')
    if (late !== undefined) lateness.absorb(late)
  }
  return {
    worker: worker + 1,
    callers: plan.callers.names.filter((_, caller) => workerOf(caller, plan, workers) === worker).length,
    isLost: end === null,
    beganMs: end?.beganMs ?? null,
    sent: facts.metrics.cells.reduce((sum, { figures }) => sum + figures.sent, 0),
    latenessMs: percentiles(lateness),
    eventLoopDelayMs: end?.eventLoopDelayMs ?? null,
  }
}

/** The observations that examples name, as far as anybody still has them. */
async function find(
  wanted: ReadonlySet<number>,
  all: readonly Facts[],
  recall: () => AsyncIterable<Observation>,
): Promise<readonly Observation[]> {
  const found = new Map(all.flatMap(({ kept }) => [...kept]).filter(([seq]) => wanted.has(seq)))
  if (found.size < wanted.size) {
    for await (const observation of recall()) {
      if (wanted.has(observation.seq)) found.set(observation.seq, observation)
      if (found.size === wanted.size) break
    }
  }
  return [...found.values()]
}

function evidence(observation: Observation, { plan, contract, head }: Brief): Evidence {
  const office = { contract, bounds: plan.bounds, seed: plan.seed, runId: head.runId }
  return evidenceOf(observation, { ...plan.calls, ...ownCalls }, office, head.target)
}
