import { z } from 'zod'
import { chatOptionsSchema, choicesOf, readRateSchema } from '../../contract/chat-options.ts'
import { chatPath } from '../../contract/chat-terms.ts'
import { type Contract, modelTiers } from '../../contract/contract.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { amount, whole } from '../../lib/schemas.ts'
import { type ApplicableLimit, drawnLimit, type LimitedCaller, statedRequests } from '../limit-scope.ts'
import { type RequestTraits, replayRoleSchema, turnSchema, twinRoleSchema, usual, withKey } from './traits.ts'

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
  /** The word that its completion should have, and no other one. Missing: it asked for none. */
  canary: z.string().optional(),
  /** Missing: it has no idempotency key. */
  replay: replayRoleSchema.optional(),
  /** Missing: it has no twin. */
  twin: twinRoleSchema.optional(),
  /** Missing: it is not a turn of a conversation. */
  turn: turnSchema.optional(),
  /** The position of its arrival in a stage that repeats a trace, which decides its prompt. Missing: its call does. */
  recorded: whole.optional(),
  /** Of such a prompt, how many words no other request has, so that no cache has them. Missing: unknown. */
  newTokens: whole.optional(),
  /** Missing: the client reads the response as fast as it comes. */
  readRate: readRateSchema.optional(),
})
export type ChatDescriptor = DeepReadonly<z.output<typeof chatRequestSchema>>

export const isChat = (request: { readonly kind: string }): request is ChatDescriptor => request.kind === 'chat'

/** A generous bound on the tokens of a prompt, which services count differently. */
export const maxPromptTokens = ({ promptTokens }: ChatDescriptor): number => promptTokens * 2 + 4_000

const ofKey = withKey(
  ({ replay }: ChatDescriptor) => replay ?? null,
  ({ twin }) => twin ?? null,
)

export const chatTraits: RequestTraits<ChatDescriptor> = {
  ...usual,
  ...ofKey,
  position: (request, id) => {
    const { turn, recorded, replay } = request
    if (turn === undefined) return { ...ofKey.position(request, id), ...(recorded !== undefined && { recorded }) }
    const { session, number, turns } = turn
    const step = replay === undefined || replay.role === 'original' ? 'turn' : replay.role
    return { firstId: session, step, turn: { number, turns, ...(replay && { group: replay.group }) } }
  },
  isFirst: (request, id) => (request.turn === undefined ? ofKey.isFirst(request, id) : request.turn.number === 0),
  turn: ({ turn, replay }) => (replay === undefined || replay.role === 'original' ? (turn ?? null) : null),
  endpoint: ({ model }, { paths }) => ({ method: 'POST', route: chatPath(paths.chat, model) }),
  limiter: 'chat',
  limit: ({ model, modelTier }, { accountTier, response }, contract) =>
    withStatedTier(drawnLimit({ limiter: 'chat', model, modelTier }, accountTier, contract), response, contract),
  service: () => 'inference',
  subject: ({ model }) => model,
  maxTokens: request => maxPromptTokens(request) + request.maxCompletionTokens * choicesOf(request.options),
  pricing: () => 'tokens',
}

/** If the target does not state the tiers of its models, those for which it states the same limit may be of one tier. */
function withStatedTier(
  limit: ApplicableLimit,
  response: LimitedCaller['response'],
  contract: Contract,
): ApplicableLimit {
  if (!limit.counters.includes(null)) return limit
  const perMinute = response && statedRequests(response.headers, contract).limit
  const ofTier = perMinute === null ? null : `chat:tier of ${perMinute} per minute`
  return { ...limit, counters: limit.counters.map(counter => counter ?? ofTier) }
}
