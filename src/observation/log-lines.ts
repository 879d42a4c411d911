import { z } from 'zod'
import type { DeepReadonly } from '../lib/json.ts'
import { whole } from '../lib/schemas.ts'
import { instant } from './observation.ts'

const text = z.string()
const millis = instant.nullable()

/** The formats that can be read: in format 2, each line of an observation is whole. New logs have the last one. */
export const logFormats = [2, 3] as const
export const logFormat = 3

/** What the judging half must know about a run, besides the plan. */
const infoFields = {
  /** The version of the log format. */
  turnpike: z.literal(logFormats),
  runId: text,
  version: text,
  /** Base address that was used. */
  target: text,
  /** Unix milliseconds at which the clock of the observations is 0. */
  startedAtMs: z.number().min(0).max(8e15),
  /** Present if the keys are invented, because none were given. A reference service accepts them. */
  inventedKeys: z.literal(true).optional(),
  /** Present if callers without a wallet had no keys, since the target needs none. */
  withoutKeys: z.literal(true).optional(),
  /** Present if the target itself gave no usable response before the run, and this similar address did. */
  suggestedTarget: text.optional(),
  /** Present if requests carried a trace id, as `traceIdsOf` derives it. */
  traces: z.literal(true).optional(),
}
const infoSchema = z.object(infoFields)
export type RunInfo = DeepReadonly<z.output<typeof infoSchema>>

/** The first line of a log: also the index of the worker that wrote it, and the number of workers. */
export const headerSchema = z
  .object({ ...infoFields, worker: whole, workers: whole.positive().max(1_024) })
  .refine(({ worker, workers }) => worker < workers, { path: ['worker'], error: 'a worker of the run' })
export type LogHeader = DeepReadonly<z.output<typeof headerSchema>>

/** How a run can end. */
export const endings = [
  'complete',
  'interrupted',
  'target-unreachable',
  'wrong-target',
  'unauthorized',
  'budget-reached',
  'violation-found',
  'decided',
  'worker-lost',
] as const

/** Event-loop delay of a worker in milliseconds: how long its own work delayed its events. */
const eventLoopDelaySchema = z.object({ p99: instant, max: instant })
export type EventLoopDelay = DeepReadonly<z.output<typeof eventLoopDelaySchema>>

/** Metric samples that were pushed or lost, and failed push requests. */
const pushCountsSchema = z.object({ takenSamples: whole, lostSamples: whole, failures: whole })
export type PushCounts = DeepReadonly<z.output<typeof pushCountsSchema>>

/** The counts of several receivers; null: nothing is pushed. */
export function sumPushes(counts: readonly PushCounts[]): PushCounts | null {
  const sum = (of: (each: PushCounts) => number) => counts.reduce((total, each) => total + of(each), 0)
  if (counts.length === 0) return null
  return {
    takenSamples: sum(each => each.takenSamples),
    lostSamples: sum(each => each.lostSamples),
    failures: sum(each => each.failures),
  }
}

/** The last line of a log. A killed run has none. */
export const footerSchema = z.object({
  ended: z.enum(endings),
  durationMs: instant.nonnegative(),
  /** When the first stage was due to begin; due times count from it. null if no stage began. */
  loadStartMs: millis,
  /** When the worker began the first stage, on the clock of the run; null if it did not begin. */
  startedMs: millis,
  eventLoopDelayMs: eventLoopDelaySchema.nullable(),
  /** Present if each observation states the stalls that it met. */
  statesStalls: z.literal(true).optional(),
  /** Observations that were judged but are not in the log, because the disk was too slow. */
  notRecorded: whole,
  /** null: metrics were not pushed. */
  pushed: pushCountsSchema.nullable(),
})
export type LogFooter = DeepReadonly<z.output<typeof footerSchema>>

/** A line in place of skipped observations. */
export const gapSchema = z.object({ skipped: whole })

/** A line about a shape of rows: either its first observation, or the positions of the values that vary. */
export const shapeSchema = z.object({
  shape: whole,
  first: z.record(text, z.unknown()).optional(),
  varies: z.array(whole).optional(),
})
