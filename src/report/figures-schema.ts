import { z } from 'zod'

export const decimal = z.string().meta({ description: 'A decimal number, so that no float rounds it.' })
/** A number of things. */
export const tally = z.number().int().nonnegative()
export const millis = z.number().nullable()

export const percentiles = z
  .object({
    count: tally,
    mean: millis,
    p50: millis,
    p90: millis,
    p95: millis,
    p99: millis,
    p999: millis,
    max: millis,
  })
  .meta({ id: 'Percentiles', description: 'Milliseconds; null where the sample is too small to bound it.' })
