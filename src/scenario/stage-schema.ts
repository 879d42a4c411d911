import { z } from 'zod'
import { oneOf } from '../lib/usage-error.ts'
import {
  burstSize,
  duration,
  durationOrZero,
  flag,
  mapping,
  name,
  rate,
  rateOrZero,
  share,
  speed,
  text,
  weights,
  whole,
} from './fields.ts'
import { turnsOf } from './turns.ts'

const mostTurns = 10_000

const every = {
  name: name.describe('What reports call the stage.'),
  duration: duration.describe('How long the stage lasts.'),
}
const callers = whole(1, 10_000).optional().describe('So many callers take part; left out: all from the first one on.')
const firstCaller = whole(0, 9_999).default(0).describe('The first caller who takes part, counted from 0.')
const taking = {
  callers,
  'first-caller': firstCaller,
  'beyond-failures': flag
    .default(false)
    .describe('Allows more failures than the service tolerates, to see its callers blocked.'),
}
const mix = weights('call names').describe('Weight of each call: its share of the arrivals is its weight in the sum.')
const paced = {
  ...every,
  ...taking,
  mix,
  'beyond-tier': flag.default(false).describe("Allows a rate above the callers' own limits, to see them enforced."),
}

const spacings = ['even', 'poisson'] as const

export const stageSchemas = {
  constant: mapping({
    ...paced,
    shape: z.literal('constant'),
    rate: rate.describe('Arrivals of all callers together: 20/s, 20/m, or a share of what the tier allows.'),
  }).describe('Evenly spaced arrivals.'),
  poisson: mapping({
    ...paced,
    shape: z.literal('poisson'),
    rate: rate.describe('Mean arrivals of all callers together: 20/s, 20/m, or a share of what the tier allows.'),
  }).describe('Arrivals at random moments, as of callers who do not know of each other.'),
  ramp: mapping({
    ...paced,
    shape: z.literal('ramp'),
    from: rateOrZero.default({ kind: 'absolute', perSecond: 0 }).describe('The first rate; left out: 0.'),
    to: rate.describe('The last rate.'),
  }).describe('A rate that rises or falls evenly.'),
  stairs: mapping({
    ...paced,
    shape: z.literal('stairs'),
    from: rateOrZero.describe('The rate of the first level.'),
    to: rate.describe('The rate of the last level.'),
    steps: whole(2, 100).describe('How many levels there are, each as long as the others.'),
    ramp: durationOrZero.optional().describe('How long the rate takes from one level to the next; left out: it jumps.'),
  }).describe('Levels of a constant rate, each higher, or lower, than the one before by the same amount.'),
  spike: mapping({
    ...paced,
    shape: z.literal('spike'),
    base: rateOrZero.describe('The rate before and after the peak.'),
    peak: rate.describe('The rate of the peak.'),
    at: durationOrZero.describe('When the peak is reached, from the start of the stage.'),
    for: duration.describe('How long the peak lasts, without its ramps.'),
    'ramp-up': durationOrZero
      .optional()
      .describe('How long before the peak the rate begins to change; left out: it jumps.'),
    'ramp-down': durationOrZero.optional().describe('How long the rate takes back to the base; left out: it jumps.'),
  }).describe('A base rate with one peak.'),
  burst: mapping({
    ...paced,
    shape: z.literal('burst'),
    size: burstSize.describe(
      "Arrivals at once: a number for all callers together, or a share of one window's allowance.",
    ),
    every: duration.optional().describe('Left out: one burst, at the start of the stage.'),
  }).describe('Many arrivals at once.'),
  recorded: mapping({
    name: every.name,
    'beyond-failures': taking['beyond-failures'],
    shape: z.literal('recorded'),
    run: text('the directory of a run').describe('The directory of a run, from the working directory.'),
    stage: text('the name of a stage of that run').optional().describe('Only this stage of it; left out: all of them.'),
    speed: speed.default(1).describe('How many times as fast as it was.'),
  }).describe('What another run sent, when it was due there: the same calls by the same callers.'),
  pause: mapping({ ...every, shape: z.literal('pause') }).describe('No arrivals.'),
  capacity: mapping({
    ...paced,
    duration: duration.describe('The longest that the search may take.'),
    shape: z.literal('capacity'),
    from: rate.describe('The rate to begin with, of all callers together.'),
    to: rate.describe('The highest rate to be tried, of all callers together.'),
    good: share(50, 100, '99%').describe('The share of the answers to each call that must be good.'),
    precision: share(0, 50, '3%')
      .default(0.03)
      .describe('How far the lowest rate that breaks may lie above the highest that holds; left out: 3%.'),
    trial: duration.default(3_000).describe('How long a rate is tried; left out: 3s.'),
    confirm: duration
      .default(10_000)
      .describe('How long the rate that was found has to hold, at least; left out: 10s.'),
    'cool-down': durationOrZero
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
    users: whole(1, 100_000).describe('How many call, wait for the answer, think, and call again.'),
    think: durationOrZero.optional().describe('Pause between an answer and the next call; left out: none.'),
  }).describe('A fixed number of users who wait for their answers. A slow service is called less often.'),
  saturate: mapping({
    ...every,
    ...taking,
    mix,
    shape: z.literal('saturate'),
    connections: whole(1, 1_024).describe('How many connections are kept busy.'),
    'max-calls': whole(1, 100_000_000).describe(
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
      .array(text('the name of a call'), { error: 'a list of call names' })
      .min(1, { error: 'a list of call names, at least one' })
      .max(1_000, { error: 'a list of call names, at most 1000' })
      .refine(
        calls => turnsOf(calls).length <= mostTurns,
        `a list of call names, at most ${mostTurns} with repetitions`,
      )
      .describe('Names of calls or of probes, in their order; "20 x name" stands for so many of it in a row.'),
  }).describe('Each caller sends the calls once, in order, one at a time.'),
} as const

export type StageShape = keyof typeof stageSchemas
export const stageShapes = Object.keys(stageSchemas) as readonly StageShape[]

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
