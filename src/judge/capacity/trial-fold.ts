import type { Contract } from '../../contract/contract.ts'
import { isFirstRequest, isLocalFault, latenessMs, type Observation, type Sink } from '../../observation/observation.ts'
import { isAbuseBlock } from '../../observation/response.ts'
import type { Plan } from '../../plan/plan.ts'
import { addCount, eachBy, fieldsBy, type MergeRules, mergeAll, recordBy, sum } from '../merge.ts'
import { lateForLoadMs } from '../metrics/instrument-error.ts'
import {
  createRequestStats,
  type MutableStats,
  OTHER_NAME,
  type RequestStatsSnapshot,
} from '../metrics/request-stats.ts'
import { missedTimings, type Slo } from '../metrics/slo.ts'
import { isSuccess } from '../metrics/timings.ts'
import {
  addToTally,
  copyTally,
  emptyTally,
  type MutableTally,
  type PartialTally,
  tallyOf,
  tallyRules,
} from './call-tally.ts'
import type { TrialSnapshot } from './judge-trial.ts'
import { queueRangeOf } from './queue-growth.ts'
import { createRequestSample, mergeSamples, type RequestSample, requestsIn } from './request-sample.ts'

/** All that the outcome of a trial depends on, of the requests of one worker or of several. Plain data. */
export type TrialPart = {
  readonly counts: TrialCounts
  /** In the order of the mix. */
  readonly calls: Readonly<Record<string, PartialTally>>
  /** The largest lateness. */
  readonly latestMs: number
  readonly sample: RequestSample
  /** The longest latency. */
  readonly maxMs: number
  /** Infinite if nothing was due, or if nothing has ended. */
  readonly firstDueMs: number
  readonly lastDueMs: number
  readonly lastEndMs: number
  /** When the last request of each worker ended; the earliest counts. */
  readonly endsKnownMs: number
}

/** The requests of one worker in a trial: the part of its outcome, and the figures of its result. Plain data. */
export type TrialFoldSnapshot = { readonly part: TrialPart; readonly calls: readonly CallFigures[] }

type CallFigures = {
  readonly call: string
  readonly stats: RequestStatsSnapshot
  /** Complete 2xx responses that missed an SLO, by timing. */
  readonly missed: Readonly<Record<string, number>>
}

type TrialCounts = Omit<TrialSnapshot, 'calls' | 'queue'>

/** Sums over the requests of one worker in a trial. */
export type TrialFold = {
  readonly add: Sink
  readonly part: () => TrialPart
  readonly snapshot: () => TrialFoldSnapshot
}

/** Sums over one call of a trial. */
type CallFold = {
  readonly cell: MutableStats
  readonly tally: MutableTally
  readonly missed: Map<string, number>
}

/** `slo`: of each call of the mix. Other calls, which only an edited log has, count together. */
export function createTrialFold(slo: Plan['slo'], contract: Contract): TrialFold {
  const folds = new Map(Object.entries(slo).map(([call, bounds]) => [call, createCallFold(bounds)]))
  const counts = noCounts()
  const sample = createRequestSample()
  let [maxMs, latestMs] = [0, 0]
  let [firstDueMs, lastDueMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let lastEndMs = Number.NEGATIVE_INFINITY
  /** Live views read all trials repeatedly, and few have changed. */
  let known: TrialFoldSnapshot | null = null

  const foldOf = (call: string): CallFold => {
    const name = slo[call] === undefined ? OTHER_NAME : call
    const fold = folds.get(name) ?? createCallFold({})
    folds.set(name, fold)
    return fold
  }
  const time = ({ dueMs, sentMs, endMs, stalls }: Observation) => {
    if (sentMs === null || endMs === null) return
    maxMs = Math.max(maxMs, endMs - dueMs)
    sample.add({ dueMs, sentMs, endMs, stallMs: stalls?.longestMs ?? 0 })
  }
  const tally = (o: Observation, { tally, missed }: CallFold) => {
    if (o.response !== null && isAbuseBlock(o.response, contract)) {
      counts.blocked++
      return
    }
    const bounds = slo[o.call] ?? {}
    addToTally(tally, o, bounds)
    if (!isSuccess(o)) return
    for (const timing of missedTimings(o, bounds)) addCount(missed, timing)
  }

  const part = (): TrialPart => ({
    counts: { ...counts },
    calls: Object.fromEntries([...folds].map(([call, { tally }]) => [call, copyTally(tally)])),
    sample: sample.snapshot(),
    maxMs,
    latestMs,
    firstDueMs,
    lastDueMs,
    lastEndMs,
    // A worker without arrivals has no requests whose ends are unknown.
    endsKnownMs: Number.isFinite(firstDueMs) ? lastEndMs : Number.POSITIVE_INFINITY,
  })

  return {
    add: o => {
      known = null
      const { outcome, dueMs, endMs } = o
      const fold = foldOf(o.call)
      fold.cell.add(o)
      if (isFirstRequest(o)) counts.arrivals++
      firstDueMs = Math.min(firstDueMs, dueMs)
      lastDueMs = Math.max(lastDueMs, dueMs)
      if (outcome.kind === 'dropped') {
        if (outcome.reason === 'max-in-flight' || isLocalFault(outcome.reason)) counts.crowdedOut++
        else if (outcome.reason === 'failure-limit') counts.heldBack++
        else counts.cutOff++
        return
      }
      if (endMs !== null) lastEndMs = Math.max(lastEndMs, endMs)
      const lateMs = latenessMs(o) ?? 0
      latestMs = Math.max(latestMs, lateMs)
      if (lateMs > lateForLoadMs) counts.late++
      if (outcome.kind === 'failed' && outcome.reason === 'cancelled') counts.cutOff++
      else tally(o, fold)
      // An immediate rejection was in no queue.
      if (outcome.kind === 'failed' || isSuccess(o)) time(o)
    },
    part,
    snapshot: () => {
      known ??= {
        part: part(),
        calls: [...folds].map(([call, { cell, missed }]) => ({
          call,
          stats: cell.snapshot(),
          missed: Object.fromEntries(missed),
        })),
      }
      return known
    },
  }
}

/** A histogram takes 90 kB, so only the times that the report shows get one. */
const createCallFold = (slo: Slo): CallFold => ({
  cell: createRequestStats(slo, timing => timing === 'latency' || slo[timing] !== undefined),
  tally: emptyTally(),
  missed: new Map(),
})

const noCounts = () => ({ arrivals: 0, late: 0, blocked: 0, heldBack: 0, crowdedOut: 0, cutOff: 0 })

/** The part of a worker that has not sent yet. */
export const emptyPart = (): TrialPart => ({
  counts: noCounts(),
  calls: {},
  sample: { stride: 1, instants: new Float64Array() },
  maxMs: 0,
  latestMs: 0,
  firstDueMs: Number.POSITIVE_INFINITY,
  lastDueMs: Number.NEGATIVE_INFINITY,
  lastEndMs: Number.NEGATIVE_INFINITY,
  endsKnownMs: Number.POSITIVE_INFINITY,
})

/** The part of several workers together. Workers share no request. */
export const mergeParts = (parts: readonly TrialPart[]): TrialPart => ({
  ...mergeAll(parts, emptyPart, partRules),
  sample: mergeSamples(parts.map(({ sample }) => sample)),
})

const partRules: MergeRules<Omit<TrialPart, 'sample'>> = {
  counts: fieldsBy(eachBy(sum, ['arrivals', 'late', 'blocked', 'heldBack', 'crowdedOut', 'cutOff'])),
  calls: recordBy(fieldsBy(tallyRules), emptyTally),
  maxMs: Math.max,
  latestMs: Math.max,
  firstDueMs: Math.min,
  lastDueMs: Math.max,
  lastEndMs: Math.max,
  endsKnownMs: Math.min,
}

/** The input of the judge of a trial. During a trial, only the complete part of its queue is evaluated. */
export function snapshotOf(part: TrialPart, state: 'open' | 'ended'): TrialSnapshot {
  const { counts, sample, maxMs, latestMs, lastDueMs, endsKnownMs } = part
  const untilMs = state === 'open' ? endsKnownMs - maxMs : lastDueMs
  const calls = Object.fromEntries(Object.entries(part.calls).map(([call, each]) => [call, tallyOf(each, latestMs)]))
  return { ...counts, calls, queue: queueRangeOf(requestsIn(sample), sample.stride, untilMs) }
}
