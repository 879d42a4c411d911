import { randomStream } from '../../lib/random.ts'
import { type ConversationCall, chatOfTurn, drawFrom } from '../../plan/plan.ts'
import type { CallOf, RequestBuilder, RequestContext, SessionHistory } from './call.ts'
import { buildChatOf, makePrompt } from './chat.ts'

export const conversationRequests: RequestBuilder<CallOf<'conversation'>> = {
  build: (plan, { firstId, turn = { number: 0, turns: 1 } }, headers, context) => {
    const { number, turns, onText } = turn
    const history = turn.history ?? syntheticHistory(plan, firstId, number, context)
    const { userTokens, maxCompletionTokens, userText } = turnOf(plan, firstId, number, context)
    const newTokens = userTokens + (number === 0 && history.isOwn ? plan.systemTokens : 0)
    const session = `${context.runId}-${firstId}`
    const promptTokens = history.tokens + userTokens
    const call = chatOfTurn(plan, { promptTokens, maxCompletionTokens, session })
    const built = buildChatOf(
      call,
      [...history.messages, { role: 'user', content: userText() }],
      headers,
      context,
      onText,
    )
    const { sessionHeader } = plan
    return {
      ...built,
      descriptor: { ...built.descriptor, turn: { session: firstId, number, turns, newTokens } },
      request:
        sessionHeader === null
          ? built.request
          : { ...built.request, headers: { [sessionHeader.toLowerCase()]: session, ...built.request.headers } },
    }
  },
}

/** What a session begins with: its system prompt, if it has one. */
export function openingHistory(
  plan: ConversationCall,
  firstId: number,
  { seed, runId }: Pick<RequestContext, 'seed' | 'runId'>,
): SessionHistory {
  if (plan.systemTokens === 0) return { messages: [], isOwn: false, tokens: 0 }
  const random = randomStream(seed, `session/${firstId}`)
  const isOwn = random.next() < plan.ownSystemRatio
  const group = isOwn ? `own/${firstId}` : `group/${random.int(plan.systemGroups)}`
  const content = makePrompt(plan.systemTokens, randomStream(seed, `system/${runId}/${group}`))
  return { messages: [{ role: 'system', content }], isOwn, tokens: plan.systemTokens }
}

/** One turn as the plan decides it. The text differs in each run, since a cache of the target may outlive a run. */
export type Turn = {
  readonly userTokens: number
  readonly maxCompletionTokens: number
  /** The time before this turn. */
  readonly thinkMs: number
  readonly userText: () => string
  readonly syntheticAnswer: () => string
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
  const text = (tokens: number, who: string): string =>
    makePrompt(tokens, randomStream(seed, `${who}/${runId}/${firstId}/${number}`))
  return {
    ...{ userTokens, maxCompletionTokens, thinkMs },
    userText: () => text(userTokens, 'user'),
    syntheticAnswer: () => text(maxCompletionTokens, 'answer'),
  }
}

/** Adds a turn and its answer. */
export function addTurn(history: SessionHistory, turn: Turn, answer: string): void {
  history.messages.push({ role: 'user', content: turn.userText() }, { role: 'assistant', content: answer })
  history.tokens += turn.userTokens + turn.maxCompletionTokens
}

function syntheticHistory(
  plan: ConversationCall,
  firstId: number,
  number: number,
  context: RequestContext,
): SessionHistory {
  const history = openingHistory(plan, firstId, context)
  for (let earlier = 0; earlier < number; earlier++) {
    const turn = turnOf(plan, firstId, earlier, context)
    addTurn(history, turn, turn.syntheticAnswer())
  }
  return history
}
