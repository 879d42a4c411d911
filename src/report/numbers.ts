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
