import { z } from 'zod'
import type { Contract } from '../../contract/contract.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { formatPico } from '../../lib/money.ts'
import { latenessMs, type Observation, type Sink } from '../../observation/observation.ts'
import { requestTraits } from '../../observation/requests/request.ts'
import { isReplayed } from '../../observation/response.ts'
import type { Plan, Timing } from '../../plan/plan.ts'
import { chargeOf } from '../audits/ledger/charge.ts'
import { claimedCredits } from '../checks/rpc-credits.ts'
import {
  addCount,
  eachBy,
  getOrAdd,
  keep,
  type MergeRules,
  mapBy,
  mergeFields,
  sum,
  sumBigint,
  sumCounts,
} from '../merge.ts'
import { createLogBuckets } from './log-buckets.ts'
import { meetsSlo } from './slo.ts'
import { createStageClock, type StageClockSnapshot } from './stage-clock.ts'
import { gapsMs, isSuccess, timingMs } from './timings.ts'

/** The timings that comparisons use, and the lateness that may invalidate them. */
const slicedTimings = ['latency', 'service-time', 'ttft', 'tpot', 'icl', 'lateness'] as const satisfies Timing[]
export type SlicedTiming = (typeof slicedTimings)[number]

/** Neighboring buckets are 0.5 % apart. */
export const cellsPerOctave = 128
/** The buckets of the times in a slice, in microseconds: from 1 µs to an hour. */
export const timeBuckets = createLogBuckets(1, cellsPerOctave, Math.ceil(Math.log2(3_600_000_000) * cellsPerOctave) + 1)

/** The counts of the non-empty buckets, ascending: `[[bucket, count], …]`. */
export type BucketCounts = readonly (readonly [bucket: number, count: number])[]

const count = z.number().int().nonnegative()
const decimal = z.string().regex(/^-?\d+(\.\d+)?$/)
const bucketCounts = z
  .array(z.tuple([count, count]))
  .meta({ description: 'Cell i, and how many values of 2^(i ÷ cellsPerOctave) µs up to the next cell; ascending.' })

const sliceSchema = z.object({
  /** The slice starts at `index × stage duration ÷ slicesPerStage`, on the clock of the run. */
  index: z.number().int(),
  /** How much of the stage the slice covers. */
  activeMs: z.number().nonnegative(),
  sent: count,
  answered: count,
  failed: count,
  dropped: count,
  // Of the answered: 2xx, 4xx and 5xx.
  succeeded: count,
  refused: count,
  faulty: count,
  good: count,
  claimedCredits: decimal,
  claimedUsd: decimal,
  times: z.partialRecord(z.enum(slicedTimings), bucketCounts),
})

/**
 * `slices.json`: a run by call, stage and slice of time, for comparisons. It has only counts and sums, so that the data of
 * several workers add up slice by slice and bucket by bucket.
 */
export const slicesSchema = z.object({
  schema: z.literal(1),
  cellsPerOctave: z.literal(cellsPerOctave),
  calls: z.array(z.object({ call: z.string(), stage: z.string(), slices: z.array(sliceSchema) })),
})

export type Slices = DeepReadonly<z.infer<typeof slicesSchema>>
/** The arrivals that were due in a slice of a stage, and their outcomes. */
export type Slice = DeepReadonly<z.infer<typeof sliceSchema>>

/** A slice is much shorter than a stage and longer than a request, so that slices show how steady a stage was. */
export const slicesPerStage = 20
/** Two more, because the first and the last may be partial. An arrival in none of these was not due within its stage. */
const maxSlices = 22

type SliceCounts = Omit<z.infer<typeof sliceSchema>, 'claimedCredits' | 'claimedUsd' | 'times'>
type MutableSlice = SliceCounts & {
  credits: bigint
  picoUsd: bigint
  readonly times: Map<SlicedTiming, Map<number, number>>
}

type SlicesFold = {
  readonly add: Sink
  readonly slices: () => Slices
  readonly snapshot: () => SlicesSnapshot
  readonly merge: (snapshot: SlicesSnapshot) => void
}

/** The state of a fold as plain data, for merging. */
export type SlicesSnapshot = {
  /** By stage, by call, by the index of the slice. */
  readonly found: ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<number, MutableSlice>>>
  readonly clock: StageClockSnapshot
}

/** A fold over observations. Memory is bounded by the calls and stages of the plan, not by the observations. */
export function createSlices(plan: Plan, contract: Contract): SlicesFold {
  const stages = new Map(plan.stages.map(stage => [stage.name, stage]))
  const order = Object.keys(plan.calls)
  // These may take longer than planned. Their last slice then covers the rest.
  const sequences = new Set(plan.stages.filter(({ load }) => load.model === 'sequence').map(({ name }) => name))
  const found = new Map<string, Map<string, Map<number, MutableSlice>>>()
  const clock = createStageClock(plan)

  function sliceOf(stage: string, call: string, index: number): MutableSlice | null {
    const known = found.get(stage)?.get(call)?.get(index)
    if (known !== undefined) return known
    const ofStage = getOrAdd(found, stage, () => new Map<string, Map<number, MutableSlice>>())
    const ofCall = getOrAdd(ofStage, call, () => new Map<number, MutableSlice>())
    if (ofCall.size >= maxSlices && sequences.has(stage)) return ofCall.get(Math.max(...ofCall.keys())) ?? null
    return ofCall.size >= maxSlices ? null : getOrAdd(ofCall, index, () => emptySlice(index))
  }

  return {
    add: o => {
      const stage = stages.get(o.stage)
      if (stage === undefined || plan.calls[o.call] === undefined || !(stage.durationMs > 0)) return
      clock.add(o)
      const index = Math.floor(o.dueMs / (stage.durationMs / slicesPerStage))
      const slice = sliceOf(o.stage, o.call, index)
      if (slice !== null) addTo(slice, o, plan.slo[o.call] ?? noSlo, contract)
    },
    snapshot: () => ({ found, clock: clock.snapshot() }),
    merge: snapshot => {
      clock.merge(snapshot.clock)
      for (const [stage, calls] of snapshot.found)
        for (const [call, slices] of calls)
          for (const [index, slice] of slices) {
            const own = sliceOf(stage, call, index)
            if (own !== null) mergeFields(own, slice, sliceRules)
          }
    },
    slices: () => ({
      schema: 1,
      cellsPerOctave,
      calls: plan.stages.flatMap(({ name: stage, durationMs }) => {
        const sliceMs = durationMs / slicesPerStage
        const { startMs: from, endMs: to } = clock.timeOf(stage)
        const first = Math.floor(from / sliceMs)
        const last = Math.min(first + maxSlices, Math.ceil(to / sliceMs)) - 1
        const overlapMs = (index: number) =>
          (index === last ? to : Math.min(to, (index + 1) * sliceMs)) - Math.max(from, index * sliceMs)
        const ofStage = [...(found.get(stage) ?? [])].toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b))
        return ofStage.map(([call, slices]) => ({
          call,
          stage,
          // A slice without arrivals is part of the stage too.
          slices: Array.from({ length: last - first + 1 }, (_, position) => {
            const index = first + position
            const slice = index === last && sequences.has(stage) ? restFrom(slices, last) : slices.get(index)
            return finished({ ...(slice ?? emptySlice(index)), activeMs: Math.max(0, overlapMs(index)) })
          }),
        }))
      }),
    }),
  }
}

function addTo(slice: MutableSlice, o: Observation, slo: Plan['slo'][string], contract: Contract): void {
  if (o.outcome.kind === 'dropped') {
    const { reason } = o.outcome
    if (reason !== 'no-credentials' && reason !== 'no-response') slice.dropped++
    return
  }
  slice.sent++
  record(slice, 'lateness', latenessMs(o))
  const charge = chargeOf(o, contract)
  if (charge?.kind === 'charged') slice.picoUsd += charge.said
  if (requestTraits(o.request).pricing(o.request) === 'credits' && o.response !== null && !isReplayed(o, contract))
    slice.credits += claimedCredits(o.response, contract) ?? 0n
  if (o.outcome.kind === 'failed') {
    slice.failed++
    return
  }
  if (o.outcome.kind === 'left') return
  slice.answered++
  const { status } = o.outcome
  if (status >= 500) slice.faulty++
  else if (status >= 400) slice.refused++
  if (!isSuccess(o)) return
  slice.succeeded++
  if (meetsSlo(o, slo)) slice.good++
  for (const timing of timingsOfSuccess) record(slice, timing, timingMs(timing, o))
  for (const ms of gapsMs('icl', o) ?? noGaps) record(slice, 'icl', ms)
}

const timingsOfSuccess = ['latency', 'service-time', 'ttft', 'tpot'] as const satisfies SlicedTiming[]
const noGaps: readonly number[] = []
const noSlo = {}

function record({ times }: MutableSlice, timing: SlicedTiming, ms: number | null): void {
  if (ms === null || Number.isNaN(ms)) return
  const buckets = getOrAdd(times, timing, () => new Map<number, number>())
  // Two readings of a clock may differ by less than its resolution, even backwards.
  const bucket = ms > 0 ? timeBuckets.bucketOf(ms * 1000) : 0
  addCount(buckets, bucket)
}

const sliceRules: MergeRules<MutableSlice> = {
  index: keep,
  activeMs: keep,
  ...eachBy(sum, ['sent', 'answered', 'failed', 'dropped', 'succeeded', 'refused', 'faulty', 'good']),
  credits: sumBigint,
  picoUsd: sumBigint,
  times: mapBy(sumCounts, () => new Map<number, number>()),
}

/** All slices from an index on, as one. */
function restFrom(slices: ReadonlyMap<number, MutableSlice>, index: number): MutableSlice {
  const rest = emptySlice(index)
  for (const [each, slice] of slices) if (each >= index) mergeFields(rest, slice, sliceRules)
  return rest
}

const emptySlice = (index: number): MutableSlice => ({
  index,
  activeMs: 0,
  sent: 0,
  answered: 0,
  failed: 0,
  dropped: 0,
  succeeded: 0,
  refused: 0,
  faulty: 0,
  good: 0,
  credits: 0n,
  picoUsd: 0n,
  times: new Map(),
})

function finished({ credits, picoUsd, times, ...counts }: MutableSlice): Slice {
  const ascending = (buckets: ReadonlyMap<number, number>) => [...buckets].toSorted(([a], [b]) => a - b)
  return {
    ...counts,
    claimedCredits: String(credits),
    claimedUsd: formatPico(picoUsd),
    times: Object.fromEntries([...times].map(([timing, buckets]) => [timing, ascending(buckets)])),
  }
}
