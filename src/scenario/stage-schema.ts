import { z } from 'zod'
import { parseFields } from '../lib/schemas.ts'
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
  name: nameField.describe('Name of the stage in reports.'),
  duration: durationField.describe('Duration of the stage.'),
}
const callers = integerField(1, 10_000)
  .optional()
  .describe('Number of callers in the stage. Default: all from the first one on.')
const firstCaller = integerField(0, 9_999).default(0).describe('First caller of the stage, counted from 0.')
const taking = {
  callers,
  'first-caller': firstCaller,
  'exceed-failure-limit': flagField
    .default(false)
    .describe('Allows more failures than the service tolerates, to test that it blocks callers.'),
}
const mix = weightsField('call names', {
  description: 'Weight of each call. Its share of the arrivals is its weight divided by the sum.',
})
const paced = {
  ...every,
  ...taking,
  mix,
  'exceed-tier': flagField
    .default(false)
    .describe('Allows a rate above the limits of the callers, to test that the service enforces them.'),
}

const spacings = ['even', 'poisson'] as const

const shape = <Shape extends string>(name: Shape) => z.literal(name).describe('The shape of the load.')

export const stageSchemas = {
  constant: mapping({
    ...paced,
    shape: shape('constant'),
    rate: rateField.describe('Arrivals of all callers together: 20/s, 20/m, or a share of the tier.'),
  }).describe('Evenly spaced arrivals.'),
  poisson: mapping({
    ...paced,
    shape: shape('poisson'),
    rate: rateField.describe('Mean arrivals of all callers together: 20/s, 20/m, or a share of the tier.'),
  }).describe('Random arrivals, like those of independent users.'),
  ramp: mapping({
    ...paced,
    shape: shape('ramp'),
    from: rateOrZeroField.prefault('0/s').describe('First rate.'),
    to: rateField.describe('Last rate.'),
  }).describe('A rate that rises or falls linearly.'),
  stairs: mapping({
    ...paced,
    shape: shape('stairs'),
    from: rateOrZeroField.describe('Rate of the first level.'),
    to: rateField.describe('Rate of the last level.'),
    steps: integerField(2, 100).describe('Number of levels of equal duration.'),
    ramp: durationOrZeroField.optional().describe('Duration of the ramp between levels. Default: none.'),
  }).describe('Levels of constant rate in equal steps, rising or falling.'),
  spike: mapping({
    ...paced,
    shape: shape('spike'),
    base: rateOrZeroField.describe('Rate before and after the peak.'),
    peak: rateField.describe('Rate of the peak.'),
    at: durationOrZeroField.describe('Start of the peak, from the start of the stage.'),
    for: durationField.describe('Duration of the peak, without its ramps.'),
    'ramp-up': durationOrZeroField.optional().describe('Duration of the ramp before the peak. Default: none.'),
    'ramp-down': durationOrZeroField.optional().describe('Duration of the ramp after the peak. Default: none.'),
  }).describe('A base rate with one peak.'),
  burst: mapping({
    ...paced,
    shape: shape('burst'),
    size: burstSizeField.describe(
      'Simultaneous arrivals: a number for all callers together, or a share of the limit per window.',
    ),
    every: durationField.optional().describe('Interval between bursts. Default: one burst, at the start of the stage.'),
  }).describe('Simultaneous arrivals.'),
  recorded: mapping({
    name: every.name,
    'exceed-failure-limit': taking['exceed-failure-limit'],
    shape: shape('recorded'),
    run: textField('the directory of a run')
      .optional()
      .describe('Path of a run directory. Give this or "trace". Default: none.'),
    trace: textField('the path of a trace')
      .optional()
      .describe(
        'Path of a trace that `turnpike import` wrote, relative to this file. Give this or "run". Default: none.',
      ),
    'block-tokens': integerField(1, 100_000)
      .default(512)
      .describe('Tokens of the blocks that "hash_ids" of the trace name.'),
    stage: textField('the name of a stage of that run')
      .optional()
      .describe('Only this stage of the run. Default: all stages.'),
    speed: speedField.default(1).describe('Speed factor.'),
  }).describe(
    'Repeats the arrivals of another run, the same calls by the same callers; or those of a trace, with the lengths and the shared prefixes of its prompts.',
  ),
  pause: mapping({ ...every, shape: shape('pause') }).describe('No arrivals.'),
  capacity: mapping({
    ...paced,
    duration: durationField.describe('Maximum duration of the search.'),
    shape: shape('capacity'),
    from: rateField.describe('First rate, of all callers together.'),
    to: rateField.describe('Highest rate to try, of all callers together.'),
    'good-ratio': shareField(50, 100, '99%').describe('Share of the responses to each call that must be good.'),
    precision: shareField(0, 50, '3%')
      .prefault('3%')
      .describe('Maximum distance between the highest sustained and the lowest exceeded rate.'),
    trial: durationField.prefault('3s').describe('Duration of a trial.'),
    confirm: durationField.prefault('10s').describe('Minimum duration of the confirmation.'),
    'cool-down': durationOrZeroField
      .prefault('1s')
      .describe('Pause before a trial whose rate is not higher than the last one.'),
    spacing: z
      .enum(spacings, { error: oneOf(spacings) })
      .default('even')
      .describe('Whether arrivals are evenly spaced or random.'),
  }).describe('Searches for the highest rate at which responses stay good.'),
  closed: mapping({
    ...every,
    ...taking,
    mix,
    shape: shape('closed'),
    users: integerField(1, 100_000).describe(
      'Number of users. Each sends a request, waits for the response, thinks, and repeats.',
    ),
    think: durationOrZeroField.optional().describe('Pause between a response and the next request. Default: none.'),
  }).describe('A fixed number of users who wait for responses. A slow service gets fewer requests.'),
  saturate: mapping({
    ...every,
    ...taking,
    mix,
    shape: shape('saturate'),
    connections: integerField(1, 1_024).describe('Number of busy connections.'),
    'max-calls': integerField(1, 100_000_000).describe('Maximum number of calls, which bounds the cost.'),
  }).describe('Connections that send the next call as soon as they have a response. For http: targets only.'),
  sequence: mapping({
    ...every,
    ...taking,
    duration: durationField.describe('Minimum duration of the stage. It takes longer if its calls do.'),
    'at-most': durationField
      .optional()
      .describe('Maximum duration of the stage. Default: its duration, and several seconds for each call.'),
    shape: shape('sequence'),
    calls: z
      .array(textField('the name of a call'), { error: 'a list of call names' })
      .min(1, { error: 'a list of call names, at least one' })
      .max(1_000, { error: 'a list of call names, at most 1000' })
      .refine(
        calls => expandSequence(calls).length <= maxSequenceLength,
        `a list of call names, at most ${maxSequenceLength} with repetitions`,
      )
      .describe('Names of calls or probes, in order. "20 x name" repeats one 20 times.'),
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

/** A mistake in one of these fields does not affect the load of a stage. */
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
    const fields = parseFields(schema, written)
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
  recorded: loadReader(
    stageSchemas.recorded,
    ({ shape, run = null, trace = null, stage = null, speed, 'block-tokens': blockTokens }) => {
      return { shape, run, trace, stage, speed, blockTokens }
    },
  ),
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
  sequence: loadReader(stageSchemas.sequence, ({ shape, calls, 'at-most': atMostMs = null }) => {
    return { shape, calls: expandSequence(calls), atMostMs }
  }),
} as const

type LoadOf<Shape extends StageShape> = Readonly<NonNullable<ReturnType<(typeof loadReaders)[Shape]>>>

/** The arrivals of another run, or of a trace. They last as long as they did there. One of `run` and `trace` is null. */
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
  /** Whether it exceeds a limit of its callers on purpose. */
  readonly beyondTier: boolean
} & (({ readonly durationMs: number } & StageLoad) | Recorded)
