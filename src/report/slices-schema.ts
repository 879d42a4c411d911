import { z } from 'zod'
import { cellsPerOctave, type Slices } from '../metrics/slices.ts'
import { tally } from './document.ts'

const decimal = z.string().regex(/^-?\d+(\.\d+)?$/)
const cells = z
  .array(z.tuple([tally, tally]))
  .meta({ description: 'Cell i, and how many values of 2^(i ÷ cellsPerOctave) µs up to the next cell; ascending.' })

const slice = z.object({
  index: z.number().int(),
  activeMs: z.number().nonnegative(),
  sent: tally,
  answered: tally,
  failed: tally,
  dropped: tally,
  succeeded: tally,
  refused: tally,
  faulty: tally,
  good: tally,
  claimedCredits: decimal,
  claimedUsd: decimal,
  times: z.partialRecord(z.enum(['latency', 'service-time', 'ttft', 'tpot', 'icl', 'lateness']), cells),
})

/** The form of `slices.json`: what several have recorded of one run adds up slice by slice and cell by cell. */
export const slicesSchema: z.ZodType<Slices> = z.object({
  schema: z.literal(1),
  cellsPerOctave: z.literal(cellsPerOctave),
  calls: z.array(z.object({ call: z.string(), stage: z.string(), slices: z.array(slice) })),
})
