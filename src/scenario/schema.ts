import { z } from 'zod'
import { accountTiers } from '../contract/contract.ts'
import { oneOf } from '../lib/usage-error.ts'
import { callSchema } from './call-schema.ts'
import { bytes, duration, durationOrZero, flag, mapping, name, text, usd, whole } from './fields.ts'
import { stageSchema } from './stage-schema.ts'
import { type Timing, timings } from './threshold.ts'

const limitsOf = ['target', 'profile'] as const
const records = ['all', 'findings', 'none'] as const

const spreads = ['constant', 'exponential'] as const

export const serviceSchema = mapping({
  slots: whole(1, 100_000).describe('So many requests are carried out at a time.'),
  'service-time': duration.describe('How long a request takes its slot.'),
  spread: z
    .enum(spreads, { error: oneOf(spreads) })
    .default('constant')
    .describe('Whether each takes as long, or they vary.'),
  queue: whole(0, 1_000_000).describe('So many more wait for a slot; beyond them is 503.'),
})

export const callersSchema = mapping({
  count: whole(1, 10_000).describe('How many callers there are: accounts with limits of their own.'),
  tier: z
    .enum(accountTiers, { error: oneOf(accountTiers) })
    .default('default')
    .describe('The account tier of the callers, which decides their limits.'),
  'keys-each': whole(1, 16).default(1).describe('How many API keys of one account a caller uses, in turn.'),
  'keys-file': text('the path of a file')
    .optional()
    .describe(
      'A file with the API keys of one account a line, from the working directory. Never write a key into a scenario.',
    ),
  limits: z
    .enum(limitsOf, { error: oneOf(limitsOf) })
    .default('target')
    .describe(
      'Whose limits "of tier" means: what the target grants, as far as it says so, or what the profile says. Judged is by the profile.',
    ),
  shared: flag.default(false).describe('Whether others use the same accounts during the run.'),
})

const timeouts = mapping({
  connect: duration.optional().describe('Until a connection is made.'),
  headers: duration.optional().describe('Until the headers of the answer have arrived.'),
  idle: duration.optional().describe('The longest silence within a body.'),
  total: duration.optional().describe('From the send to the last byte.'),
}).optional()

export const limitsSchema = mapping({
  'max-in-flight': whole(1, 100_000).optional().describe('More requests at once are dropped and counted.'),
  'max-body': bytes.optional().describe('The longest body that is read.'),
  drain: durationOrZero.optional().describe('How long a run waits for the last answers.'),
  timeouts: mapping({ chat: timeouts, rpc: timeouts, control: timeouts }).optional(),
})

const bound = duration.optional()
export const sloSchema = mapping(
  Object.fromEntries(timings.map(timing => [timing, bound])) as Record<Timing, typeof bound>,
)

export const thresholdSchema = mapping({
  expect: text('a condition such as p(95) ttft of chat < 400ms').describe(
    'A condition on the summary, such as "p(95) ttft of chat in steady < 400ms" or "violations == 0".',
  ),
  why: text('the reason for the threshold').describe('The reason, which is printed when the condition does not hold.'),
})

export const budgetSchema = mapping({ usd: usd.describe('The run never spends more than this.') })

export const scenarioSchema = mapping({
  name: name.describe('What reports call the scenario.'),
  question: text('the question that the run answers').optional().describe('The question that the run answers.'),
  target: text('an http or https address').optional().describe('Base address of the service, version included.'),
  service: serviceSchema
    .optional()
    .describe('What the reference service can do at once, where no target is given; left out: everything.'),
  seed: whole(0, Number.MAX_SAFE_INTEGER).optional().describe('Decides every random choice of the run.'),
  callers: callersSchema.describe('Who is calling.'),
  calls: z
    .record(name, callSchema, { error: 'a mapping of names to calls' })
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
  limits: limitsSchema.optional().describe('Bounds of the harness itself.'),
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
