import { z } from 'zod'
import type { ChatOptions } from '../contract/chat-options.ts'
import { type ModelTier, modelTiers, type ResourceLimit } from '../contract/contract.ts'
import { probeNames } from '../contract/probes.ts'
import { oneOf } from '../lib/usage-error.ts'
import {
  durationField,
  flagField,
  integerField,
  jsonObjectField,
  type Mix,
  mapping,
  probabilityField,
  textField,
  weightsField,
} from './fields.ts'

const network = textField('a network slug such as ethereum-mainnet').describe('Slug of the blockchain network.')
const methods = weightsField('method names')
  .optional()
  .describe('Weight of each method. Left out on an EVM network: how often real applications use them.')

export const callSchemas = {
  chat: mapping({
    kind: z.literal('chat'),
    stream: flagField.default(true).describe('Whether the answer is asked for as a stream of tokens.'),
    'model-tier': z
      .enum(modelTiers, { error: oneOf(modelTiers) })
      .optional()
      .describe('The first model of this tier in the profile. Give this or "model".'),
    model: textField('the id of a model')
      .optional()
      .describe('The id of a model of the profile. Give this or "model-tier".'),
    deprecated: flagField
      .default(false)
      .describe('Whether a deprecated model of the tier is preferred, where the profile has one.'),
    'prompt-tokens': integerField(1, 1_000_000).describe(
      'Length of each prompt in tokens, as near as can be told beforehand.',
    ),
    'max-completion-tokens': integerField(1, 1_000_000)
      .optional()
      .describe("The most tokens that an answer may have. Left out: it is not sent, and the model's own bound holds."),
    body: jsonObjectField('request members')
      .optional()
      .describe('Further members of the request, over those that it has, such as logprobs or messages.'),
    parameters: jsonObjectField('service-specific options')
      .optional()
      .describe('Service-specific options, over those that are always sent; null leaves one out.'),
    suffix: textField('options behind the name of the model')
      .optional()
      .describe("Options behind the model's name: enable_web_search=auto."),
    'accept-encoding': textField('an encoding such as gzip').optional().describe('The value of Accept-Encoding.'),
    'same-prompt': flagField
      .default(false)
      .describe('Whether every prompt of the call is the same, as a cache likes it.'),
  }).describe('A chat completion.'),
  rpc: mapping({
    kind: z.literal('rpc'),
    network,
    methods,
    'failure-ratio': probabilityField().default(0).describe('Probability that a call fails on purpose.'),
  }).describe('A single JSON-RPC call.'),
  'rpc-batch': mapping({
    kind: z.literal('rpc-batch'),
    network,
    methods,
    size: integerField(1, 10_000, 'a whole number from 1 to the longest batch of the profile').describe(
      'Items of each batch.',
    ),
    'failing-items': integerField(0, 10_000).default(0).describe('Items of each batch that fail on purpose.'),
  }).describe('A batch of JSON-RPC calls in one request.'),
  replay: mapping({
    kind: z.literal('replay'),
    of: textField('the name of an rpc or rpc-batch call').describe('The rpc or rpc-batch call that is repeated.'),
    duplicates: integerField(0, 20).default(1).describe('Further requests with the key and the body of the first.'),
    concurrent: flagField.default(false).describe('Whether the duplicates race with the first request.'),
    'conflict-ratio': probabilityField()
      .default(0)
      .describe('Probability that one request with the same key and another body follows.'),
    'other-key-ratio': probabilityField()
      .default(0)
      .describe('Probability that another key of the same account follows with the same body.'),
    'other-caller-ratio': probabilityField()
      .default(0)
      .describe('Probability that another caller follows with the same key and the same body.'),
    'repeat-after': durationField
      .optional()
      .describe('So long after that the same key and body once more, within the lifetime of the key or past it.'),
  }).describe('An RPC request that is sent again with the same idempotency key.'),
  models: mapping({ kind: z.literal('models') }).describe('The list of models.'),
  networks: mapping({ kind: z.literal('networks') }).describe('The list of networks.'),
  'rate-limits': mapping({ kind: z.literal('rate-limits') }).describe("The caller's own limits."),
  'rate-limit-logs': mapping({ kind: z.literal('rate-limit-logs') }).describe(
    'Which requests of the caller hit a limit.',
  ),
  resource: mapping({
    kind: z.literal('resource'),
    resource: textField('the name of a resource of the profile').describe(
      'What is neither chat nor RPC, by its name in the profile: embeddings, image, characters and so on.',
    ),
    body: jsonObjectField('request members')
      .optional()
      .describe('Further members of the request, over those that the profile gives it.'),
    page: integerField(1, 1_000_000).optional().describe('The page of a list that is asked for, from 1.'),
    limit: integerField(1, 1_000_000).optional().describe('How many items of a list are asked for at once.'),
  }).describe('A request of a resource that is neither chat nor RPC.'),
  probe: mapping({
    kind: z.literal('probe'),
    probe: z.enum(probeNames, { error: 'the name of a probe' }).describe('The crafted request.'),
  }).describe('A crafted request that the service must refuse in a documented way.'),
} as const

type CallKind = keyof typeof callSchemas
const callKinds = Object.keys(callSchemas) as readonly CallKind[]

export const callSchema = z.discriminatedUnion(
  'kind',
  [
    callSchemas.chat,
    callSchemas.rpc,
    callSchemas['rpc-batch'],
    callSchemas.replay,
    callSchemas.models,
    callSchemas.networks,
    callSchemas['rate-limits'],
    callSchemas['rate-limit-logs'],
    callSchemas.resource,
    callSchemas.probe,
  ],
  { error: issue => (issue.code === 'invalid_union' ? oneOf(callKinds) : 'a mapping with the key "kind"') },
)

type Written<Kind extends CallKind> = Readonly<z.output<(typeof callSchemas)[Kind]>>

/** A call as it is sent. The contract has decided its model, its methods and their weights. */
export type Call =
  | (Pick<Written<'chat'>, 'kind' | 'stream'> & {
      readonly model: string
      readonly modelTier: ModelTier
      readonly promptTokens: number
      /** The maximum number of tokens of one choice. */
      readonly maxCompletionTokens: number
      /** Whether the request states that maximum. Otherwise it is the one of the model. */
      readonly isBounded: boolean
      /** null if only a prompt and a maximum are sent. */
      readonly options: ChatOptions | null
    })
  | RpcCall
  | (Pick<Written<'replay'>, 'kind' | 'duplicates' | 'concurrent'> & {
      readonly of: RpcCall
      readonly conflictRatio: number
      readonly otherCallerRatio: number
      readonly otherKeyRatio: number
      /** Delay of one more request with the key and the body of the first; null for none. */
      readonly repeatAfterMs: number | null
    })
  | Written<'models' | 'networks' | 'rate-limits' | 'rate-limit-logs'>
  | (Pick<Written<'resource'>, 'kind' | 'resource'> & {
      readonly draws: ResourceLimit | null
      /** Fields that override those of the contract. */
      readonly body: Readonly<Record<string, unknown>>
      readonly page: number | null
      readonly limit: number | null
    })
  | (Pick<Written<'probe'>, 'kind'> & { readonly probe: string })

export type RpcCall = Pick<Written<'rpc'>, 'kind' | 'network'> & {
  readonly methods: Mix
  /** Items of a batch; null for a single call. */
  readonly batchSize: number | null
  /** Items of each batch that fail on purpose; for a single call, the probability that it does. */
  readonly failing: number
}
