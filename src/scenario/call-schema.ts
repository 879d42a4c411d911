import { z } from 'zod'
import { chatOptionsSchema } from '../contract/chat-options.ts'
import { modelTiers, networkFamilies, type ResourceLimit } from '../contract/contract.ts'
import { probeNameSchema, probeNames } from '../contract/probes.ts'
import { invalidPaymentNames } from '../contract/wallets.ts'
import type { DeepReadonly } from '../lib/json.ts'
import { decimalText, members, openText, whole } from '../lib/schemas.ts'
import { oneOf } from '../lib/usage-error.ts'
import {
  durationField,
  flagField,
  headerField,
  integerField,
  jsonObjectField,
  mapping,
  mixSchema,
  probabilityField,
  textField,
  usdField,
  weightsField,
} from './fields.ts'

const network = textField('a network slug such as ethereum-mainnet')
  .optional()
  .describe('Slug of the blockchain network. Default: the first network of "network-family".')
const family = z
  .enum(networkFamilies, { error: oneOf(networkFamilies) })
  .optional()
  .describe(
    'The family of a network that stands in if the target does not offer "network". Default: evm, without a network.',
  )
const methods = weightsField('method names')
  .optional()
  .describe(
    'Weight of each method. Default: on EVM networks, a mix like that of real applications; elsewhere it is required.',
  )

const ratio = z.number().min(0).max(1)

const kind = <Kind extends string>(name: Kind) => z.literal(name).describe('The kind of call.')

export const callSchemas = {
  chat: mapping({
    kind: kind('chat'),
    stream: flagField.default(true).describe('Whether to request a stream of tokens.'),
    'model-tier': z
      .enum(modelTiers, { error: oneOf(modelTiers) })
      .optional()
      .describe(
        'Selects the first model of this tier. Give this or "model". Default: the first model that the target offers.',
      ),
    model: textField('the id of a model')
      .optional()
      .describe('The id of a model that the target offers. Give this or "model-tier". Default: as "model-tier".'),
    deprecated: flagField.default(false).describe('Prefer a deprecated model of the tier, if the profile has one.'),
    'prompt-tokens': integerField(1, 1_000_000).describe('Approximate length of each prompt in tokens.'),
    'max-completion-tokens': integerField(1, 1_000_000)
      .optional()
      .describe("Maximum tokens of a completion. Default: not sent, so the model's own maximum applies."),
    body: jsonObjectField('request fields')
      .optional()
      .describe('Additional or overriding fields of the request, such as logprobs or messages. Default: none.'),
    parameters: jsonObjectField('service-specific options')
      .optional()
      .describe('Service-specific options, which override the default ones; null omits one. Default: none.'),
    suffix: textField('options after the name of the model')
      .optional()
      .describe('Options after the name of the model, such as enable_web_search=auto. Default: none.'),
    'accept-encoding': headerField('an encoding such as gzip')
      .optional()
      .describe('The value of Accept-Encoding. Default: none is sent.'),
    'same-prompt': flagField.default(false).describe('Send the same prompt every time, so that caches can serve it.'),
  }).describe('A chat completion.'),
  rpc: mapping({
    kind: kind('rpc'),
    network,
    'network-family': family,
    methods,
    'failure-ratio': probabilityField().default(0).describe('Probability that a call fails on purpose.'),
  }).describe('A single JSON-RPC call.'),
  'rpc-batch': mapping({
    kind: kind('rpc-batch'),
    network,
    'network-family': family,
    methods,
    size: integerField(1, 10_000, 'a whole number from 1 to the longest batch of the profile').describe(
      'Items of each batch. The profile states the longest batch.',
    ),
    'failing-items': integerField(0, 10_000).default(0).describe('Items of each batch that fail on purpose.'),
  }).describe('A batch of JSON-RPC calls in one request.'),
  replay: mapping({
    kind: kind('replay'),
    of: textField('the name of an rpc or rpc-batch call').describe('The rpc or rpc-batch call that is repeated.'),
    duplicates: integerField(0, 20).default(1).describe('Additional requests with the key and body of the first.'),
    concurrent: flagField.default(false).describe('Send the duplicates concurrently with the first request.'),
    'conflict-ratio': probabilityField()
      .default(0)
      .describe('Probability of one more request with the same key and a different body.'),
    'other-key-ratio': probabilityField()
      .default(0)
      .describe('Probability of one more request with the same body and another API key of the account.'),
    'other-caller-ratio': probabilityField()
      .default(0)
      .describe('Probability that another caller sends the same key and body.'),
    'repeat-after': durationField
      .optional()
      .describe(
        'Delay of one more request with the same key and body, within the lifetime of the key or after it. At most 30s. Default: no such request.',
      ),
  }).describe('An RPC request that is sent again with the same idempotency key.'),
  models: mapping({ kind: kind('models') }).describe('The list of models.'),
  networks: mapping({ kind: kind('networks') }).describe('The list of networks.'),
  'rate-limits': mapping({ kind: kind('rate-limits') }).describe('The limits of the caller.'),
  'rate-limit-logs': mapping({ kind: kind('rate-limit-logs') }).describe(
    'The log of requests of the caller that hit a limit.',
  ),
  resource: mapping({
    kind: kind('resource'),
    resource: textField('the name of a resource of the profile').describe(
      'Name of the resource in the profile: embeddings, image, characters and so on.',
    ),
    body: jsonObjectField('request fields')
      .optional()
      .describe('Fields of the request that override those of the profile. Default: none.'),
    page: integerField(1, 1_000_000).optional().describe('The requested page of a list, from 1. Default: not sent.'),
    limit: integerField(1, 1_000_000).optional().describe('The requested number of items per page. Default: not sent.'),
  }).describe('A request of a resource that is neither chat nor RPC.'),
  'top-up': mapping({
    kind: kind('top-up'),
    pay: flagField
      .default(false)
      .describe(
        'Whether to pay. Otherwise it only asks how to. Elsewhere than on this machine, paying needs --top-up.',
      ),
    usd: usdField.optional().describe('The amount to pay. Default: the smallest of the profile.'),
    duplicates: integerField(0, 20)
      .default(0)
      .describe('Additional requests with the same payment, which counts once.'),
    concurrent: flagField.default(false).describe('Send the duplicates concurrently with the payment.'),
    invalid: z
      .enum(invalidPaymentNames, { error: oneOf(invalidPaymentNames) })
      .optional()
      .describe(
        'What is wrong with the payment, so that it must be refused. Its amount counts as paid. Default: nothing.',
      ),
  }).describe('A request for credit of a wallet.'),
  'wallet-balance': mapping({ kind: kind('wallet-balance') }).describe('The credit of the wallet.'),
  probe: mapping({
    kind: kind('probe'),
    probe: z.enum(probeNames, { error: 'the name of a probe' }).describe('Name of the crafted request.'),
  }).describe('A crafted request with a documented response, mostly a refusal.'),
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
    callSchemas['top-up'],
    callSchemas['wallet-balance'],
    callSchemas.probe,
  ],
  { error: issue => (issue.code === 'invalid_union' ? oneOf(callKinds) : 'a mapping with the key "kind"') },
)

/** Requests of single calls or batches. */
const rpcCall = z.object({
  kind: z.literal('rpc'),
  network: z.string(),
  methods: mixSchema,
  /** Items of a batch; null for a single call. */
  batchSize: whole.nullable(),
  /** Items of each batch that fail on purpose; for a single call, the probability that it does. */
  failing: z.number().nonnegative(),
})
export type RpcCall = DeepReadonly<z.output<typeof rpcCall>>

/** A call as it is sent. The contract has decided its model, its methods and their weights. */
export const resolvedCallSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('chat'),
    stream: z.boolean(),
    model: z.string(),
    modelTier: z.enum(modelTiers).nullable(),
    promptTokens: whole,
    /** The maximum number of tokens of one choice. */
    maxCompletionTokens: whole,
    /** Whether the request states that maximum. Otherwise, the maximum of the model applies. */
    isBounded: z.boolean(),
    /** null if only a prompt and a maximum are sent. */
    options: chatOptionsSchema.nullable(),
  }),
  rpcCall,
  z.object({
    kind: z.literal('replay'),
    of: rpcCall,
    duplicates: whole,
    concurrent: z.boolean(),
    conflictRatio: ratio,
    otherCallerRatio: ratio,
    otherKeyRatio: ratio,
    /** Delay of one more request with the key and the body of the first; null for none. */
    repeatAfterMs: z.number().nonnegative().nullable(),
  }),
  z.object({ kind: z.enum(['models', 'networks', 'rate-limits', 'rate-limit-logs']) }),
  z.object({
    kind: z.literal('resource'),
    resource: z.string(),
    draws: openText<ResourceLimit>().nullable(),
    /** Fields that override those of the contract. */
    body: members,
    page: whole.nullable(),
    limit: whole.nullable(),
  }),
  z.object({
    kind: z.literal('top-up'),
    pay: z.boolean(),
    /** The amount to pay, a decimal. */
    usd: decimalText,
    duplicates: whole,
    concurrent: z.boolean(),
    /** What is wrong with the payment on purpose; null: nothing. */
    invalid: z.enum(invalidPaymentNames).nullable(),
  }),
  z.object({ kind: z.literal('wallet-balance') }),
  /** `copies`: how many are sent at once, with one sign-in. */
  z.object({ kind: z.literal('probe'), probe: probeNameSchema, copies: whole.positive().optional() }),
])
export type Call = DeepReadonly<z.output<typeof resolvedCallSchema>>
