import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { moneyHeaderNames } from '../contract/headers.ts'
import { resetInMs } from '../contract/limit-headers/forms.ts'
import { limitHeadersOf, statedWait, statesWait } from '../contract/limit-headers/limit-headers.ts'
import type { AddedSecrets } from '../contract/requests/additions.ts'
import { statedAmounts } from '../judge/checks/completion.ts'
import { type Clock, sleepUntil } from '../lib/clock.ts'
import { toObject } from '../lib/json.ts'
import { createMask, textsOfSecrets } from '../lib/mask/mask.ts'
import { nearestPico } from '../lib/money.ts'
import { is2xx } from '../lib/numbers.ts'
import { statedRequests, statedTokens } from '../observation/limit-scope.ts'
import { type Observation, streamOf } from '../observation/observation.ts'
import { applicableLimit } from '../observation/requests/request.ts'
import { isOverLimit, isReplayed } from '../observation/response.ts'
import { type Bounds, type Call, type ReplayStep, traitsOf } from '../plan/plan.ts'
import { authorize, type Headers, type KeyCaller } from '../produce/callers/caller.ts'
import type { BuiltRequest } from '../produce/calls/call.ts'
import { buildRequest } from '../produce/calls/kinds.ts'
import { transmit } from '../produce/calls/transmit.ts'
import type { Transport } from '../produce/transport/transport.ts'

/** One request of a question, which is built as a run builds it. */
export type Ask = {
  readonly call: Call
  /** Its role among the requests with one idempotency key. */
  readonly step?: ReplayStep
  /** The number of the call that uses the idempotency key first. Missing: this one. */
  readonly first?: number
  /** Without a key, or with that of another account. Missing: as the caller. A probe has the credentials of its sender. */
  readonly as?: 'anonymous' | 'other'
  /** The maximum cost of the call. */
  readonly worstPico: bigint
  /** Whether it is to reach a limit of the target, so that it does not wait for one. */
  readonly isBeyondLimit?: boolean
  /** Whether it counts a limit that is not stated, for which there are calls and time of their own. */
  readonly isCounting?: boolean
  /** How long to wait before it, at least. */
  readonly afterMs?: number
}

/** The response to a call, or why there is none. */
export type Answer = {
  /** From 1; 0 if the call was not made. */
  readonly call: number
  /** Method and path. */
  readonly what: string
  readonly status: number | null
  /** Why there is no complete response, or no body that can be read. */
  readonly why: string
  readonly headers: Headers
  /** The JSON value of the body; undefined if it is none. */
  readonly body: unknown
  /** The record of the call, by which it is judged; null if it was not made. */
  readonly observation: Observation | null
}

export type AskerOptions = {
  readonly send: Transport
  readonly clock: Clock
  readonly caller: KeyCaller
  /** Of another account; null: none is known. */
  readonly otherCaller?: KeyCaller | null
  readonly zeroBalanceKey: string | null
  /** null: no budget binds. */
  readonly budgetPico: bigint | null
  readonly maxCalls: number
  /** The longest wait for all limits together. */
  readonly maxWaitMs?: number
  /** The secret headers that the profile of the target adds. */
  readonly addedSecrets?: AddedSecrets | undefined
  /** Called before a wait for a limit of the target. */
  readonly onWait?: (waitMs: number) => void
}

export type Asker = {
  /**
   * Makes one call by this contract, unless a bound forbids it. Waits where a limit of the target or its abuse block would
   * be reached.
   */
  readonly ask: (ask: Ask, contract: Contract) => Promise<Answer>
  /** Every response so far, in the order of the calls. */
  readonly replies: () => readonly Answer[]
  readonly callsLeft: () => number
  readonly spentPico: () => bigint
  /** Whether a key of an account without a balance is known. */
  readonly hasZeroBalance: boolean
  /** Whether a key of another account is known. */
  readonly hasOtherCaller: boolean
}

export const timeouts = { connectMs: 5_000, headersMs: 10_000, idleMs: 10_000, totalMs: 10_000 } as const
export const maxBodyBytes = 4 * 1024 * 1024
const bounds: Bounds = {
  maxInFlight: 2,
  maxBodyBytes,
  drainMs: 0,
  timeouts: { chat: timeouts, rpc: timeouts, control: timeouts },
}
/** Five less than the document blocks for. */
const maxFailures = 15
const failureWindowMs = 31_000
export const tooLong = 'not asked, because the limits of the target would need too long a wait'
/** The longest wait for all limits together, by default. */
const longestWaitMs = 240_000
/** To count a limit that is not stated, beyond the other bounds. */
export const counting = { calls: 60, waitMs: 300_000 } as const
/** After as many calls in a row without any response, the target is down. */
const maxSilent = 3

/** `isGuess`: nothing states when it ends. */
type Window = { readonly remaining: number; readonly tokens: number | null } & WindowEnd
type WindowEnd = { readonly resetMs: number; readonly isGuess?: boolean }

/** Enough for the small completions that are requested. */
const tokensOfCall = 200

/**
 * Makes calls within their bounds: number, budget, time, the limits that the responses state, and the failures that an
 * abuse block counts. A misbehaving target makes replies without a status.
 */
export function createAsker(options: AskerOptions): Asker {
  const { send, clock, caller, otherCaller = null, zeroBalanceKey, budgetPico, maxCalls } = options
  const { addedSecrets, maxWaitMs = longestWaitMs, onWait = () => {} } = options
  const replies: Answer[] = []
  const windows = new Map<string, Window>()
  /** In a row, by what limits them. */
  const refusals = new Map<string, number>()
  let failedMs: readonly number[] = []
  let inFlight = 0
  let calls = 0
  let silent = 0
  let claimedPico = 0n
  let reservedPico = 0n
  let waitedMs = 0
  /** By header. */
  const balances = new Map<string, { readonly first: bigint; readonly lowest: bigint }>()
  const mask = createMask([
    ...[...caller.keys, ...(otherCaller?.keys ?? []), zeroBalanceKey ?? ''],
    ...textsOfSecrets(Object.values(addedSecrets ?? {})),
  ])
  const abort = new AbortController().signal
  /** Earlier attempts may have used keys, too. */
  const runId = `turnpike-learn-${Math.round(clock.wallMs())}`

  const spentPico = (): bigint => {
    const taken = [...balances.values()].reduce((sum, { first, lowest }) => sum + first - lowest, 0n)
    return claimedPico > taken ? claimedPico : taken
  }

  return {
    ask,
    replies: () => replies,
    callsLeft: () => maxCalls - calls,
    spentPico,
    hasZeroBalance: zeroBalanceKey !== null,
    hasOtherCaller: otherCaller !== null,
  }

  /** A refusal by a limit answers no question, so it is sent again after the wait. Other credentials may draw on another limit. */
  async function ask(request: Ask, contract: Contract): Promise<Answer> {
    const draft = build(request, contract, 0, {}, '')
    const scope = `${scopeOf(draft, contract)} ${senderOf(request)}`
    const call = await admit(scope, request)
    // Without secrets of the address.
    const what = describe(request, draft)
    if (typeof call === 'string') return unsent(what, call)
    const reply = await exchange(request, contract, call, what)
    reservedPico -= request.worstPico
    inFlight--
    replies.push(reply)
    record(request, scope, reply, contract)
    const refused = isRefused(reply) ? (refusals.get(scope) ?? 0) + 1 : 0
    refusals.set(scope, refused)
    if (refused === 0 || request.isBeyondLimit === true || refused > unstatedWaitsMs.length) return reply
    const later = await ask(request, contract)
    return later.call === 0 ? reply : later
  }

  /** The number of the call, or why it must not be made. */
  async function admit(scope: string, asked: Ask): Promise<number | string> {
    const { call, worstPico, isBeyondLimit = false, afterMs = 0 } = asked
    const more = asked.isCounting === true ? counting : { calls: 0, waitMs: 0 }
    if (silent >= maxSilent) return 'not asked, because the target stopped responding'
    const wallMs = clock.wallMs()
    // Of two at once, neither must wait for the next window alone.
    const others = call.kind === 'replay' && call.concurrent ? 1 : inFlight
    const leftMs = maxWaitMs + more.waitMs - waitedMs
    const limitMs = isBeyondLimit ? 0 : windowEndMs(scope, others, wallMs + leftMs - 1)
    const waitMs = Math.max(limitMs, failuresEndMs(), wallMs + afterMs) - wallMs
    if (waitMs > 0) {
      if (waitMs > leftMs) return tooLong
      waitedMs += waitMs
      onWait(waitMs)
      await sleepUntil(clock, clock.nowMs() + waitMs)
    }
    if (calls >= maxCalls + more.calls) return `not asked, because ${maxCalls} calls are the maximum`
    if (budgetPico !== null && spentPico() + reservedPico + worstPico > budgetPico)
      return 'not asked, because the budget does not cover it'
    // Reserved here, so that a concurrent call sees it.
    inFlight++
    reservedPico += worstPico
    return ++calls
  }

  /** `lastMs`: how long it may wait. A guess that is longer becomes this, if it is worth a try. */
  function windowEndMs(scope: string, others: number, lastMs: number): number {
    const window = windows.get(scope)
    const wallMs = clock.wallMs()
    if (window === undefined || window.resetMs <= wallMs) return 0
    const isFull = window.remaining - others < 1 || (window.tokens !== null && window.tokens < tokensOfCall)
    if (!isFull) return 0
    const isCut = window.isGuess === true && window.resetMs > lastMs && lastMs - wallMs > unstatedWaitsMs[1]
    return isCut ? lastMs : window.resetMs
  }

  function failuresEndMs(): number {
    const now = clock.wallMs()
    failedMs = failedMs.filter(atMs => atMs > now - failureWindowMs)
    const [oldest] = failedMs
    return oldest !== undefined && failedMs.length + inFlight >= maxFailures ? oldest + failureWindowMs : 0
  }

  async function exchange(request: Ask, contract: Contract, call: number, what: string): Promise<Answer> {
    const { step = 'only', first = call } = request
    const built = build(request, contract, call, credentialsFor(request, contract), runId, addedSecrets)
    const arrival = {
      ...{ id: first, seq: first, stage: 'learn', trial: null, call: request.call.kind },
      ...{ caller: 0, key: 0, dueMs: clock.nowMs(), steps: [step] },
    }
    const due = { arrival, index: call - first, dueMs: arrival.dueMs, origin: { caller, key: 0 }, built }
    let answer = unsent(what, 'not sent')
    await transmit(due, {
      ...{ contract, callers: [caller], mask, accountTier: 'default', transport: send, abort, traceIds: null },
      maySend: () => true,
      sink: observation => {
        // Without its key, or with that of another account, it may draw on other limits.
        const sender = request.as === undefined ? {} : { caller: request.as }
        answer = answerOf(call, what, { ...observation, ...sender })
      },
    })
    return answer
  }

  function credentialsFor({ call, as }: Ask, contract: Contract): Headers {
    if (traitsOf(call).sender === 'zero-balance')
      return authorize({ kind: 'key', name: 'zero-balance', keys: [zeroBalanceKey ?? ''] }, 0, contract)
    if (as === 'other' && otherCaller !== null) return authorize(otherCaller, 0, contract)
    return as === 'anonymous' || caller.keys.length === 0 ? {} : authorize(caller, 0, contract)
  }

  function record(request: Ask, scope: string, reply: Answer, contract: Contract): void {
    const wallMs = clock.wallMs()
    silent = reply.status === null ? silent + 1 : 0
    if (!is2xx(reply.status)) failedMs = [...failedMs, wallMs]
    claimedPico += costOf(reply, request.worstPico)
    const window = windowOf(reply, wallMs, contract, refusals.get(scope) ?? 0)
    if (window !== null) windows.set(scope, window)
    else if (windows.get(scope)?.isGuess === true) windows.delete(scope)
    if (senderOf(request) !== 'caller') return
    for (const [name, balance] of balancesIn(reply)) {
      const { first, lowest } = balances.get(name) ?? { first: balance, lowest: balance }
      balances.set(name, { first, lowest: balance < lowest ? balance : lowest })
    }
  }
}

/** "Limit exceeded" of EIP-1474, with which nodes refuse, often with status 200. */
const limitCode = -32_005

/** Whether a limit refuses a call. */
export const isRefused = ({ observation }: Answer): boolean =>
  observation !== null && observation.response !== null && isOverLimit(observation.response, { rpc: { limitCode } })

/** On our clock; 0 if it was not sent. */
export const sentMs = ({ observation }: Answer): number => observation?.sentMs ?? 0
export const endMs = (reply: Answer): number => reply.observation?.endMs ?? sentMs(reply)

const senderOf = ({ call, as }: Ask): string => as ?? traitsOf(call).sender

function build(
  { call: plan, step = 'only', first }: Ask,
  contract: Contract,
  call: number,
  headers: Headers,
  runId: string,
  addedSecrets?: AddedSecrets,
): BuiltRequest {
  const context = { contract, bounds, seed: 0, runId, addedSecrets }
  return buildRequest(plan, { firstId: first ?? call, step }, headers, context)
}

/** The limit that a request may draw on. */
const scopeOf = ({ descriptor: request }: BuiltRequest, contract: Contract): string =>
  applicableLimit({ request, accountTier: 'default', response: null }, contract)?.name ?? 'control'

function describe(ask: Ask, { request: { method, path } }: BuiltRequest): string {
  const sender = senderOf(ask)
  return `${method} ${path === '' ? '/' : path}${sender === 'caller' ? '' : ` (${sender})`}`
}

/** The answer to a request that was not sent, and why. */
export const unsent = (what: string, why: string): Answer => ({
  ...{ call: 0, what, why },
  ...{ status: null, headers: {}, body: undefined, observation: null },
})

function answerOf(call: number, what: string, observation: Observation): Answer {
  const { response, outcome } = observation
  // A stream with a fault was answered all the same.
  const isAnswered = outcome.kind === 'answered' || outcome.kind === 'left' || outcome.reason.startsWith('stream-')
  return {
    call,
    what,
    status: isAnswered && response?.headersCut !== true ? (response?.status ?? null) : null,
    why: isAnswered ? unreadable(response) : outcome.reason,
    headers: response?.headers ?? {},
    body: response?.body.kind === 'json' ? response.body.value : undefined,
    observation,
  }
}

function unreadable(response: Observation['response']): string {
  if (response?.headersCut === true) return 'it has more headers than are read'
  return response?.body.kind === 'undecodable' ? `its body is not ${response.body.encoding}` : ''
}

/** The claimed cost; the maximum where the claim is not credible, or a success has none; nothing for a refusal without one. */
function costOf(reply: Answer, worstPico: bigint): bigint {
  const header = statedUnder(reply, `-${moneyHeaderNames.rpcCostUsd}`)
  const cost = costIn(reply)
  const claimed = claimOf(reply, header, cost)
  if (claimed !== null && claimed >= 0n) return claimed
  const isClaimed = header !== undefined || cost !== null
  return reply.status !== null && !is2xx(reply.status) && !isClaimed ? 0n : worstPico
}

function claimOf({ observation }: Answer, header: string | undefined, cost: unknown): bigint | null {
  if (isReplayed({ response: observation?.response ?? null }, documentedContract)) return 0n
  if (header !== undefined) return nearestPico(header)
  const amounts = statedAmounts(cost)
  return amounts === null ? null : amounts.usd + amounts.diem
}

/** The cost object of a completion, whole or streamed; null if it has none. */
const costIn = ({ body, observation }: Answer): unknown =>
  toObject(body)?.cost ?? (observation === null ? null : streamOf(observation)?.cost) ?? null

/** The header with this end. The prefix of the service's own headers may not be known yet. */
export const statedUnder = ({ headers }: Answer, end: string): string | undefined =>
  Object.entries(headers).find(([name]) => name.endsWith(end))?.[1]

/** The balances that a response states, in either currency. */
const balancesIn = ({ headers }: Answer): readonly (readonly [name: string, pico: bigint])[] =>
  Object.entries(headers).flatMap(([name, text]) => {
    const balance = /-balance-(usd|diem)$/.test(name) ? nearestPico(text) : null
    return balance === null ? [] : [[name, balance] as const]
  })

const longestWindowMs = 65_000
/** Where a 429 states no wait, it may be short: that of a bucket, say. */
export const unstatedWaitsMs = [1_100, 5_100, 20_000, longestWindowMs] as const

/** What the headers state about the window; null if they state nothing. */
function windowOf(reply: Answer, wallMs: number, contract: Contract, refused: number): Window | null {
  const { headers } = reply
  const isOver = isRefused(reply)
  const limits = limitHeadersOf(contract.limits)
  const { remaining, reset: stated } = statedRequests(headers, contract)
  const waitMs = isOver ? statedWait(limits, headers) : null
  if (remaining === null && waitMs === null)
    return isOver ? { remaining: 0, tokens: null, ...endOfRefusal(headers, wallMs, refused) } : null
  const nowMs = targetWallMs(headers, wallMs)
  // The form of a documented reset is not known yet.
  const ownMs = limits.isDocumented ? resetInMs(headers['x-ratelimit-reset-requests'] ?? '', nowMs) : null
  const leftMs = ownMs ?? (statesWait(limits.requests) ? stated : stated && stated - nowMs)
  return {
    remaining: isOver ? 0 : (remaining ?? 1),
    tokens: statedTokens(headers, contract).remaining,
    resetMs: wallMs + Math.min(longestWindowMs, Math.max(0, waitMs ?? leftMs ?? longestWindowMs) + 1_100),
  }
}

/** How long a 429 of an unknown dialect lasts, which comes after others. */
function endOfRefusal(headers: Headers, wallMs: number, refused: number): WindowEnd {
  const [stated] = (['ms', 'seconds', 'http-date'] as const).flatMap(
    form => statedWait({ retryAfter: form }, headers) ?? [],
  )
  return stated === undefined
    ? { resetMs: wallMs + (unstatedWaitsMs[refused] ?? longestWindowMs), isGuess: true }
    : { resetMs: wallMs + Math.min(longestWindowMs, Math.max(0, stated) + 1_100) }
}

/** The target's clock where it states a date, or else ours. */
function targetWallMs({ date }: Headers, wallMs: number): number {
  const dateMs = Date.parse(date ?? '')
  return Number.isFinite(dateMs) ? dateMs : wallMs
}
