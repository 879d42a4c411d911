import type { Contract } from '../../contract/contract.ts'
import { limitHeadersOf, statedWait, statesWait } from '../../contract/limit-headers/limit-headers.ts'
import { isLimitStatus } from '../../contract/limits.ts'
import { inMicroseconds, sleepPreciselyUntil } from '../../lib/clock.ts'
import { parseJson } from '../../lib/json.ts'
import { is2xx } from '../../lib/numbers.ts'
import { statedRequests, statedTokens } from '../../observation/limit-scope.ts'
import type { DropReason, Observation } from '../../observation/observation.ts'
import { type Call, type ConversationCall, replaysOf } from '../../plan/plan.ts'
import { type Arrival, requestIdOf, turnIn } from '../arrivals/arrivals.ts'
import type { SessionHistory, TurnPosition } from './call.ts'
import {
  addTurn,
  answerOfBody,
  answerOfStream,
  branchesAfter,
  isAnswer,
  mainLine,
  noHistory,
  openingHistory,
  type TurnAnswer,
  turnOf,
  waitMsBefore,
} from './conversation.ts'
import { dropStep, planOf, sendStep, stepAt } from './send-step.ts'
import type { SendContext } from './transmit.ts'

/** A session gives up if a 429 states a longer wait. */
const maxWaitMs = 120_000

/**
 * Sends the turns of a session. A turn is due when the think time after the one before it ends, or after the last one of
 * its branches. Resolves when all turns are observed, sent or not, with whether the first one was sent.
 */
export async function sendSession(arrival: Arrival, context: SendContext): Promise<boolean> {
  const plan = conversationOf(planOf(arrival, context))
  const history = openingHistory(plan, arrival.id, context)
  const { wasSent } = await sendLine(mainLine(arrival.steps), history, null, { arrival, plan, context })
  return wasSent
}

/** From when a turn waits until it is due. */
type Begin = { readonly endMs: number; readonly earliestMs: number }

/**
 * Sends turns one after another: the main line of a session, or a branch. `begin`: null if the first turn is due with its
 * arrival. Resolves with whether the first turn was sent, and when the last one ended.
 */
async function sendLine(
  line: readonly number[],
  history: SessionHistory,
  begin: Begin | null,
  session: { readonly arrival: Arrival; readonly plan: ConversationCall; readonly context: SendContext },
): Promise<{ readonly wasSent: boolean; readonly endMs: number }> {
  const { arrival, plan, context } = session
  const { steps } = arrival
  const last = line.at(-1) ?? 0
  const end = last + replaysOf(steps, last)
  let wasSent = false
  let from = begin
  for (const [at, number] of line.entries()) {
    const turn = turnOf(plan, arrival.id, number, context)
    const dueMs =
      from === null
        ? arrival.dueMs
        : inMicroseconds(Math.max(from.endMs + waitMsBefore(turn, history), from.earliestMs))
    if (dueMs > context.clock.nowMs()) await sleepPreciselyUntil(context.clock, dueMs, context.stop)
    if (from !== null && context.stop.aborted) {
      dropTurns(arrival, number, end, 'interrupted', context)
      break
    }
    const replays = replaysOf(steps, number)
    const sent = turnAt(arrival, number, dueMs, 1 + replays, context)
    const { ended, answer } = await sendTurn(sent, positionAt(arrival, number, history, context), context)
    if (at === 0) wasSent = ended !== null && ended.outcome.kind !== 'dropped'
    // A replay has the history of its turn, and adds nothing to it.
    const reason = ended?.outcome.kind === 'dropped' ? ended.outcome.reason : 'no-response'
    const lacks = answer === null ? reason : null
    for (let index = 1; index <= replays; index++)
      await sendReplay(arrival, number + index, { ...sent, seq: sent.seq + index }, lacks, history, context)
    const isAnswered = answer !== null && isAnswer(answer)
    if (isAnswered) addTurn(history, turn, plan.history === 'target' ? answer : turn.syntheticAnswer())
    const ofTurn = nextOf(ended, isAnswered, plan, context)
    const replayedMs = replays > 0 && lacks === null ? context.clock.nowMs() : 0
    const next = typeof ofTurn === 'string' ? ofTurn : { ...ofTurn, endMs: Math.max(ofTurn.endMs, replayedMs) }
    if (typeof next !== 'string') from = next
    if (number === last) break
    if (typeof next === 'string') {
      dropTurns(arrival, number + replaysOf(steps, number) + 1, end, next, context)
      break
    }
    const branches = branchesAfter(steps, number)
    if (branches.length === 0) continue
    const ends = await Promise.all(branches.map(branch => sendLine(branch, copyOf(history), next, session)))
    from = { ...next, endMs: Math.max(...ends.map(({ endMs }) => endMs)) }
  }
  return { wasSent, endMs: from?.endMs ?? arrival.dueMs }
}

const copyOf = (history: SessionHistory): SessionHistory => ({ ...history, messages: [...history.messages] })

/**
 * A step of a session as an arrival of one request. It gets its number now, because it is sent or dropped now. `requests`:
 * it and its replays, which must be judged together, so no other request has a number between theirs.
 */
const turnAt = (
  arrival: Arrival,
  number: number,
  dueMs: number,
  requests: number,
  { callers, nextSeq }: SendContext,
): Arrival => ({
  ...arrival,
  id: requestIdOf(arrival, number, callers.length),
  seq: number === 0 ? arrival.seq : nextSeq(requests),
  dueMs,
  steps: [stepAt(arrival, number)],
})

const positionAt = (arrival: Arrival, number: number, history: SessionHistory, { callers }: SendContext) => {
  const { id: firstId, steps } = arrival
  const turn = turnIn(arrival, number, callers.length) ?? { number, turns: steps.length }
  return { firstId, ...turn, steps, history }
}

/** Sends a turn again, when its answer or the replay before it has come. `lacks`: why there is no answer to repeat; null: there is. */
async function sendReplay(
  arrival: Arrival,
  number: number,
  turn: Arrival,
  lacks: DropReason | null,
  history: SessionHistory,
  context: SendContext,
): Promise<void> {
  const { clock, stop, callers } = context
  const dueMs = inMicroseconds(clock.nowMs())
  const id = requestIdOf(arrival, number, callers.length)
  const replay = { ...turn, id, dueMs, steps: [stepAt(arrival, number)] }
  const own = { ...context, turn: positionAt(arrival, number, history, context) }
  if (lacks !== null || stop.aborted) dropStep(replay, 0, lacks ?? 'interrupted', own)
  else await sendStep(replay, 0, dueMs, own)
}

/** What became of a turn, and its answer; null: it has no success. */
type EndedTurn = { readonly ended: Observation | null; readonly answer: TurnAnswer | null }

async function sendTurn(
  arrival: Arrival,
  position: TurnPosition & { readonly firstId: number },
  context: SendContext,
): Promise<EndedTurn> {
  let body = ''
  let ended: Observation | null = null
  const streamed = answerOfStream()
  await sendStep(arrival, 0, arrival.dueMs, {
    ...context,
    turn: { ...position, onAnswer: streamed },
    transport: async (request, signal, onFree) => {
      const exchange = await context.transport(request, signal, onFree)
      body = exchange.body.toString()
      return exchange
    },
    sink: observation => {
      ended = observation
      context.sink(observation)
    },
  })
  if (!isSuccess(ended)) return { ended, answer: null }
  const answer = streamed.answer()
  return { ended, answer: isAnswer(answer) ? answer : answerOfBody(parseJson(body)) }
}

const isSuccess = (ended: Observation | null): boolean =>
  ended?.outcome.kind === 'answered' && is2xx(ended.outcome.status)

/** When the next turn may be due; or why there is none. */
function nextOf(
  ended: Observation | null,
  isAnswered: boolean,
  plan: ConversationCall,
  { contract, clock }: SendContext,
): { readonly endMs: number; readonly earliestMs: number } | DropReason {
  if (ended === null) return 'interrupted'
  const { outcome, endMs, dueMs, response } = ended
  if (outcome.kind === 'dropped') return outcome.reason
  const from = { endMs: endMs ?? dueMs, earliestMs: 0 }
  // A success with neither a text nor the call of a tool ends nothing.
  if (isAnswered || isSuccess(ended)) return from
  const isRefused = outcome.kind === 'answered' && isLimitStatus(outcome.status, contract)
  if ((isRefused ? plan.after429 : plan.afterFailure) === 'give-up') return 'no-response'
  const waitMs = isRefused && response !== null ? waitIn(response.headers, contract, clock.wallMs()) : 0
  return waitMs > maxWaitMs ? 'no-response' : { ...from, earliestMs: from.endMs + waitMs }
}

/** How long a refusal asks to wait: as it says, or until a limit without anything left resets; 0: it does not say. */
function waitIn(headers: Readonly<Record<string, string>>, contract: Contract, wallMs: number): number {
  const { retryAfter, requests, tokens } = limitHeadersOf(contract.limits)
  const stated = statedWait({ retryAfter: retryAfter === 'none' ? 'seconds' : retryAfter }, headers)
  if (stated !== null) return stated
  const waits = [
    { at: requests, ...statedRequests(headers, contract) },
    { at: tokens, ...statedTokens(headers, contract) },
  ].flatMap(({ at, remaining, reset }) =>
    remaining !== 0 || reset === null ? [] : [statesWait(at) ? reset : reset - wallMs],
  )
  return Math.max(0, ...waits)
}

/** Observes that these turns were not sent. */
function dropTurns(arrival: Arrival, first: number, last: number, reason: DropReason, context: SendContext): void {
  const nowMs = context.clock.nowMs()
  for (let number = first; number <= last; number++)
    dropStep(turnAt(arrival, number, nowMs, 1, context), 0, reason, {
      ...context,
      turn: positionAt(arrival, number, noHistory(), context),
    })
}

function conversationOf(plan: Call): ConversationCall {
  if (plan.kind !== 'conversation') throw new RangeError(`a ${plan.kind} has no turns`)
  return plan
}
