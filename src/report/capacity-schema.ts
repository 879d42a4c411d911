import { z } from 'zod'
import { millis, percentiles, tally } from './numbers.ts'

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
