import { replayRoles } from '../../contract/requests/steps.ts'
import { type JsonObject, toObject } from '../../lib/json.ts'
import { randomStream } from '../../lib/random.ts'
import {
  type ArrivalStep,
  type ConversationCall,
  chatOfTurn,
  drawFrom,
  keysOfCaller,
  offeredTool,
  repeatedTurn,
  replaysOf,
  traitsOf,
} from '../../plan/plan.ts'
import { randomOfSteps } from '../arrivals/arrivals.ts'
import {
  type CalledTool,
  type CallOf,
  keyOf,
  type Message,
  type RequestBuilder,
  type RequestContext,
  type SessionHistory,
} from './call.ts'
import { buildChatOf, makePrompt } from './chat.ts'
import { joinToolCalls } from './stream-events.ts'
import type { AnswerSink } from './stream-reader.ts'

export const conversationRequests: RequestBuilder<CallOf<'conversation'>> = {
  build: (plan, { firstId, step, turn = { number: 0, turns: 1 } }, headers, context) => {
    const { turns, group, onAnswer } = turn
    const steps = turn.steps ?? stepsOf(plan, firstId, context)
    // A replay has the content of its turn.
    const number = repeatedTurn(steps, turn.number)
    // A command in a report sends the turn before its replay.
    const isOriginal = number === turn.number || step === 'original'
    const role = isOriginal ? 'original' : (replayRoles.find(each => each === steps[turn.number]) ?? 'duplicate')
    const replay = group === undefined ? null : { group, role, concurrent: false }
    const before = turnsBefore(steps, number)
    const history = turn.history ?? syntheticHistory(plan, firstId, before, context)
    const own = turnOf(plan, firstId, number, context)
    // A conflict has the key of its turn, and says something else.
    const said = role === 'conflict' ? { ...own, text: (tokens: number) => own.text(tokens, role) } : own
    const { tokens, messages } = inputOf(said, history)
    const { cache } = plan
    // After a beginning of its own, nothing of a prompt was sent before, not even what earlier turns said.
    // Another account may get from a cache what the turn itself has sent.
    const isSentBefore = role !== 'original' && role !== 'conflict'
    const newTokens = isSentBefore ? 0 : tokens + (number === 0 || cache === 'cold' ? history.ownTokens : 0)
    const earlier =
      cache === 'cold' ? [ownSystem(plan, firstId, number, context), ...history.messages.slice(1)] : history.messages
    const session = `${context.runId}-${firstId}`
    const promptTokens = history.tokens + tokens
    const { maxCompletionTokens } = own
    const callsTool = own.callsTool && !isLast(steps, number)
    const isBranch = isOfBranch(steps, number)
    const place = { isBranch, number: before.filter(each => isOfBranch(steps, each) === isBranch).length }
    const call = chatOfTurn(plan, { promptTokens, maxCompletionTokens, session, callsTool })
    const keyed = { ...keyOf(replay, context.contract, context.runId), ...headers }
    const built = buildChatOf(call, [...earlier, ...messages()], keyed, context, onAnswer)
    const { sessionHeader } = plan
    return {
      ...built,
      descriptor: {
        ...built.descriptor,
        ...(replay && { replay }),
        turn: {
          ...{ session: firstId, number: turn.number, turns, newTokens },
          ...((plan.branches || plan.replays) && { place }),
        },
      },
      keepsDigest: replay !== null,
      request:
        sessionHeader === null
          ? built.request
          : { ...built.request, headers: { [sessionHeader.toLowerCase()]: session, ...built.request.headers } },
    }
  },
  refusalsOf: ({ replays, turns }, steps) =>
    steps === null
      ? Math.ceil(turns.to * (replays?.conflictRatio ?? 0))
      : steps.filter(step => step === 'conflict').length,
}

function stepsOf(plan: ConversationCall, firstId: number, { seed, planned }: RequestContext): readonly ArrivalStep[] {
  const callers = planned?.names.length ?? 1
  const keys = planned === undefined ? 1 : keysOfCaller(planned, firstId % callers)
  return traitsOf(plan).steps({ random: () => randomOfSteps(seed, firstId), callers, keys })
}

const isOfBranch = (steps: readonly ArrivalStep[], number: number): boolean =>
  steps[number] === 'branch' || steps[number] === 'branch-turn'

/** Whether a turn is the last one of its branch, or of its session. */
const isLast = (steps: readonly ArrivalStep[], number: number): boolean =>
  isOfBranch(steps, number)
    ? steps[number + replaysOf(steps, number) + 1] !== 'branch-turn'
    : number >= steps.lastIndexOf('turn')

/** The turns that a turn has before it: of the main line, and of its own branch. */
function turnsBefore(steps: readonly ArrivalStep[], number: number): readonly number[] {
  const first = isOfBranch(steps, number) ? steps.lastIndexOf('branch', number) : number
  const isBefore = (each: number) => isTurnAt(steps, each) && (each >= first || !isOfBranch(steps, each))
  return [...steps.slice(0, number).keys()].filter(isBefore)
}

/** The main line of a session. */
export const mainLine = (steps: readonly ArrivalStep[]): readonly number[] =>
  [...steps.keys()].filter(number => isTurnAt(steps, number) && !isOfBranch(steps, number))

const isTurnAt = (steps: readonly ArrivalStep[], number: number): boolean => repeatedTurn(steps, number) === number

/** The branches after a turn of the main line, each as its turns. */
export function branchesAfter(steps: readonly ArrivalStep[], number: number): readonly (readonly number[])[] {
  const branches: number[][] = []
  if (isOfBranch(steps, number)) return branches
  const first = number + replaysOf(steps, number) + 1
  for (let next = first; isOfBranch(steps, next); next += replaysOf(steps, next) + 1)
    if (steps[next] === 'branch') branches.push([next])
    else branches.at(-1)?.push(next)
  return branches
}

/** What a session begins with: its system prompt, if it has one. */
export function openingHistory(
  plan: ConversationCall,
  firstId: number,
  { seed, runId }: Pick<RequestContext, 'seed' | 'runId'>,
): SessionHistory {
  const { systemTokens, systemGroups, ownSystemRatio, cache } = plan
  if (systemTokens === 0) return noHistory()
  const random = randomStream(seed, `session/${firstId}`)
  const isOwn = random.next() < ownSystemRatio
  const group = isOwn ? `own/${firstId}` : `group/${random.int(systemGroups)}`
  const opening = systemMessage(plan, group, { seed, runId })
  return {
    messages: [opening],
    ownTokens: isOwn || cache === 'cold' ? systemTokens : 0,
    tokens: systemTokens,
    called: [],
  }
}

type TextSource = Pick<RequestContext, 'seed' | 'runId'>

/** The system prompt of one turn of a conversation that no cache should serve. */
const ownSystem = (plan: ConversationCall, firstId: number, number: number, source: TextSource): Message =>
  systemMessage(plan, `cold/${firstId}/${number}`, source)

const systemMessage = ({ systemTokens }: ConversationCall, whose: string, { seed, runId }: TextSource): Message => ({
  role: 'system',
  content: makePrompt(systemTokens, randomStream(seed, `system/${runId}/${whose}`)),
})

export const noHistory = (): SessionHistory => ({ messages: [], ownTokens: 0, tokens: 0, called: [] })

/** One turn as the plan decides it. The text differs in each run, since a cache of the target may outlive a run. */
export type Turn = {
  readonly userTokens: number
  readonly maxCompletionTokens: number
  /** The time before this turn: of the user, or of the tools that have results. */
  readonly thinkMs: number
  readonly toolMs: number
  readonly resultTokens: number
  /** Whether its answer must be the call of a tool. That of the last turn need not be. */
  readonly callsTool: boolean
  readonly text: (tokens: number, who: string) => string
  readonly syntheticAnswer: () => TurnAnswer
}

export function turnOf(
  plan: ConversationCall,
  firstId: number,
  number: number,
  { seed, runId }: Pick<RequestContext, 'seed' | 'runId'>,
): Turn {
  const random = randomStream(seed, `turn/${firstId}/${number}`)
  const userTokens = drawFrom(plan.userTokens, random)
  const maxCompletionTokens = drawFrom(plan.maxCompletionTokens, random)
  const thinkMs = drawFrom(plan.thinkMs, random)
  const { tools } = plan
  const callsTool = tools !== undefined && random.next() < tools.ratio
  const text = (tokens: number, who: string): string =>
    makePrompt(tokens, randomStream(seed, `${who}/${runId}/${firstId}/${number}`))
  return {
    ...{ userTokens, maxCompletionTokens, thinkMs, callsTool, text },
    toolMs: tools === undefined ? 0 : drawFrom(tools.timeMs, random),
    resultTokens: tools === undefined ? 0 : drawFrom(tools.resultTokens, random),
    syntheticAnswer: () => {
      const words = text(maxCompletionTokens, 'answer')
      if (!callsTool) return { text: words, calls: [] }
      const called = { name: offeredTool, arguments: JSON.stringify({ word: words }) }
      return { text: '', calls: [{ id: `call_${firstId}_${number}`, type: 'function', function: called }] }
    },
  }
}

/** The new messages of a turn: the text of the user, or a result for each tool call of the answer before it. */
function inputOf(
  { userTokens, resultTokens, text }: Turn,
  { called }: Pick<SessionHistory, 'called'>,
): { readonly tokens: number; readonly messages: () => readonly Message[] } {
  if (called.length === 0)
    return { tokens: userTokens, messages: () => [{ role: 'user', content: text(userTokens, 'user') }] }
  const each = Math.max(1, Math.floor(resultTokens / called.length))
  return {
    tokens: each * called.length,
    messages: () =>
      called.map((id, index) => ({ role: 'tool', tool_call_id: id, content: text(each, `tool/${index}`) })),
  }
}

/** When a turn is due, after the answer before it. */
export const waitMsBefore = ({ thinkMs, toolMs }: Turn, { called }: SessionHistory): number =>
  called.length === 0 ? thinkMs : toolMs

/** What later turns have of an answer: its text, or its calls of tools. */
export type TurnAnswer = {
  readonly text: string
  readonly calls: readonly CalledTool[]
  /** Fields of the message that callers must return as they came. Missing in streams: how their pieces join is open. */
  readonly returned?: JsonObject
}

const returnedFields = ['reasoning_details', 'thought_signature']

export const isAnswer = ({ text, calls }: TurnAnswer): boolean => text !== '' || calls.length > 0

export function addTurn(history: SessionHistory, turn: Turn, { text, calls, returned }: TurnAnswer): void {
  const { tokens, messages } = inputOf(turn, history)
  const isCall = calls.length > 0
  history.messages.push(...messages(), {
    role: 'assistant',
    content: isCall ? text || null : text,
    ...(isCall && { tool_calls: calls }),
    ...returned,
  })
  history.ownTokens += tokens
  history.tokens += tokens + turn.maxCompletionTokens
  history.called = calls.map(({ id }) => id)
}

/** Puts an answer together from the pieces of a stream. */
export function answerOfStream(): AnswerSink & { readonly answer: () => TurnAnswer } {
  let whole = ''
  const joined = joinToolCalls()
  return {
    text: piece => {
      whole += piece
    },
    toolCalls: joined.add,
    answer: () => ({
      text: whole,
      calls: usableCalls(joined.calls.map(({ id, ...named }) => ({ id, function: named }))),
    }),
  }
}

const maxToolCalls = 64

/** The answer in the first choice of a whole completion. */
export function answerOfBody(body: unknown): TurnAnswer {
  const choices = toObject(body)?.choices
  const message = toObject(toObject(Array.isArray(choices) ? choices[0] : null)?.message) ?? {}
  const { content, tool_calls: calls } = message
  const returned = returnedFields.filter(name => (message[name] ?? null) !== null)
  return {
    text: typeof content === 'string' ? content : '',
    calls: usableCalls(Array.isArray(calls) ? calls.slice(0, maxToolCalls) : []),
    ...(returned.length > 0 && { returned: Object.fromEntries(returned.map(name => [name, message[name]])) }),
  }
}

/** The calls that a later turn can have results for. */
const usableCalls = (calls: readonly unknown[]): readonly CalledTool[] =>
  calls.flatMap(call => {
    const { id, function: named } = toObject(call) ?? {}
    const { name, arguments: said } = toObject(named) ?? {}
    if (typeof id !== 'string' || id === '' || typeof name !== 'string' || typeof said !== 'string') return []
    return [{ id, type: 'function' as const, function: { name, arguments: said } }]
  })

function syntheticHistory(
  plan: ConversationCall,
  firstId: number,
  before: readonly number[],
  context: RequestContext,
): SessionHistory {
  const history = openingHistory(plan, firstId, context)
  for (const earlier of before) {
    const turn = turnOf(plan, firstId, earlier, context)
    addTurn(history, turn, turn.syntheticAnswer())
  }
  return history
}
