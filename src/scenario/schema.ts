import { z } from 'zod'
import { accountTiers } from '../contract/contract.ts'
import { oneOf } from '../lib/usage-error.ts'
import { type Call, callSchema } from './call-schema.ts'
import {
  bytesField,
  durationField,
  durationOrZeroField,
  flagField,
  integerField,
  mapping,
  nameField,
  textField,
  usdField,
} from './fields.ts'
import { type Stage, stageSchema } from './stage-schema.ts'
import { type Threshold, type Timing, timings } from './threshold.ts'

const limitsOf = ['target', 'profile'] as const
const records = ['all', 'findings', 'none'] as const

const distributions = ['constant', 'exponential'] as const

const serviceSchema = mapping({
  concurrency: integerField(1, 100_000).describe('So many requests are carried out at a time.'),
  'service-time': durationField.describe('How long a request takes its slot.'),
  distribution: z
    .enum(distributions, { error: oneOf(distributions) })
    .default('constant')
    .describe('Whether each takes as long, or they vary.'),
  'queue-length': integerField(0, 1_000_000).describe('So many more wait for a slot; beyond them is 503.'),
})

export const callersSchema = mapping({
  count: integerField(1, 10_000).describe('How many callers there are: accounts with limits of their own.'),
  tier: z
    .enum(accountTiers, { error: oneOf(accountTiers) })
    .default('default')
    .describe('The account tier of the callers, which decides their limits.'),
  'keys-per-caller': integerField(1, 16)
    .default(1)
    .describe('How many API keys of one account a caller uses, in turn.'),
  'keys-file': textField('the path of a file')
    .optional()
    .describe(
      'A file with the API keys of one account a line, from the working directory. Never write a key into a scenario.',
    ),
  'limits-from': z
    .enum(limitsOf, { error: oneOf(limitsOf) })
    .default('target')
    .describe(
      'Whose limits "of tier" means: what the target grants, as far as it says so, or what the profile says. Judged is by the profile.',
    ),
  shared: flagField.default(false).describe('Whether others use the same accounts during the run.'),
})

const timeouts = mapping({
  connect: durationField.optional().describe('Until a connection is made.'),
  headers: durationField.optional().describe('Until the headers of the answer have arrived.'),
  idle: durationField.optional().describe('The longest silence within a body.'),
  total: durationField.optional().describe('From the send to the last byte.'),
}).optional()

const boundsSchema = mapping({
  'max-in-flight': integerField(1, 100_000).optional().describe('More requests at once are dropped and counted.'),
  'max-body': bytesField.optional().describe('The longest body that is read.'),
  drain: durationOrZeroField.optional().describe('How long a run waits for the last answers.'),
  timeouts: mapping({ chat: timeouts, rpc: timeouts, control: timeouts }).optional(),
})

const bound = durationField.optional()
export const sloSchema = mapping(
  Object.fromEntries(timings.map(timing => [timing, bound])) as Record<Timing, typeof bound>,
)

export const thresholdSchema = mapping({
  expect: textField('a condition such as p(95) ttft of chat < 400ms').describe(
    'A condition on the summary, such as "p(95) ttft of chat in steady < 400ms" or "violations == 0".',
  ),
  why: textField('the reason for the threshold').describe(
    'The reason, which is printed when the condition does not hold.',
  ),
})

const budgetSchema = mapping({ usd: usdField.describe('The run never spends more than this.') })

export const scenarioSchema = mapping({
  name: nameField.describe('What reports call the scenario.'),
  question: textField('the question that the run answers').optional().describe('The question that the run answers.'),
  target: textField('an http or https address').optional().describe('Base address of the service, version included.'),
  service: serviceSchema
    .optional()
    .describe('What the reference service can do at once, where no target is given; left out: everything.'),
  seed: integerField(0, Number.MAX_SAFE_INTEGER).optional().describe('Decides every random choice of the run.'),
  callers: callersSchema.describe('Who is calling.'),
  calls: z
    .record(nameField, callSchema, { error: 'a mapping of names to calls' })
    .refine(calls => Object.keys(calls).length > 0, 'a mapping of names to calls, at least one')
    .describe('What is sent, by name.'),
  stages: z
    .array(stageSchema, { error: 'a list of stages' })
    .min(1, { error: 'a list of stages, at least one' })
    .max(1_000, { error: 'a list of stages, at most 1000' })
    .describe('When it is sent: stretches of load, one after the other.'),
  slo: z
    .record(z.string(), sloSchema, { error: 'a mapping of call names to times' })
    .optional()
    .describe('By call, the longest time at which an answer is still good.'),
  budget: budgetSchema.optional().describe('What the run may spend.'),
  bounds: boundsSchema
    .optional()
    .describe('Limits that Turnpike sets itself: requests in flight, body size, timeouts.'),
  record: z
    .enum(records, { error: oneOf(records) })
    .default('all')
    .describe('Which observations are kept.'),
  thresholds: z
    .array(thresholdSchema, { error: 'a list of thresholds' })
    .max(1_000, { error: 'a list of thresholds, at most 1000' })
    .default([])
    .describe('What must hold for the run to pass.'),
}).describe('A Turnpike scenario: one question, the load that answers it, and what must hold.')

/** The JSON Schema of a scenario file, for editors. */
export function scenarioJsonSchema(): object {
  return { title: 'Turnpike scenario', ...z.toJSONSchema(scenarioSchema, { io: 'input' }) }
}

/**
 * The settings of a valid file, with the names and units of the code. A null is what the file leaves open, for the plan to
 * decide. Calls, stages, SLOs and thresholds are resolved against the contract and against each other.
 */
export const settingsSchema = scenarioSchema.transform(
  ({ name, question = null, service, seed = null, callers, budget, bounds, record }) => ({
    name,
    question,
    service: service === undefined ? null : serviceOf(service),
    seed,
    callers: {
      count: callers.count,
      keys: callers['keys-per-caller'],
      accountTier: callers.tier,
      shared: callers.shared,
      limitsFrom: callers['limits-from'],
      keysFile: callers['keys-file'] ?? null,
    },
    budgetUsd: budget?.usd ?? null,
    bounds: {
      maxInFlight: bounds?.['max-in-flight'] ?? null,
      maxBodyBytes: bounds?.['max-body'] ?? null,
      drainMs: bounds?.drain ?? null,
      timeouts: {
        chat: timeoutsOf(bounds?.timeouts?.chat),
        rpc: timeoutsOf(bounds?.timeouts?.rpc),
        control: timeoutsOf(bounds?.timeouts?.control),
      },
    },
    record,
  }),
)

/** A scenario file without mistakes, checked against the contract: names are resolved, and numbers have the unit of their name. */
export type Scenario = Readonly<z.output<typeof settingsSchema>> & {
  readonly target: string | null
  readonly calls: Readonly<Record<string, Call>>
  readonly stages: readonly Stage[]
  /** By call, the longest time in milliseconds of a good response. */
  readonly slo: Readonly<Record<string, Readonly<Partial<Record<Timing, number>>>>>
  readonly thresholds: readonly Threshold[]
}

export type ServiceSpec = Readonly<ReturnType<typeof serviceOf>>
export type BoundsSpec = Scenario['bounds']
export type TimeoutsSpec = ReturnType<typeof timeoutsOf>

function serviceOf({
  concurrency,
  'service-time': serviceTimeMs,
  distribution,
  'queue-length': queueLength,
}: z.output<typeof serviceSchema>) {
  return { concurrency, serviceTimeMs, distribution, queueLength }
}

function timeoutsOf(written: z.output<typeof timeouts>) {
  return {
    connectMs: written?.connect ?? null,
    headersMs: written?.headers ?? null,
    idleMs: written?.idle ?? null,
    totalMs: written?.total ?? null,
  }
}
