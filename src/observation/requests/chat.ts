import { z } from 'zod'
import { chatOptionsSchema, choicesOf } from '../../contract/chat-options.ts'
import { type AccountTier, type Contract, type ModelTier, modelTiers } from '../../contract/contract.ts'
import { hasKnownTier } from '../../contract/limits.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { memoizeByObject } from '../../lib/memoize.ts'
import { amount } from '../../lib/schemas.ts'
import { type ApplicableLimit, countersOf, type LimitedCaller, limitsOf, statedRequests } from '../limit-scope.ts'
import { type RequestTraits, usual } from './traits.ts'

export const chatRequestSchema = z.object({
  kind: z.literal('chat'),
  model: z.string(),
  /** null: unknown. */
  modelTier: z.enum(modelTiers).nullable(),
  stream: z.boolean(),
  promptTokens: amount,
  /** The maximum number of tokens of one choice. */
  maxCompletionTokens: amount,
  /** null if the request had only a prompt and a token limit. */
  options: chatOptionsSchema.nullable(),
})
export type ChatDescriptor = DeepReadonly<z.output<typeof chatRequestSchema>>

export const isChat = (request: { readonly kind: string }): request is ChatDescriptor => request.kind === 'chat'

/** A generous bound on the tokens of a prompt, which services count differently. */
export const maxPromptTokens = ({ promptTokens }: ChatDescriptor): number => promptTokens * 2 + 4_000

export const chatTraits: RequestTraits<ChatDescriptor> = {
  ...usual,
  endpoint: (_, { paths }) => ({ method: 'POST', route: paths.chat }),
  limitFamily: 'chat',
  limit: ({ model, modelTier }, { accountTier, response }, contract) =>
    withStatedTier(chatLimit(model, modelTier, accountTier, contract), response),
  service: () => 'inference',
  subject: ({ model }) => model,
  maxTokens: request => maxPromptTokens(request) + request.maxCompletionTokens * choicesOf(request.options),
  pricing: () => 'tokens',
}

/** The limits of the chat models of a contract by model and tier, each looked up once. */
const chatLimitsOf = memoizeByObject((_: Contract) => new Map<string, Map<string, ApplicableLimit>>())

export function chatLimit(
  model: string,
  modelTier: ModelTier | null,
  accountTier: AccountTier,
  contract: Contract,
): ApplicableLimit {
  const tier = modelTier === null ? accountTier : `${accountTier} ${modelTier}`
  const known = chatLimitsOf(contract)
  const ofModel = known.get(model) ?? new Map<string, ApplicableLimit>()
  let limit = ofModel.get(tier)
  if (limit === undefined) {
    const requests = { kind: 'chat-requests', model, modelTier } as const
    const limits = limitsOf(requests, { ...requests, kind: 'chat-tokens' }, accountTier, contract)
    const ofTier = modelTier !== null && hasKnownTier(requests, contract) ? `chat:tier ${modelTier}` : null
    const name = `chat:${model}`
    limit = { name, tier, ...countersOf('chat', contract.limits.chatScope, { tier: ofTier, model: name }), ...limits }
    known.set(model, ofModel.set(tier, limit))
  }
  return limit
}

/** If the target does not state the tiers of its models, those for which it states the same limit may be of one tier. */
function withStatedTier(limit: ApplicableLimit, response: LimitedCaller['response']): ApplicableLimit {
  if (!limit.counters.includes(null)) return limit
  const perMinute = response && statedRequests(response.headers).limit
  const ofTier = perMinute === null ? null : `chat:tier of ${perMinute} per minute`
  return { ...limit, counters: limit.counters.map(counter => counter ?? ofTier) }
}
