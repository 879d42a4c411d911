import { z } from 'zod'

/** Of at most 300 digits, so that charts can show it as a number. */
export const decimal = z
  .string()
  .regex(/^-?\d{1,300}(\.\d{1,300})?$/, 'a decimal in quotes, such as "0.25"')
  .meta({ description: 'A decimal number as a string, so that it is exact.' })
/** A count. */
export const tally = z.number().int().nonnegative()
/** null: unknown. */
export const millis = z.number().nullable()
export const percentiles = z
  .object({ count: tally, mean: millis, p50: millis, p90: millis, p95: millis, p99: millis, p999: millis, max: millis })
  .meta({ id: 'Percentiles', description: 'Milliseconds; null: too few samples to bound it.' })

const perSecond = z.number().nullable().meta({ description: 'Per second; null: no value.' })

/** The requests of one call in a trial. */
const trialCall = z.object({
  call: z.string(),
  good: tally,
  bad: tally.meta({ description: 'Neither good nor rejected with 429.' }),
  refused: tally.meta({ description: 'Responses with 429.' }),
  isExceeded: z.boolean().meta({ description: 'More were bad than a sustained rate allows.' }),
  missed: z
    .record(z.string(), tally)
    .meta({ description: 'By SLO: complete 2xx responses that missed it. One may miss several.' }),
  statuses: z.record(z.string(), tally).meta({ description: 'Bad responses by status.' }),
  failures: z.record(z.string(), tally).meta({ description: 'Requests without a complete response, by reason.' }),
  timesMs: z
    .record(z.string(), percentiles)
    .meta({ description: 'Of complete 2xx responses: latency, and each timing with an SLO.' }),
})

/** The result of a search for the capacity of the target. */
export const capacitySchema = z.object({
  stage: z.string(),
  status: z.enum(['found', 'above-range', 'below-range', 'limited-by-tier', 'harness-limited', 'inconclusive']),
  ratePerSecond: perSecond.meta({ description: 'Confirmed arrivals of all callers per second; null: none.' }),
  reason: z.string(),
  fromPerSecond: z.number(),
  toPerSecond: z.number(),
  mix: z.record(z.string(), z.number()).meta({ description: 'The share of each call of the arrivals.' }),
  slo: z
    .record(z.string(), z.record(z.string(), z.number()))
    .default({})
    .meta({ description: 'By call and timing, in milliseconds. A call without an SLO needs complete 2xx responses.' }),
  goodRatio: z.number(),
  precision: z.number(),
  confirmation: z.object({ percent: z.number(), samples: tally, latencyMs: millis }).nullable(),
  trials: z.array(
    z.object({
      purpose: z.enum(['raise', 'narrow', 'confirm']),
      offeredPerSecond: z.number(),
      outcome: z.enum([
        'sustained',
        'slo-missed',
        'queue-growing',
        'unmeasured',
        'rate-limited',
        'harness-late',
        'harness-saturated',
        'blocked',
        'failure-limit',
        'unfinished',
      ]),
      startMs: millis.default(null).meta({ description: 'When the first arrival was due; null: unknown.' }),
      endMs: millis.default(null).meta({ description: 'When the last request ended; null: unknown.' }),
      arrivals: tally,
      planned: tally.meta({ description: 'Arrivals of the whole trial, if it had not ended early.' }),
      achievedPerSecond: perSecond,
      goodputPerSecond: perSecond,
      goodRatio: z.number().nullable(),
      latencyMs: percentiles,
      refused: tally.meta({ description: 'Responses with 429.' }),
      overloaded: tally.meta({ description: 'Responses with 503.' }),
      failed: tally,
      dropped: tally,
      inFlightGrowthPerSecond: perSecond.meta({ description: 'The growth of the requests in flight, per second.' }),
      calls: z.array(trialCall).default([]),
    }),
  ),
})

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
