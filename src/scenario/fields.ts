import { z } from 'zod'
import type { DeepReadonly } from '../lib/json.ts'
import {
  maxBudgetUsd,
  parseBytes,
  parseDuration,
  parsePercent,
  parseRate,
  parseShareOfTier,
  parseUsd,
  type Rate,
} from './units.ts'

/**
 * The field types of a scenario. Every error message states what was expected and completes the sentence
 * "got …, expected …".
 */
const maxPerSecond = 100_000
const maxShareOfTier = 100
/** Larger weights could overflow when they are multiplied. */
const maxWeight = 1_000_000_000
const maxDurationMs = 7 * 24 * 3_600_000

export const durationText = 'a duration such as 250ms, 5s or 1m30s'
export const rateText = 'a rate such as 20/s, 20/m or 80% of tier'
const sizeText = 'a whole number of arrivals from 1 to 1000000, or a share such as 130% of tier'
const speedText = 'a number from 0.001 to 1000'
export const nameText = 'a name of lower-case letters, digits and hyphens, at most 64'
const namePattern = /^[a-z0-9][a-z0-9-]{0,63}$/

/** A mapping with exactly these keys. */
export const mapping = <S extends z.ZodRawShape>(shape: S) => z.strictObject(shape, { error: 'a mapping' })

export const nameField = z.string({ error: nameText }).regex(namePattern, { error: nameText }).meta({ title: 'name' })

export const textField = (expected: string) =>
  z.string({ error: expected }).refine(value => value.trim() !== '', expected)

/** The value of a header: printable ASCII, so that it cannot add a header of its own. */
export const headerField = (expected: string) =>
  textField(expected).refine(value => /^[\x20-\x7e]+$/.test(value), `${expected}, in printable ASCII characters`)

export const flagField = z.boolean({ error: 'true or false' })

export function integerField(min: number, max: number, expected = `a whole number from ${min} to ${max}`) {
  return z.int({ error: expected }).min(min, { error: expected }).max(max, { error: expected })
}

export function probabilityField() {
  const expected = 'a probability from 0 to 1'
  return z.number({ error: expected }).min(0, { error: expected }).max(1, { error: expected })
}

export const speedField = z
  .number({ error: speedText })
  .min(0.001, { error: speedText })
  .max(1_000, { error: speedText })

/** `{ chat: 3, rpc: 5 }`. Whether the keys exist is checked where they are known. */
export function weightsField(what: string, meta: { readonly description?: string } = {}) {
  const expected = `a mapping of ${what} to weights`
  const error = `a weight above 0 and of at most ${maxWeight}`
  const weight = z.number({ error }).positive({ error }).max(maxWeight, { error })
  return z
    .record(z.string(), weight, { error: expected })
    .refine(entries => Object.keys(entries).length > 0, `${expected}, at least one`)
    .meta({ minProperties: 1, ...meta })
    .transform((entries): Mix => Object.entries(entries))
}

/** Weights of calls or of methods. The probability of each is its weight divided by the sum of all. */
export const mixSchema = z.array(z.tuple([z.string(), z.number().nonnegative()]))
export type Mix = DeepReadonly<z.output<typeof mixSchema>>

export const totalWeight = (mix: Mix): number => mix.reduce((sum, [, weight]) => sum + weight, 0)

/** The mean of an amount over the arrivals of a mix; 0 for an empty mix. */
export function meanOf(mix: Mix, amountOf: (name: string) => number): number {
  const total = totalWeight(mix)
  return mix.reduce((sum, [name, weight]) => sum + (amountOf(name) * weight) / total, 0)
}

/** A mapping that is sent to the target as it is. */
export const jsonObjectField = (what: string) => z.record(z.string(), z.json(), { error: `a mapping of ${what}` })

const duration = quantity(parseDuration, durationText, { title: 'duration', examples: ['250ms', '5s', '1m30s'] })
export const durationField = duration.refine(
  ms => ms > 0 && ms <= maxDurationMs,
  'a duration above 0 and of at most 168h',
)

/** Like `durationField`, but `0s` is allowed. */
export const durationOrZeroField = duration.refine(ms => ms <= maxDurationMs, 'a duration of at most 168h')

/** Both ends of what is drawn, evenly; equal if it is fixed. */
export const rangeSchema = z.object({ from: z.number().nonnegative(), to: z.number().nonnegative() })
export type Range = DeepReadonly<z.output<typeof rangeSchema>>

/** `4`, or `2 to 6`. */
export const rangeField = (min: number, max: number) => {
  const expected = `a whole number from ${min} to ${max}, or a range such as ${min + 1} to ${min + 3}`
  const parse = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : null)
  return drawn(z.union([z.int(), z.string()], { error: expected }), parse, expected, {
    title: 'range',
    examples: [4, '2 to 6'],
  }).refine(({ from, to }) => from >= min && to <= max, expected)
}

const durationRangeText = 'a duration of at most 168h, or a range such as 1s to 4s'

/** `2s`, or `1s to 4s`. `0s` is allowed. */
export const durationRangeField = drawn(z.string({ error: durationRangeText }), parseDuration, durationRangeText, {
  title: 'duration range',
  examples: ['2s', '1s to 4s'],
}).refine(({ to }) => to <= maxDurationMs, durationRangeText)

/** A range as a person writes it. */
export const writtenRange = ({ from, to }: Range, unit = ''): string | number =>
  from !== to ? `${from}${unit} to ${to}${unit}` : unit === '' ? from : `${from}${unit}`

export const rateOrZeroField = quantity(parseRate, rateText, {
  title: 'rate',
  examples: ['80% of tier', '20/s', '20/m'],
}).refine(
  value => (value.kind === 'of-tier' ? value.share <= maxShareOfTier : value.perSecond <= maxPerSecond),
  `a rate of at most ${maxPerSecond}/s, or ${maxShareOfTier * 100}% of tier`,
)
export const rateField = rateOrZeroField.refine(value => amountOf(value) > 0, 'a rate above 0')

/** `99%` becomes 0.99, strictly between two bounds in percent. */
export function shareField(above: number, below: number, example: string) {
  const expected = `a share above ${above}% and below ${below}%, such as ${example}`
  return quantity(parsePercent, expected, { title: 'share', examples: [example] }).refine(
    value => value > above / 100 && value < below / 100,
    expected,
  )
}

export const burstSizeField = z
  .union([z.int().min(1).max(1_000_000), z.string()], { error: sizeText })
  .meta({ title: 'burst size', examples: [20, '130% of tier'] })
  .transform((value, context) => {
    if (typeof value === 'number') {
      if (value <= 1_000_000) return { kind: 'absolute', arrivals: value } as const
    } else {
      const share = parseShareOfTier(value)
      if (share !== null && share > 0 && share <= maxShareOfTier) return { kind: 'of-tier', share } as const
    }
    context.issues.push({ code: 'custom', message: sizeText, input: value })
    return z.NEVER
  })

export const usdField = quantityOrNumber(parseUsd, 'an amount of dollars such as 0.25', {
  title: 'dollars',
  examples: [0.25, '$0.25'],
}).refine(
  amount => amount !== '0' && Number(amount) <= maxBudgetUsd,
  `an amount of dollars above 0 and of at most ${maxBudgetUsd}`,
)

export const bytesField = quantityOrNumber(parseBytes, 'a size such as 65536 or 2MiB', {
  title: 'bytes',
  examples: [65_536, '2MiB'],
}).refine(count => count > 0 && count <= 1_073_741_824, 'a size above 0 and of at most 1024MiB')

const amountOf = (value: Rate): number => (value.kind === 'absolute' ? value.perSecond : value.share)

/** For editors and the reference of the language. The title names the unit. */
type Shown = { readonly title: string; readonly examples: readonly (string | number)[] }

function drawn(
  field: z.ZodType<number | string>,
  parse: (text: string) => number | null,
  expected: string,
  { title, examples }: Shown,
) {
  return field.meta({ title, examples: [...examples] }).transform((value, context): Range => {
    const [from = null, to = from, ...others] = String(value).split(' to ').map(parse)
    if (from !== null && to !== null && from <= to && others.length === 0) return { from, to }
    context.issues.push({ code: 'custom', message: expected, input: value })
    return z.NEVER
  })
}

function quantity<T>(parse: (text: string) => T | null, expected: string, { title, examples }: Shown) {
  return z
    .string({ error: expected })
    .meta({ title, examples: [...examples] })
    .transform((value, context) => {
      const parsed = parse(value)
      if (parsed !== null) return parsed
      context.issues.push({ code: 'custom', message: expected, input: value })
      return z.NEVER
    })
}

function quantityOrNumber<T>(parse: (text: string | number) => T | null, expected: string, { title, examples }: Shown) {
  return z
    .union([z.number(), z.string()], { error: expected })
    .meta({ title, examples: [...examples] })
    .transform((value, context) => {
      const parsed = parse(value)
      if (parsed !== null) return parsed
      context.issues.push({ code: 'custom', message: expected, input: value })
      return z.NEVER
    })
}
