import { z } from 'zod'
import type { ClauseId } from '../contract/clauses.ts'
import { accountTiers } from '../contract/contract.ts'
import type { DeepReadonly } from '../lib/json.ts'
import { publishedSchema } from '../lib/schemas.ts'
import { oneOf } from '../lib/usage-error.ts'
import { type Call, callSchema } from './calls/calls.ts'
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
import { type Threshold, type Timing, timingMeanings, timings } from './threshold.ts'

const limitsOf = ['target', 'profile'] as const
const records = ['all', 'findings', 'none'] as const

export const distributions = ['constant', 'exponential'] as const

const serviceSchema = mapping({
  concurrency: integerField(1, 100_000).describe('Maximum concurrent requests.'),
  'service-time': durationField.describe('Processing time of a request.'),
  distribution: z
    .enum(distributions, { error: oneOf(distributions) })
    .default('constant')
    .describe('Distribution of the processing time.'),
  'queue-length': integerField(0, 1_000_000).describe('Requests that may wait; further ones get a 503.'),
})

const chainText = 'the short name of a chain such as base, or a list of them'

export const callersSchema = mapping({
  count: integerField(0, 10_000).describe(
    'Number of callers with API keys. Each is an account with its own limits. 0 if all callers have wallets.',
  ),
  wallets: integerField(0, 10_000)
    .default(0)
    .describe('Number of callers with a wallet instead of an API key. They follow the others.'),
  chain: z
    .union([textField(chainText), z.array(textField(chainText)).min(1, { error: chainText })], { error: chainText })
    .optional()
    .describe('Chain of the wallets, such as base or solana; of several, in turn. Default: the first of the profile.'),
  'wallet-keys-file': textField('the path of a file')
    .optional()
    .describe(
      'Path of a file with one private key of a wallet per line. Never write a key into a scenario. Default: TURNPIKE_WALLET_KEYS, or else new wallets for the run.',
    ),
  'top-up': usdField
    .optional()
    .describe(
      'USD that each wallet pays for credit before the load. Elsewhere than on this machine, it needs --top-up. Default: none.',
    ),
  tier: z
    .enum(accountTiers, { error: oneOf(accountTiers) })
    .default('default')
    .describe('Account tier of the callers, which decides their limits.'),
  'keys-per-caller': integerField(1, 16)
    .default(1)
    .describe('API keys per caller, used in turn. All belong to one account.'),
  'keys-file': textField('the path of a file')
    .optional()
    .describe(
      'Path of a file with one account per line: its API keys. Never write a key into a scenario. Default: TURNPIKE_KEYS.',
    ),
  'limits-from': z
    .enum(limitsOf, { error: oneOf(limitsOf) })
    .default('target')
    .describe('The limits that "of tier" refers to: published by the target, or stated in the profile.'),
  shared: flagField
    .optional()
    .describe(
      'Whether others use the same accounts during the run. If `false` is written, callers that seem to share an account are violations. Default: false.',
    ),
})

const timeoutsOfCall = (connect: string, headers: string, idle: string, total: string) =>
  mapping({
    connect: durationField.optional().describe(`Maximum time to connect. Default: ${connect}.`),
    headers: durationField.optional().describe(`Maximum time until the response headers arrive. Default: ${headers}.`),
    idle: durationField.optional().describe(`Maximum silence within a body. Default: ${idle}.`),
    total: durationField.optional().describe(`Maximum time from sending to the last byte. Default: ${total}.`),
  }).optional()

const boundsSchema = mapping({
  'max-in-flight': integerField(1, 100_000)
    .optional()
    .describe('Maximum requests in flight. Further ones are dropped and counted. Default: 512.'),
  'max-body': bytesField.optional().describe('Maximum size of a response body. Default: 4MiB.'),
  drain: durationOrZeroField
    .optional()
    .describe('How long a run waits for requests in flight at its end. Default: 30s.'),
  timeouts: mapping({
    chat: timeoutsOfCall('10s', '120s', '60s', '600s').describe('Timeouts of chat calls. Default: as below.'),
    rpc: timeoutsOfCall('10s', '35s', '35s', '35s').describe('Timeouts of RPC calls and replays. Default: as below.'),
    control: timeoutsOfCall('10s', '30s', '30s', '30s').describe('Timeouts of all other calls. Default: as below.'),
  })
    .optional()
    .describe('When to give up a request. Default: as below.'),
})

const bound = durationField.optional()
export const sloSchema = mapping(
  Object.fromEntries(
    timings.map(timing => [timing, bound.describe(`${timingMeanings[timing]} Default: any is good.`)]),
  ) as Record<Timing, typeof bound>,
)

export const writtenThresholdSchema = mapping({
  expect: textField('a condition such as p(95) ttft of chat < 400ms').describe(
    'A condition on the results, such as "p(95) ttft of chat in steady < 400ms" or "violations == 0".',
  ),
  why: textField('the reason for the threshold').describe(
    'The reason, which the report prints if the threshold fails.',
  ),
})

const budgetSchema = mapping({
  usd: usdField.describe('Maximum spend of the run in USD. The flag --budget-usd overrides it.'),
})

export const scenarioSchema = mapping({
  name: nameField.describe('Name of the scenario in reports.'),
  question: textField('the question that the run answers')
    .optional()
    .describe('The question that the run answers, for reports. Default: none.'),
  profile: textField('the name of a shipped profile or the path of a file')
    .optional()
    .describe(
      'The profile that the target is judged by: the name of a shipped one, or a path relative to this file. The flag --profile overrides it. Default: the documented one.',
    ),
  target: textField('an http or https address')
    .optional()
    .describe(
      'Base URL of the service, with its version. The flag --target overrides it. Default: Turnpike starts a reference service.',
    ),
  service: serviceSchema
    .optional()
    .describe('Capacity of the embedded reference service, if there is no target. Default: unlimited.'),
  seed: integerField(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Decides every random choice: the same seed gives the same requests at the same times. Default: 1.'),
  callers: callersSchema.describe('The accounts that send the requests.'),
  calls: z
    .record(nameField, callSchema, { error: 'a mapping of names to calls' })
    .refine(calls => Object.keys(calls).length > 0, 'a mapping of names to calls, at least one')
    .describe('The calls to send, by name.'),
  stages: z
    .array(stageSchema, { error: 'a list of stages' })
    .min(1, { error: 'a list of stages, at least one' })
    .max(1_000, { error: 'a list of stages, at most 1000' })
    .describe('The load: stages in sequence.'),
  slo: z
    .record(z.string(), sloSchema, { error: 'a mapping of call names to times' })
    .optional()
    .describe(
      'By the name of a call: the longest times of a good response. Default: every complete 2xx response is good.',
    ),
  budget: budgetSchema
    .optional()
    .describe('The maximum spend. Default: none, which only a target on this machine permits.'),
  bounds: boundsSchema.optional().describe('Bounds of Turnpike itself. Default: as below.'),
  record: z
    .enum(records, { error: oneOf(records) })
    .default('all')
    .describe('Which observations to record: all, those with a finding, or none.'),
  thresholds: z
    .array(writtenThresholdSchema, { error: 'a list of thresholds' })
    .max(1_000, { error: 'a list of thresholds, at most 1000' })
    .default([])
    .describe('Conditions for the run to pass.'),
  'must-judge': z
    .array(textField('the id or the pattern of a clause'), { error: 'a list of clauses' })
    .max(100, { error: 'a list of clauses, at most 100' })
    .default([])
    .describe(
      'Clauses that the question is about: ids, patterns such as billing.*, or sections such as §8. If the run judges one of them not at all, it is inconclusive.',
    ),
}).describe('A Turnpike scenario: a question, the load to answer it, and thresholds.')

/** A scenario as a program writes it: the data of a scenario file. */
export type ScenarioInput = DeepReadonly<z.input<typeof scenarioSchema>>

/** The JSON Schema of a scenario file, for editors. */
export const scenarioJsonSchema = (): object =>
  publishedSchema('scenarios/scenario.schema.json', 'Turnpike scenario', scenarioSchema)

/**
 * The settings of a valid file, with the names and units of the code. A null means that the plan decides. Calls, stages,
 * SLOs and thresholds are resolved separately, against the contract and each other.
 */
export const settingsSchema = scenarioSchema.transform(
  ({ name, question = null, service, seed = null, callers, budget, bounds, record }) => ({
    name,
    question,
    service: service === undefined ? null : serviceOf(service),
    seed,
    callers: {
      count: callers.count + callers.wallets,
      wallets: callers.wallets,
      chains: typeof callers.chain === 'string' ? [callers.chain] : (callers.chain ?? []),
      walletKeysFile: callers['wallet-keys-file'] ?? null,
      topUpUsd: callers['top-up'] ?? null,
      keys: callers['keys-per-caller'],
      accountTier: callers.tier,
      shared: callers.shared ?? false,
      separate: callers.shared === false,
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
  /** The clauses that the run must judge to answer its question. */
  readonly mustJudge: readonly ClauseId[]
  /** The calls of the file that are left out, since the target offers no such resource, network or method. */
  readonly notOffered: readonly string[]
}

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

function timeoutsOf(written: z.output<ReturnType<typeof timeoutsOfCall>>) {
  return {
    connectMs: written?.connect ?? null,
    headersMs: written?.headers ?? null,
    idleMs: written?.idle ?? null,
    totalMs: written?.total ?? null,
  }
}
