import { z } from 'zod'
import type { ArrivalStep } from '../../contract/requests/steps.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import { parseFields, whole } from '../../lib/schemas.ts'
import { oneOf } from '../../lib/usage-error.ts'
import {
  durationRangeField,
  headerField,
  integerField,
  mapping,
  probabilityField,
  type Range,
  rangeField,
  rangeSchema,
  textField,
  writtenRange,
} from '../fields.ts'
import { type CallContext, type CallCost, type CallKind, kindField, usualTraits } from './call-kind.ts'
import { chat, chatSchema, isWithinModel, modelOf, resolvedChat } from './chat.ts'
import {
  meanTurnReplays,
  mostTurnReplays,
  resolvedTurnReplays,
  resolveTurnReplays,
  turnReplays,
  turnReplaysField,
  writtenTurnReplays,
} from './replay.ts'

const histories = ['target', 'synthetic'] as const
const reactions = ['go-on', 'give-up'] as const
const caches = ['warm', 'cold'] as const
/** Fewer words could begin two prompts by chance. */
const minColdTokens = 16
const reactionField = z.enum(reactions, { error: oneOf(reactions) })

const { stream, model, 'model-tier': modelTier } = chatSchema.shape

const toolsField = mapping({
  ratio: probabilityField().default(1).describe('Probability that a turn, other than the last one, must call a tool.'),
  'result-tokens': rangeField(1, 100_000).describe('Approximate length of the results of a turn, in tokens.'),
  time: durationRangeField
    .default({ from: 0, to: 0 })
    .describe(
      'Time that the tools take, from the end of the call until the turn with the results is due. Default: 0s.',
    ),
})
  .optional()
  .describe('Some answers are calls of a tool, and the next turn has their results. Default: none is offered.')

const branchesField = mapping({
  ratio: probabilityField().default(1).describe('Probability that a turn, other than the last one, has branches.'),
  count: rangeField(1, 100).describe('Branches after such a turn: one number, or a range to draw from.'),
  turns: rangeField(1, 20).describe('Turns of each branch: one number, or a range to draw from.'),
})
  .optional()
  .describe('After some turns, several branches go on at once, and then the session does. Default: none does.')

export const conversationSchema = mapping({
  kind: kindField('conversation'),
  stream,
  model,
  'model-tier': modelTier,
  turns: rangeField(1, 1_000).describe('Turns of each session: one number, or a range to draw from.'),
  'user-tokens': rangeField(1, 100_000).describe('Approximate length of what the user says in each turn, in tokens.'),
  'max-completion-tokens': rangeField(1, 1_000_000).describe('Maximum tokens of each answer.'),
  think: durationRangeField
    .default({ from: 0, to: 0 })
    .describe('Time from the end of an answer until the next turn is due. Default: 0s.'),
  'system-tokens': integerField(0, 1_000_000)
    .default(0)
    .describe('Approximate length of the system prompt in tokens; 0 for none.'),
  'system-groups': integerField(1, 10_000)
    .default(1)
    .describe('Number of system prompts. The sessions of a group share one, so that a cache can serve it.'),
  'own-system-ratio': probabilityField()
    .default(0)
    .describe('Probability that a session has a system prompt of its own, which no cache can serve.'),
  cache: z
    .enum(caches, { error: oneOf(caches) })
    .default('warm')
    .describe(
      'Whether a cache can serve the beginning of a prompt: "warm", as the keys above say; or "cold", never, since each turn has a system prompt of its own.',
    ),
  tools: toolsField,
  branches: branchesField,
  replays: turnReplaysField,
  history: z
    .enum(histories, { error: oneOf(histories) })
    .default('target')
    .describe('Which answers earlier turns have: the answers of the target, or synthetic ones of the maximum length.'),
  'session-header': headerField('the name of a header')
    .refine(name => /^[A-Za-z0-9-]{1,64}$/.test(name), 'the name of a header')
    .optional()
    .describe('Name of a header with an id of the session. Default: none is sent.'),
  'session-field': textField('the name of a request field')
    .optional()
    .describe('Name of a request field with an id of the session, such as prompt_cache_key. Default: none is sent.'),
  'after-429': reactionField
    .default('go-on')
    .describe('After a 429: go on with the next turn, at the earliest when the response allows it, or give up.'),
  'after-failure': reactionField
    .default('give-up')
    .describe('After any other turn without an answer: go on with the next one, or give up.'),
}).describe('A session of chat completions. Each turn has the earlier ones before it, and is due after a think time.')

export const resolvedConversation = z.object({
  kind: z.literal('conversation'),
  ...{ stream: resolvedChat.shape.stream, model: z.string(), modelTier: resolvedChat.shape.modelTier },
  turns: rangeSchema,
  userTokens: rangeSchema,
  maxCompletionTokens: rangeSchema,
  thinkMs: rangeSchema,
  systemTokens: whole,
  systemGroups: whole,
  ownSystemRatio: z.number().min(0).max(1),
  /** Missing: prompts begin as earlier ones did, as the keys above say. */
  cache: z.literal('cold').optional(),
  /** Missing: no tool is offered. */
  tools: z.object({ ratio: z.number().min(0).max(1), resultTokens: rangeSchema, timeMs: rangeSchema }).optional(),
  /** Missing: no turn has branches. */
  branches: z.object({ ratio: z.number().min(0).max(1), count: rangeSchema, turns: rangeSchema }).optional(),
  /** Missing: no turn has an idempotency key. */
  replays: resolvedTurnReplays.optional(),
  history: z.enum(histories),
  /** null: no id of the session is sent. */
  sessionHeader: z.string().nullable(),
  sessionField: z.string().nullable(),
  after429: z.enum(reactions),
  afterFailure: z.enum(reactions),
})
export type ConversationCall = DeepReadonly<z.output<typeof resolvedConversation>>

/** A whole number of the range, each as probable as any other. */
export const drawFrom = ({ from, to }: Range, random: Random): number => from + random.int(Math.floor(to - from) + 1)

const noTime: Range = { from: 0, to: 0 }
const meanOfRange = ({ from, to }: Range): number => (from + to) / 2

type TurnCall = DeepReadonly<z.output<typeof resolvedChat>>

/** The tool that sessions offer. */
export const offeredTool = 'look_up'
const offeredTools = [
  {
    type: 'function',
    function: {
      name: offeredTool,
      description: 'Looks up a word.',
      parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    },
  },
]

/** One turn as a chat call of its own. `callsTool`: whether its answer must be the call of a tool. */
export function chatOfTurn(
  { stream, model, modelTier, sessionField, tools }: ConversationCall,
  { promptTokens, maxCompletionTokens, session, callsTool }: TurnSize & { session: string; callsTool: boolean },
): TurnCall {
  const body = {
    ...(sessionField !== null && { [sessionField]: session }),
    // Every turn offers the tools, because caches count them as a part of the prompt.
    ...(tools && { tools: offeredTools, tool_choice: callsTool ? 'required' : 'none' }),
  }
  const isPlain = Object.keys(body).length === 0
  const options = isPlain ? null : { body, parameters: {}, suffix: null, encoding: null, samePrompt: false }
  return { kind: 'chat', stream, model, modelTier, promptTokens, maxCompletionTokens, isBounded: true, options }
}

type TurnSize = Pick<TurnCall, 'promptTokens' | 'maxCompletionTokens'>

/** At most these tokens of a chat template come with each message. */
const tokensPerMessage = 10

/** The lengths of a session, and the branches after each turn but the last. */
type SessionSize = {
  readonly turns: number
  readonly user: number
  readonly answer: number
  readonly branches: number
  readonly branchTurns: number
}

/** A turn, and how many of a session are like it. */
type AlikeTurns = { readonly turn: TurnCall; readonly times: number }

function turnsOf(call: ConversationCall, size: SessionSize): readonly AlikeTurns[] {
  const { turns, user, answer, branches, branchTurns } = size
  const turnAfter = (earlier: number, times: number): AlikeTurns => {
    const words = call.systemTokens + earlier * (user + answer) + user
    const promptTokens = words + (2 * earlier + 2) * tokensPerMessage
    const length = { promptTokens, maxCompletionTokens: answer }
    return { turn: chatOfTurn(call, { ...length, session: '', callsTool: false }), times }
  }
  return Array.from({ length: turns }, (_, number) => {
    const ofBranch = number === turns - 1 || branches === 0 ? 0 : branchTurns
    return [turnAfter(number, 1), ...Array.from({ length: ofBranch }, (_, at) => turnAfter(number + 1 + at, branches))]
  }).flat()
}

const longestTurns = (call: ConversationCall): readonly AlikeTurns[] =>
  turnsOf(call, {
    turns: call.turns.to,
    user: Math.max(call.userTokens.to, call.tools?.resultTokens.to ?? 0),
    answer: call.maxCompletionTokens.to,
    branches: call.branches === undefined || call.branches.ratio === 0 ? 0 : call.branches.count.to,
    branchTurns: call.branches?.turns.to ?? 0,
  })

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0)

/** The requests of a session, in the order of their ids. The replays of a turn follow it, and then its branches. */
function drawnSteps(
  call: ConversationCall,
  terms: { readonly random: Random; readonly callers: number; readonly keys: number },
): readonly ArrivalStep[] {
  const { replays } = call
  const { random } = terms
  const steps = drawnTurns(call, random)
  if (replays === undefined) return steps
  return steps.flatMap(step => (random.next() < replays.ratio ? [step, ...turnReplays(replays, terms)] : [step]))
}

function drawnTurns({ turns, branches }: ConversationCall, random: Random): readonly ArrivalStep[] {
  const main = Array<ArrivalStep>(drawFrom(turns, random)).fill('turn')
  if (branches === undefined) return main
  return main.flatMap((step, number): readonly ArrivalStep[] => {
    if (number === main.length - 1 || random.next() >= branches.ratio) return [step]
    const forked = Array.from({ length: drawFrom(branches.count, random) }, () => drawFrom(branches.turns, random))
    return [step, ...forked.flatMap(length => branchOf(length))]
  })
}

const branchOf = (length: number): readonly ArrivalStep[] => [
  'branch',
  ...Array<ArrivalStep>(length - 1).fill('branch-turn'),
]

/** What a turn adds to the prompt, on average: the text of the user, or results of tools. */
function meanNewTokens({ userTokens, tools }: ConversationCall): number {
  const ratio = tools?.ratio ?? 0
  return (1 - ratio) * meanOfRange(userTokens) + ratio * (tools === undefined ? 0 : meanOfRange(tools.resultTokens))
}

export const conversation: CallKind<ConversationCall> = {
  judges: ['idempotency', ...chat.judges],
  traits: call => {
    const { turns, model, stream, maxCompletionTokens, thinkMs, tools, branches, replays } = call
    const perTurn = 1 + (replays === undefined ? 0 : meanTurnReplays(replays))
    const toolMs = tools?.timeMs ?? thinkMs
    const meanBranches = branches === undefined ? 0 : branches.ratio * meanOfRange(branches.count)
    const meanBranchTurns = branches === undefined ? 0 : meanOfRange(branches.turns)
    const meanTurns = meanOfRange(turns) + (meanOfRange(turns) - 1) * meanBranches * meanBranchTurns
    const requests = perTurn * meanTurns
    const refusals = meanTurns * (replays === undefined ? 0 : replays.ratio * replays.conflictRatio)
    const mean = turnsOf(call, {
      turns: Math.round(meanOfRange(turns)),
      user: meanNewTokens(call),
      answer: meanOfRange(maxCompletionTokens),
      branches: meanBranches,
      branchTurns: Math.round(meanBranchTurns),
    }).map(({ turn, times }) => ({ ...chat.traits(turn), times }))
    const maxBranchTurns = branches?.turns.to ?? 0
    return {
      ...usualTraits,
      judges: () => (replays === undefined ? chat.judges : conversation.judges),
      limits: (mean[0]?.limits ?? []).map(({ scope }, index) => ({
        scope,
        amount: perTurn * sumOf(mean.map(({ limits, times }) => times * (limits[index]?.amount ?? 0))),
      })),
      cost: conversationCost(call),
      unfitToSaturate: 'which is several requests',
      isSearchable: false,
      requests,
      steps: terms => drawnSteps(call, { ...terms, random: terms.random() }),
      requestsAtOnce: branches?.count.to ?? 1,
      samples: () => requests - refusals,
      refusals: () => refusals,
      maxTokens: (turns.to + (turns.to - 1) * maxBranchTurns) * maxCompletionTokens.to,
      isStream: stream,
      usesOtherCallers: (replays?.otherCallerRatio ?? 0) > 0,
      waitMs: (turns.to - 1) * (1 + maxBranchTurns) * Math.max(thinkMs.to, toolMs.to),
      minWaitMs: (turns.from - 1) * Math.min(thinkMs.from, toolMs.from),
      model,
    }
  },
  prompt: call => ({ ...call, thinkMs: noTime, ...(call.tools && { tools: { ...call.tools, timeMs: noTime } }) }),
  written: call => ({
    stream: call.stream,
    // The model has no name until the service has been asked for it.
    ...(call.model === '' ? { 'model-tier': call.modelTier } : { model: call.model }),
    turns: writtenRange(call.turns),
    'user-tokens': writtenRange(call.userTokens),
    'max-completion-tokens': writtenRange(call.maxCompletionTokens),
    think: writtenRange(call.thinkMs, 'ms'),
    'system-tokens': call.systemTokens,
    'system-groups': call.systemGroups,
    'own-system-ratio': call.ownSystemRatio,
    ...(call.cache && { cache: call.cache }),
    ...(call.tools && {
      tools: {
        ratio: call.tools.ratio,
        'result-tokens': writtenRange(call.tools.resultTokens),
        time: writtenRange(call.tools.timeMs, 'ms'),
      },
    }),
    ...(call.branches && {
      branches: {
        ratio: call.branches.ratio,
        count: writtenRange(call.branches.count),
        turns: writtenRange(call.branches.turns),
      },
    }),
    ...(call.replays && { replays: writtenTurnReplays(call.replays) }),
    history: call.history,
    ...(call.sessionHeader !== null && { 'session-header': call.sessionHeader }),
    ...(call.sessionField !== null && { 'session-field': call.sessionField }),
    'after-429': call.after429,
    'after-failure': call.afterFailure,
  }),
}

/**
 * A session costs at most as much as all of its turns, if every turn and answer has its maximum length. Replays are free,
 * but another caller pays for its own.
 */
function conversationCost(call: ConversationCall): CallCost {
  const longest = longestTurns(call)
  const costs = longest.map(({ turn, times }) => ({ ...chat.traits(turn).cost, times }))
  const paidTimes = 1 + (call.replays === undefined ? 0 : call.replays.ratio * call.replays.otherCallerRatio)
  const last = longest.reduce((a, b) => (b.turn.promptTokens > a.turn.promptTokens ? b : a))
  return {
    credits: () => 0,
    arrivals: (arrivals, contract) =>
      costs.reduce<bigint | null>((sum, cost) => {
        const ofTurn = cost.arrivals(arrivals * cost.times * paidTimes, contract)
        return sum === null || ofTurn === null ? null : sum + ofTurn
      }, 0n),
    maxRequest: contract => chat.traits(last.turn).cost.maxRequest(contract),
    maxCharged:
      sumOf(longest.map(({ times }) => times)) * (1 + (call.replays === undefined ? 0 : mostTurnReplays(call.replays))),
  }
}

export function resolveConversation(value: unknown, context: CallContext): ConversationCall | null {
  const call = parseFields(conversationSchema, value)
  const { turns, 'user-tokens': userTokens, 'max-completion-tokens': maxCompletionTokens, stream, tools } = call
  const found = modelOf(value, context)
  const replays = call.replays && resolveTurnReplays(call.replays, stream ?? true, context)
  const systemTokens = call['system-tokens'] ?? 0
  const isCold = call.cache === 'cold'
  if (isCold && systemTokens < minColdTokens)
    context.report(['cache'], {
      got: `cold with ${systemTokens} system-tokens`,
      expected: `"system-tokens" of at least ${minColdTokens}, which are new in each turn`,
    })
  if (found === null || !isWithinModel(maxCompletionTokens?.to ?? null, found, context)) return null
  if (turns === undefined || userTokens === undefined || maxCompletionTokens === undefined) return null
  return {
    kind: 'conversation',
    stream: stream ?? true,
    model: found.id,
    modelTier: found.tier ?? call['model-tier'] ?? null,
    ...{ turns, userTokens, maxCompletionTokens },
    thinkMs: call.think ?? noTime,
    systemTokens,
    systemGroups: call['system-groups'] ?? 1,
    ownSystemRatio: call['own-system-ratio'] ?? 0,
    ...(isCold && { cache: 'cold' }),
    ...(tools && { tools: { ratio: tools.ratio, resultTokens: tools['result-tokens'], timeMs: tools.time } }),
    ...(call.branches && { branches: call.branches }),
    ...(replays && { replays }),
    history: call.history ?? 'target',
    sessionHeader: call['session-header'] ?? null,
    sessionField: call['session-field'] ?? null,
    after429: call['after-429'] ?? 'go-on',
    afterFailure: call['after-failure'] ?? 'give-up',
  }
}
