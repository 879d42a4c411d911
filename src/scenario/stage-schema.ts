import { z } from 'zod'
import { salvage } from '../lib/schema-mistakes.ts'
import { oneOf } from '../lib/usage-error.ts'
import {
  burstSizeField,
  durationField,
  durationOrZeroField,
  flagField,
  integerField,
  mapping,
  nameField,
  rateField,
  rateOrZeroField,
  shareField,
  speedField,
  textField,
  weightsField,
} from './fields.ts'

const maxSequenceLength = 10_000

const every = {
  name: nameField.describe('What reports call the stage.'),
  duration: durationField.describe('How long the stage lasts.'),
}
const callers = integerField(1, 10_000)
  .optional()
  .describe('So many callers take part; left out: all from the first one on.')
const firstCaller = integerField(0, 9_999).default(0).describe('The first caller who takes part, counted from 0.')
const taking = {
  callers,
  'first-caller': firstCaller,
  'exceed-failure-limit': flagField
    .default(false)
    .describe('Allows more failures than the service tolerates, to see its callers blocked.'),
}
const mix = weightsField('call names', {
  description: 'Weight of each call: its share of the arrivals is its weight in the sum.',
})
const paced = {
  ...every,
  ...taking,
  mix,
  'exceed-tier': flagField
    .default(false)
    .describe("Allows a rate above the callers' own limits, to see them enforced."),
}

const spacings = ['even', 'poisson'] as const

export const stageSchemas = {
  constant: mapping({
    ...paced,
    shape: z.literal('constant'),
    rate: rateField.describe('Arrivals of all callers together: 20/s, 20/m, or a share of what the tier allows.'),
  }).describe('Evenly spaced arrivals.'),
  poisson: mapping({
    ...paced,
    shape: z.literal('poisson'),
    rate: rateField.describe('Mean arrivals of all callers together: 20/s, 20/m, or a share of what the tier allows.'),
  }).describe('Arrivals at random moments, as of callers who do not know of each other.'),
  ramp: mapping({
    ...paced,
    shape: z.literal('ramp'),
    from: rateOrZeroField.default({ kind: 'absolute', perSecond: 0 }).describe('The first rate; left out: 0.'),
    to: rateField.describe('The last rate.'),
  }).describe('A rate that rises or falls evenly.'),
  stairs: mapping({
    ...paced,
    shape: z.literal('stairs'),
    from: rateOrZeroField.describe('The rate of the first level.'),
    to: rateField.describe('The rate of the last level.'),
    steps: integerField(2, 100).describe('How many levels there are, each as long as the others.'),
    ramp: durationOrZeroField
      .optional()
      .describe('How long the rate takes from one level to the next; left out: it jumps.'),
  }).describe('Levels of a constant rate, each higher, or lower, than the one before by the same amount.'),
  spike: mapping({
    ...paced,
    shape: z.literal('spike'),
    base: rateOrZeroField.describe('The rate before and after the peak.'),
    peak: rateField.describe('The rate of the peak.'),
    at: durationOrZeroField.describe('When the peak is reached, from the start of the stage.'),
    for: durationField.describe('How long the peak lasts, without its ramps.'),
    'ramp-up': durationOrZeroField
      .optional()
      .describe('How long before the peak the rate begins to change; left out: it jumps.'),
    'ramp-down': durationOrZeroField
      .optional()
      .describe('How long the rate takes back to the base; left out: it jumps.'),
  }).describe('A base rate with one peak.'),
  burst: mapping({
    ...paced,
    shape: z.literal('burst'),
    size: burstSizeField.describe(
      "Arrivals at once: a number for all callers together, or a share of one window's allowance.",
    ),
    every: durationField.optional().describe('Left out: one burst, at the start of the stage.'),
  }).describe('Many arrivals at once.'),
  recorded: mapping({
    name: every.name,
    'exceed-failure-limit': taking['exceed-failure-limit'],
    shape: z.literal('recorded'),
    run: textField('the directory of a run').describe('The directory of a run, from the working directory.'),
    stage: textField('the name of a stage of that run')
      .optional()
      .describe('Only this stage of it; left out: all of them.'),
    speed: speedField.default(1).describe('How many times as fast as it was.'),
  }).describe('What another run sent, when it was due there: the same calls by the same callers.'),
  pause: mapping({ ...every, shape: z.literal('pause') }).describe('No arrivals.'),
  capacity: mapping({
    ...paced,
    duration: durationField.describe('The longest that the search may take.'),
    shape: z.literal('capacity'),
    from: rateField.describe('The rate to begin with, of all callers together.'),
    to: rateField.describe('The highest rate to be tried, of all callers together.'),
    'good-ratio': shareField(50, 100, '99%').describe('The share of the answers to each call that must be good.'),
    precision: shareField(0, 50, '3%')
      .default(0.03)
      .describe('How far the lowest rate that breaks may lie above the highest that holds; left out: 3%.'),
    trial: durationField.default(3_000).describe('How long a rate is tried; left out: 3s.'),
    confirm: durationField
      .default(10_000)
      .describe('How long the rate that was found has to hold, at least; left out: 10s.'),
    'cool-down': durationOrZeroField
      .default(1_000)
      .describe('How long nothing is sent before a rate that is not higher than the last; left out: 1s.'),
    spacing: z
      .enum(spacings, { error: oneOf(spacings) })
      .default('even')
      .describe('Whether arrivals are evenly spaced, or at random moments.'),
  }).describe('Searches for the highest rate at which answers stay good.'),
  closed: mapping({
    ...every,
    ...taking,
    mix,
    shape: z.literal('closed'),
    users: integerField(1, 100_000).describe('How many call, wait for the answer, think, and call again.'),
    think: durationOrZeroField.optional().describe('Pause between an answer and the next call; left out: none.'),
  }).describe('A fixed number of users who wait for their answers. A slow service is called less often.'),
  saturate: mapping({
    ...every,
    ...taking,
    mix,
    shape: z.literal('saturate'),
    connections: integerField(1, 1_024).describe('How many connections are kept busy.'),
    'max-calls': integerField(1, 100_000_000).describe(
      'The stage ends after so many calls: what it may cost is known before.',
    ),
  }).describe(
    'Connections that send their next call as soon as they have an answer, as fast as the target can. For an http: target only.',
  ),
  sequence: mapping({
    ...every,
    ...taking,
    shape: z.literal('sequence'),
    calls: z
      .array(textField('the name of a call'), { error: 'a list of call names' })
      .min(1, { error: 'a list of call names, at least one' })
      .max(1_000, { error: 'a list of call names, at most 1000' })
      .refine(
        calls => expandSequence(calls).length <= maxSequenceLength,
        `a list of call names, at most ${maxSequenceLength} with repetitions`,
      )
      .describe('Names of calls or of probes, in their order; "20 x name" stands for so many of it in a row.'),
  }).describe('Each caller sends the calls once, in order, one at a time.'),
} as const

type StageShape = keyof typeof stageSchemas
const stageShapes = Object.keys(stageSchemas) as readonly StageShape[]

export const stageSchema = z.discriminatedUnion(
  'shape',
  [
    stageSchemas.constant,
    stageSchemas.poisson,
    stageSchemas.ramp,
    stageSchemas.stairs,
    stageSchemas.spike,
    stageSchemas.burst,
    stageSchemas.recorded,
    stageSchemas.pause,
    stageSchemas.capacity,
    stageSchemas.closed,
    stageSchemas.saturate,
    stageSchemas.sequence,
  ],
  { error: issue => (issue.code === 'invalid_union' ? oneOf(stageShapes) : 'a mapping with the key "shape"') },
)

const repeated = /^([1-9]\d{0,3}) ?[x×] (\S.*)$/

/** One entry of a sequence: the name of a call or a probe, or `20 x name` for 20 of it in a row. */
export function parseSequenceEntry(entry: string): { readonly name: string; readonly times: number } {
  const match = repeated.exec(entry)
  return match === null ? { name: entry, times: 1 } : { name: match[2] ?? '', times: Number(match[1]) }
}

export const expandSequence = (entries: readonly string[]): readonly string[] =>
  entries.flatMap(entry => {
    const { name, times } = parseSequenceEntry(entry)
    return Array<string>(times).fill(name)
  })

/** The names in a list that is not validated yet. */
export const namesInSequence = (entries: unknown): readonly string[] =>
  (Array.isArray(entries) ? entries : []).flatMap((entry: unknown) =>
    typeof entry === 'string' ? [parseSequenceEntry(entry).name] : [],
  )

/** A mistake in one of these fields does not affect what else is read of a stage. */
const commonKeys: readonly string[] = [
  'name',
  'duration',
  'callers',
  'first-caller',
  'exceed-failure-limit',
  'exceed-tier',
]
type CommonKey = 'name' | 'duration' | 'callers' | 'first-caller' | 'exceed-failure-limit' | 'exceed-tier'

/** Reads the load of a stage; null if a field has a mistake. An optional field with a mistake counts as absent. */
const loadReader =
  <S extends z.ZodRawShape, Load>(
    schema: z.ZodObject<S>,
    make: (fields: Omit<z.output<z.ZodObject<S>>, CommonKey>) => Load,
  ) =>
  (written: unknown): Load | null => {
    const fields = salvage(schema, written)
    const isComplete = Object.entries(schema.shape).every(
      ([key, field]) => key in fields || field instanceof z.ZodOptional || commonKeys.includes(key),
    )
    return isComplete ? make(fields as z.output<z.ZodObject<S>>) : null
  }

/** By shape, the load of a stage with the names and units of the code. */
export const loadReaders = {
  constant: loadReader(stageSchemas.constant, ({ shape, rate, mix }) => ({ shape, rate, mix })),
  poisson: loadReader(stageSchemas.poisson, ({ shape, rate, mix }) => ({ shape, rate, mix })),
  ramp: loadReader(stageSchemas.ramp, ({ shape, from, to, mix }) => ({ shape, from, to, mix })),
  stairs: loadReader(stageSchemas.stairs, ({ shape, from, to, steps, ramp: rampMs = 0, mix }) => ({
    shape,
    from,
    to,
    steps,
    rampMs,
    mix,
  })),
  spike: loadReader(stageSchemas.spike, ({ shape, base, peak, at: atMs, for: forMs, mix, ...ramps }) => {
    const { 'ramp-up': rampUpMs = 0, 'ramp-down': rampDownMs = 0 } = ramps
    return { shape, base, peak, atMs, forMs, rampUpMs, rampDownMs, mix }
  }),
  burst: loadReader(stageSchemas.burst, ({ shape, size, every: everyMs = null, mix }) => ({
    shape,
    size,
    everyMs,
    mix,
  })),
  recorded: loadReader(stageSchemas.recorded, ({ shape, run, stage = null, speed }) => ({ shape, run, stage, speed })),
  pause: loadReader(stageSchemas.pause, ({ shape }) => ({ shape })),
  capacity: loadReader(
    stageSchemas.capacity,
    ({ shape, from, to, 'good-ratio': goodRatio, precision, spacing, mix, ...times }) => {
      const { trial: trialMs, confirm: confirmMs, 'cool-down': coolDownMs } = times
      return { shape, from, to, goodRatio, precision, trialMs, confirmMs, coolDownMs, spacing, mix }
    },
  ),
  closed: loadReader(stageSchemas.closed, ({ shape, users, think: thinkMs = 0, mix }) => ({
    shape,
    users,
    thinkMs,
    mix,
  })),
  saturate: loadReader(stageSchemas.saturate, ({ shape, connections, 'max-calls': maxCalls, mix }) => {
    return { shape, connections, maxCalls, mix }
  }),
  sequence: loadReader(stageSchemas.sequence, ({ shape, calls }) => ({ shape, calls: expandSequence(calls) })),
} as const

type LoadOf<Shape extends StageShape> = Readonly<NonNullable<ReturnType<(typeof loadReaders)[Shape]>>>

/** The arrivals of another run. They last as long as they did in that run. */
export type Recorded = LoadOf<'recorded'>
export type LoadShape = Exclude<StageShape, 'recorded'>
type StageLoad = { [Shape in LoadShape]: LoadOf<Shape> }[LoadShape]

/** A stage, checked against callers, calls and contract. */
export type Stage = {
  readonly name: string
  /** The stage uses `callers` callers from `firstCaller` on, an index. */
  readonly callers: number
  readonly firstCaller: number
  /** Whether its callers may exceed the failure limit of the abuse block. */
  readonly beyondFailures: boolean
} & (({ readonly durationMs: number } & StageLoad) | Recorded)
