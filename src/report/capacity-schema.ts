import { z } from 'zod'
import { millis, percentiles, tally } from './figures-schema.ts'

const perSecond = z.number().nullable().meta({ description: 'A second; null where it has no value.' })

/** What a stage found out about the capacity of its target. */
export const capacity = z.object({
  stage: z.string(),
  status: z.enum(['found', 'not-reached', 'below-lowest', 'limited-by-tier', 'harness-limited', 'inconclusive']),
  perSecond: perSecond.meta({ description: 'Arrivals of all callers that were confirmed; null where none were.' }),
  because: z.string(),
  fromPerSecond: z.number(),
  toPerSecond: z.number(),
  shares: z.record(z.string(), z.number()).meta({ description: 'Of each call among the arrivals.' }),
  good: z.number(),
  precision: z.number(),
  confirmation: z.object({ percent: z.number(), samples: tally, latencyMs: millis }).nullable(),
  trials: z.array(
    z.object({
      purpose: z.enum(['raise', 'narrow', 'confirm']),
      offeredPerSecond: z.number(),
      outcome: z.enum([
        'held',
        'too-many-bad',
        'over-saturated',
        'rate-limited',
        'harness-late',
        'harness-full',
        'blocked',
        'failure-limit',
        'unfinished',
      ]),
      arrivals: tally,
      planned: tally.meta({ description: 'Arrivals, had the trial not been ended early.' }),
      achievedPerSecond: perSecond,
      goodputPerSecond: perSecond,
      goodRatio: z.number().nullable(),
      latencyMs: percentiles,
      refused: tally.meta({ description: 'Answers with 429.' }),
      atCapacity: tally.meta({ description: 'Answers with 503.' }),
      failed: tally,
      dropped: tally,
      inFlightPerSecond: perSecond.meta({ description: 'Requests in flight that came to be more each second.' }),
    }),
  ),
})
