import { z } from 'zod'
import { percentiles, tally } from './numbers.ts'

/** How long its own work delayed the events of a process, in milliseconds. */
export const eventLoopDelay = z.object({ p99: z.number(), max: z.number() })

/** One worker of a run. */
export const workerSchema = z.object({
  worker: z.number().meta({ description: 'From 1.' }),
  callers: tally,
  /** The worker crashed. */
  lost: z.boolean(),
  /** When its first stage started, in milliseconds on the clock of the run; null: unknown, or it never started. */
  startedMs: z.number().nullable(),
  sent: tally,
  latenessMs: percentiles,
  eventLoopDelayMs: eventLoopDelay.nullable(),
  /** Another machine, and how its clock differed from that of the run; null: this machine, or it was lost. */
  machine: z
    .object({ name: z.string(), clockAheadMs: z.number(), clockDriftMs: z.number(), clockErrorMs: z.number() })
    .nullable()
    .default(null),
  /** The process of a worker on another machine, over its whole shard; null: this machine, or it never said. */
  health: z
    .object({
      ...{ name: z.string(), version: z.string(), node: z.string() },
      ...{ cores: z.number(), memoryBytes: z.number(), rssBytes: z.number() },
      usedCores: z.number().meta({ description: 'Cores in use: 1.5 is one core and a half.' }),
    })
    .nullable()
    .default(null),
  /** Where another machine recorded its observations; null: in the run directory, or nowhere. */
  records: z
    .object({
      worker: z.string(),
      file: z.string(),
      missing: z.string().nullable().meta({ description: 'Why the run directory lacks them; null: it has them.' }),
    })
    .nullable()
    .default(null),
})
