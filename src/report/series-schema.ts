import { z } from 'zod'
import { decimal, millis, tally } from './figures-schema.ts'

const times = z
  .object({ stepMs: z.number(), p50: z.array(millis), p95: z.array(millis), max: z.array(millis) })
  .meta({ id: 'TimesSeries', description: 'Milliseconds, one value for each stepMs; up to 12 % coarse.' })

/** The member `series` of `report.json`. */
export const series = z
  .object({
    stepMs: z.number(),
    stages: z.array(z.object({ name: z.string(), startMs: z.number(), endMs: z.number() })),
    due: z.array(tally),
    dropped: z.array(tally),
    sent: z.array(tally),
    answered: z.array(tally),
    failed: z.array(tally),
    refused: z.array(tally).meta({ description: 'Answers with 429.' }),
    latenessMs: z.array(z.number()),
    calls: z.array(
      z.object({
        call: z.string(),
        count: tally,
        latencyMs: times,
        ttftMs: times.nullable(),
        iclMs: times.nullable(),
        latencies: z.object({ fromMs: z.number(), perOctave: z.number(), counts: z.array(tally) }),
      }),
    ),
    heat: z.object({
      stepMs: z.number(),
      fromMs: z.number(),
      perOctave: z.number(),
      counts: z.array(z.array(tally)),
    }),
    spend: z.object({
      expectedCredits: z.array(decimal),
      claimedCredits: z.array(decimal),
      expectedUsd: z.array(decimal),
      claimedUsd: z.array(decimal),
      billedUsd: z.array(decimal.nullable()),
    }),
    limits: z.array(
      z.object({
        caller: z.string(),
        scope: z.string(),
        limit: z.number().nullable(),
        used: z.array(z.number().nullable()),
        refusedMs: z.array(z.number()),
        refusedSeqs: z.array(tally),
      }),
    ),
  })
  .meta({ description: 'The run over time: column i of a list begins i × stepMs after the start.' })
