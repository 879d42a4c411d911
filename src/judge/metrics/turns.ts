import type { Contract } from '../../contract/contract.ts'
import { toObject } from '../../lib/json.ts'
import { formatPico } from '../../lib/money.ts'
import { type Observation, type Sink, streamOf } from '../../observation/observation.ts'
import { requestTraits } from '../../observation/requests/request.ts'
import type { TurnDescriptor } from '../../observation/requests/traits.ts'
import { jsonObject } from '../../observation/response.ts'
import { isSystemStage, type Plan } from '../../plan/plan.ts'
import { claimInBody, claimInHeader } from '../audits/ledger/charge.ts'
import { tokenCounts } from '../checks/completion.ts'
import { listPrice, priceListOf } from '../checks/price-list.ts'
import { eachBy, getOrAdd, into, type MergeRules, mapBy, mergeFields, sum, sumBigint } from '../merge.ts'
import type { ConversationResult, TurnResult } from '../results.ts'
import {
  createHistogram,
  type HistogramSnapshot,
  type MutableHistogram,
  mergeHistograms,
  percentilesOf,
} from './histogram.ts'
import { isSuccess, timingMs } from './timings.ts'

/** Conversations by call: their sessions, and their turns by number. Memory is bounded by the plan. */
export type TurnFold = {
  readonly add: Sink
  readonly results: () => readonly ConversationResult[]
  readonly snapshot: () => TurnsSnapshot
  readonly merge: (snapshot: TurnsSnapshot) => void
}

/** Plain data, for merging. By call, and by row. */
export type TurnsSnapshot = {
  readonly sessions: ReadonlyMap<string, Sessions>
  readonly turns: ReadonlyMap<string, ReadonlyMap<number, TurnSums & TurnTimes<HistogramSnapshot>>>
}

type Sessions = { readonly started: number; readonly finished: number; readonly gaveUp: number }

type TurnSums = {
  readonly sent: number
  readonly answered: number
  readonly toolCalls: number
  /** Answers that state their tokens. The sums of tokens are over these. */
  readonly counted: number
  /** Those of them that state tokens of a cache. */
  readonly hits: number
  readonly promptTokens: number
  readonly cachedTokens: number
  /** The maximum that a cache can have had. */
  readonly cacheableTokens: number
  readonly claimedPico: bigint
  /** What they would cost by the price list if nothing came from a cache; those without a price are counted. */
  readonly uncachedPico: bigint
  readonly unpriced: number
}

/** Times to the first token, of answers with tokens from a cache and of the others. */
type TurnTimes<Times> = { readonly hit: Times; readonly miss: Times }

type OwnSums = { -readonly [Name in keyof TurnSums]: TurnSums[Name] } & TurnTimes<MutableHistogram>

const noSessions = (): Sessions => ({ started: 0, finished: 0, gaveUp: 0 })
const noTurns = (): OwnSums => ({
  ...{ sent: 0, answered: 0, toolCalls: 0, counted: 0, hits: 0, promptTokens: 0, cachedTokens: 0, cacheableTokens: 0 },
  ...{ claimedPico: 0n, uncachedPico: 0n, unpriced: 0 },
  ...{ hit: createHistogram(), miss: createHistogram() },
})

const sessionRules: MergeRules<Sessions> = eachBy(sum, ['started', 'finished', 'gaveUp'])
const turnRules: MergeRules<TurnSums & TurnTimes<HistogramSnapshot>, OwnSums> = {
  ...eachBy(sum, [
    'sent',
    'answered',
    'toolCalls',
    'counted',
    'hits',
    'promptTokens',
    'cachedTokens',
    'cacheableTokens',
    'unpriced',
  ]),
  ...eachBy(sumBigint, ['claimedPico', 'uncachedPico']),
  ...eachBy(into<HistogramSnapshot, MutableHistogram>, ['hit', 'miss']),
}

/** Later turns share the last row. The rows of branches follow those of the main line. */
const maxRows = 32
const rowOf = ({ number, place = { isBranch: false, number } }: TurnDescriptor): number =>
  Math.min(place.number, maxRows - 1) + (place.isBranch ? maxRows : 0)

export function createTurnFold(plan: Pick<Plan, 'calls'>, contract?: Contract): TurnFold {
  const sessions = new Map<string, Sessions>()
  const turns = new Map<string, Map<number, OwnSums>>()

  const isCold = (call: string): boolean => {
    const planned = plan.calls[call]
    return planned?.kind === 'conversation' && planned.cache === 'cold'
  }

  const addSession = (call: string, more: Partial<Sessions>): void =>
    void sessions.set(
      call,
      mergeFields({ ...(sessions.get(call) ?? noSessions()) }, { ...noSessions(), ...more }, sessionRules),
    )

  const addTurn = (o: Observation, turn: TurnDescriptor): void => {
    const { call, outcome } = o
    const isSent = outcome.kind !== 'dropped'
    const isLast = turn.number === turn.turns - 1
    if (turn.number === 0 && isSent) addSession(call, { started: 1 })
    if (isLast && isSuccess(o)) addSession(call, { finished: 1 })
    else if (isLast && (isSent || outcome.reason === 'no-response')) addSession(call, { gaveUp: 1 })
    if (!isSent) return
    const own = getOrAdd(getOrAdd(turns, call, emptyRows), rowOf(turn), noTurns)
    own.sent++
    if (isSuccess(o)) addAnswer(own, o, turn)
  }

  const addAnswer = (own: OwnSums, o: Observation, { newTokens }: TurnDescriptor): void => {
    own.answered++
    const { response, request } = o
    if (callsTool(o)) own.toolCalls++
    const claim = response && (claimInBody(response) ?? (contract && claimInHeader(response, contract)))
    own.claimedPico += claim?.max ?? 0n
    const counts = tokenCounts(streamOf(o)?.usage ?? (response && jsonObject(response)?.usage))
    const ttftMs = timingMs('ttft', o)
    if (ttftMs !== null) (counts !== null && counts.cached > 0 ? own.hit : own.miss).record(ttftMs)
    const model = requestTraits(request).subject(request)
    const uncached =
      counts && contract ? listPrice(priceListOf(contract), model, { ...counts, cached: 0, written: 0 }) : null
    if (uncached === null) own.unpriced++
    else own.uncachedPico += uncached
    if (counts === null) return
    own.counted++
    if (counts.cached > 0) own.hits++
    own.promptTokens += counts.prompt
    own.cachedTokens += counts.cached
    own.cacheableTokens += isCold(o.call) ? 0 : Math.max(0, counts.prompt - newTokens)
  }

  return {
    add: o => {
      const turn = requestTraits(o.request).turn(o.request)
      if (turn !== null && Object.hasOwn(plan.calls, o.call) && !isSystemStage(o.stage)) addTurn(o, turn)
    },
    results: () =>
      Object.keys(plan.calls).flatMap(call => {
        const ofCall = sessions.get(call)
        return ofCall === undefined
          ? []
          : [resultOf(call, isCold(call) ? 'cold' : 'warm', ofCall, turns.get(call) ?? emptyRows())]
      }),
    snapshot: () => ({
      sessions: new Map(sessions),
      turns: new Map(
        [...turns].map(([call, rows]) => [
          call,
          new Map(
            [...rows].map(([number, own]) => [number, { ...own, hit: own.hit.snapshot(), miss: own.miss.snapshot() }]),
          ),
        ]),
      ),
    }),
    merge: snapshot => {
      for (const [call, ofCall] of snapshot.sessions) addSession(call, ofCall)
      for (const [call, rows] of snapshot.turns) mergeRows(getOrAdd(turns, call, emptyRows), rows)
    },
  }
}

function callsTool(o: Observation): boolean {
  const choices = o.response && jsonObject(o.response)?.choices
  const whole = Array.isArray(choices) ? toObject(choices[0])?.finish_reason : null
  return (streamOf(o)?.finishReasons[0] ?? whole) === 'tool_calls'
}

const emptyRows = (): Map<number, OwnSums> => new Map()
const mergeRows = mapBy(
  (own: OwnSums, part: TurnSums & TurnTimes<HistogramSnapshot>) => mergeFields(own, part, turnRules),
  noTurns,
)

function resultOf(
  call: string,
  cache: ConversationResult['cache'],
  sessions: Sessions,
  rows: ReadonlyMap<number, OwnSums>,
): ConversationResult {
  const turns = [...rows].toSorted(([a], [b]) => a - b).map(([number, own]) => turnResult(number, own))
  const all = [...rows.values()]
  const claimed = all.reduce((total, { claimedPico }) => total + claimedPico, 0n)
  const uncached = all.reduce((total, { uncachedPico }) => total + uncachedPico, 0n)
  const { started, finished, gaveUp } = sessions
  return {
    ...{ call, cache },
    ...{ started, finished, gaveUp },
    claimedUsd: formatPico(claimed),
    uncachedUsd: all.some(({ unpriced }) => unpriced > 0) ? null : formatPico(uncached),
    hitTtftMs: percentilesOf(mergeHistograms(all.map(({ hit }) => hit))),
    missTtftMs: percentilesOf(mergeHistograms(all.map(({ miss }) => miss))),
    turns,
  }
}

function turnResult(row: number, own: OwnSums): TurnResult {
  const { claimedPico, hit, miss, uncachedPico: _, unpriced: __, ...sums } = own
  return {
    turn: (row % maxRows) + 1,
    isBranch: row >= maxRows,
    ...sums,
    claimedUsd: formatPico(claimedPico),
    ttftMs: percentilesOf(mergeHistograms([hit, miss])),
    hitTtftMs: percentilesOf(hit),
    missTtftMs: percentilesOf(miss),
  }
}
