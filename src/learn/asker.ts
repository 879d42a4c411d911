import { moneyHeaderNames } from '../contract/headers.ts'
import { type Clock, sleepUntil } from '../lib/clock.ts'
import { isObject, parseJson, toObject } from '../lib/json.ts'
import { createMask } from '../lib/mask/mask.ts'
import { nearestPico, parsePico } from '../lib/money.ts'
import { authorize, type KeyCaller } from '../produce/callers/caller.ts'
import { type DecodedBody, decodeBody } from '../produce/calls/read-response.ts'
import { createSseDecoder } from '../produce/transport/sse.ts'
import type { Exchange, Transport } from '../produce/transport/transport.ts'

/** One call of a question. */
export type Ask = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** A text is sent as it is, anything else as JSON; undefined: no body. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly as?: 'caller' | 'anonymous' | 'bad-key' | 'zero-balance'
  /** The limit that the call may draw on: a model, `rpc`, or `control`. */
  readonly scope: string
  /** The maximum cost of the call. */
  readonly worstPico: bigint
}

/** The response to a call, or why there is none. */
export type Answer = {
  /** From 1; 0 if the call was not made. */
  readonly call: number
  /** Method and path. */
  readonly what: string
  readonly as: NonNullable<Ask['as']>
  readonly status: number | null
  /** Why there is no complete response, or no body that can be read. */
  readonly why: string
  readonly headers: Exchange['headers']
  /** The JSON value of the body; undefined if it is none. */
  readonly body: unknown
  readonly bytes: Buffer
  /** The events of a stream, at most `maxEvents`. */
  readonly events: readonly string[]
  /** When the headers arrived. */
  readonly wallMs: number
}

export type AskerOptions = {
  readonly send: Transport
  readonly clock: Clock
  readonly caller: KeyCaller
  readonly zeroBalanceKey: string | null
  /** null: no budget binds. */
  readonly budgetPico: bigint | null
  readonly maxCalls: number
  /** Called before a wait for a limit of the target. */
  readonly onWait?: (waitMs: number) => void
}

export type Asker = {
  /** Makes one call, unless a bound forbids it. Waits where a limit of the target or its abuse block would be reached. */
  readonly ask: (ask: Ask) => Promise<Answer>
  /** Every response so far, in the order of the calls. */
  readonly replies: () => readonly Answer[]
  readonly callsLeft: () => number
  readonly spentPico: () => bigint
  /** Whether a key of an account without a balance is known. */
  readonly hasZeroBalance: boolean
}

export const timeouts = { connectMs: 5_000, headersMs: 10_000, idleMs: 10_000, totalMs: 10_000 } as const
export const maxBodyBytes = 4 * 1024 * 1024
const maxEvents = 2_000
const maxHeaderLength = 4_096
/** Five less than the document blocks for. */
const maxFailures = 15
const failureWindowMs = 31_000
/** The longest wait for all limits together. */
const maxWaitMs = 240_000
/** After as many calls in a row without any response, the target is down. */
const maxSilent = 3

type Window = { readonly remaining: number; readonly tokens: number | null; readonly resetMs: number }

/** Enough for the small completions that are requested. */
const tokensOfCall = 200

/**
 * Makes calls within their bounds: number, budget, time, the limits that the responses state, and the failures that an
 * abuse block counts. A misbehaving target makes replies without a status.
 */
export function createAsker(options: AskerOptions): Asker {
  const { send, clock, caller, zeroBalanceKey, budgetPico, maxCalls, onWait = () => {} } = options
  const replies: Answer[] = []
  const windows = new Map<string, Window>()
  let failedMs: readonly number[] = []
  let inFlight = 0
  let calls = 0
  let silent = 0
  let claimedPico = 0n
  let reservedPico = 0n
  let waitedMs = 0
  /** By header. */
  const balances = new Map<string, { readonly first: bigint; readonly lowest: bigint }>()
  const mask = createMask([...caller.keys, zeroBalanceKey ?? ''])

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
  }

  async function ask(request: Ask): Promise<Answer> {
    const call = await admit(request)
    if (typeof call === 'string') return unsent(request, call)
    const reply = await exchange(request, call)
    reservedPico -= request.worstPico
    inFlight--
    replies.push(reply)
    record(request, reply)
    return reply
  }

  /** The number of the call, or why it must not be made. */
  async function admit({ scope, worstPico }: Ask): Promise<number | string> {
    if (silent >= maxSilent) return 'not asked, because the target stopped responding'
    const waitMs = Math.max(windowEndMs(scope), failuresEndMs()) - clock.wallMs()
    if (waitMs > 0) {
      if (waitedMs + waitMs > maxWaitMs) return 'not asked, because the limits of the target would need too long a wait'
      waitedMs += waitMs
      onWait(waitMs)
      await sleepUntil(clock, clock.nowMs() + waitMs)
      windows.delete(scope)
    }
    if (calls >= maxCalls) return `not asked, because ${maxCalls} calls are the maximum`
    if (budgetPico !== null && spentPico() + reservedPico + worstPico > budgetPico)
      return 'not asked, because the budget does not cover it'
    // Reserved here, so that a concurrent call sees it.
    inFlight++
    reservedPico += worstPico
    return ++calls
  }

  function windowEndMs(scope: string): number {
    const window = windows.get(scope)
    if (window === undefined || window.resetMs <= clock.wallMs()) return 0
    const isFull = window.remaining - inFlight < 1 || (window.tokens !== null && window.tokens < tokensOfCall)
    return isFull ? window.resetMs : 0
  }

  function failuresEndMs(): number {
    const now = clock.wallMs()
    failedMs = failedMs.filter(atMs => atMs > now - failureWindowMs)
    const [oldest] = failedMs
    return oldest !== undefined && failedMs.length + inFlight >= maxFailures ? oldest + failureWindowMs : 0
  }

  async function exchange(request: Ask, call: number): Promise<Answer> {
    const { method, path, body, headers, as = 'caller' } = request
    const events: string[] = []
    const decoder = createSseDecoder(data => {
      if (events.length < maxEvents) events.push(data)
    })
    const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
    const result = await send(
      {
        method,
        path,
        headers: {
          accept: 'application/json',
          ...(text === null ? {} : { 'content-type': 'application/json' }),
          ...credentials(as),
          ...headers,
        },
        body: text,
        timeouts,
        maxBodyBytes,
        onStreamBytes: bytes => decoder.push(bytes),
      },
      new AbortController().signal,
    )
    decoder.end()
    const decoded = decodeBody(result.body, result.headers['content-encoding'], maxBodyBytes)
    const received = decoded.kind === 'decoded' ? decoded.bytes : Buffer.alloc(0)
    const bytes = mask.isIn(received.toString('utf8')) ? Buffer.from(mask.text(received.toString('utf8'))) : received
    return {
      call,
      what: describe(request),
      as,
      status: result.failure === null && result.headersCut !== true ? result.status : null,
      why: result.failure?.reason ?? unreadable(result, decoded),
      headers: mask.headers(result.headers, maxHeaderLength),
      body: parseJson(bytes),
      bytes,
      events: events.map(mask.text),
      wallMs: clock.wallMs(),
    }
  }

  function credentials(as: NonNullable<Ask['as']>): Readonly<Record<string, string>> {
    switch (as) {
      case 'caller':
        return caller.keys.length === 0 ? {} : authorize(caller, 0)
      case 'anonymous':
        return {}
      case 'bad-key':
        return { authorization: 'Bearer not-a-key' }
      case 'zero-balance':
        return { authorization: `Bearer ${zeroBalanceKey ?? 'turnpike-has-no-such-key'}` }
    }
  }

  function record({ scope, worstPico, as = 'caller' }: Ask, reply: Answer): void {
    const { status, wallMs } = reply
    silent = status === null ? silent + 1 : 0
    if (status === null || status >= 300) failedMs = [...failedMs, wallMs]
    claimedPico += costOf(reply, worstPico)
    if (as !== 'caller') return
    for (const [name, balance] of balancesIn(reply)) {
      const { first, lowest } = balances.get(name) ?? { first: balance, lowest: balance }
      balances.set(name, { first, lowest: balance < lowest ? balance : lowest })
    }
    const window = windowOf(reply)
    if (window !== null) windows.set(scope, window)
  }
}

const describe = ({ method, path, as }: Ask): string =>
  `${method} ${path === '' ? '/' : path}${as === undefined || as === 'caller' ? '' : ` (${as})`}`

export const unsent = (request: Ask, why: string): Answer => ({
  call: 0,
  what: describe(request),
  as: request.as ?? 'caller',
  status: null,
  why,
  headers: {},
  body: undefined,
  bytes: Buffer.alloc(0),
  events: [],
  wallMs: 0,
})

function unreadable({ headersCut }: Exchange, decoded: DecodedBody): string {
  if (headersCut === true) return 'it has more headers than are read'
  return decoded.kind === 'decoded' ? '' : `its body is not ${decoded.encoding}`
}

/** The claimed cost; the maximum where the claim is not credible, or a success has none; nothing for a refusal without one. */
function costOf(reply: Answer, worstPico: bigint): bigint {
  const claimed = claimOf(reply)
  if (claimed !== null && claimed >= 0n) return claimed
  const isClaimed = costHeaderOf(reply) !== undefined || isObject(toObject(reply.body)?.cost)
  return reply.status !== null && reply.status >= 300 && !isClaimed ? 0n : worstPico
}

const costHeaderOf = ({ headers }: Answer): string | undefined =>
  Object.entries(headers).find(([name]) => name.endsWith(moneyHeaderNames.rpcCostUsd))?.[1]

function claimOf(reply: Answer): bigint | null {
  const { headers, body, events } = reply
  const header = costHeaderOf(reply)
  if (headers['idempotent-replayed'] === 'true') return 0n
  if (header !== undefined) return nearestPico(header)
  const objects = [toObject(body), ...events.slice(-3).map(data => toObject(parseJson(data)))]
  const cost = objects.map(object => object?.cost).find(isObject)
  const amounts = [cost?.usd, cost?.diem].map(amount =>
    typeof amount === 'number' && amount >= 0 && amount < 1e6 ? amount : null,
  )
  const [usd = null, diem = null] = amounts
  return usd === null || diem === null ? null : parsePico((usd + diem).toFixed(12))
}

/** The balances that a response states, in either currency. */
const balancesIn = ({ headers }: Answer): readonly (readonly [name: string, pico: bigint])[] =>
  Object.entries(headers).flatMap(([name, text]) => {
    const balance = /-balance-(usd|diem)$/.test(name) ? nearestPico(text) : null
    return balance === null ? [] : [[name, balance] as const]
  })

const longestWindowMs = 65_000

/** What the headers state about the window; null if they state nothing. */
function windowOf(reply: Answer): Window | null {
  const { headers, wallMs, status } = reply
  const remaining = Number(headers['x-ratelimit-remaining-requests'] ?? Number.NaN)
  const tokens = Number(headers['x-ratelimit-remaining-tokens'] ?? Number.NaN)
  if (!Number.isFinite(remaining))
    return status === 429 ? { remaining: 0, tokens: null, resetMs: wallMs + longestWindowMs } : null
  const leftMs =
    resetInMs(Number(headers['x-ratelimit-reset-requests'] ?? Number.NaN), targetWallMs(reply)) ?? longestWindowMs
  return {
    remaining: status === 429 ? 0 : remaining,
    tokens: Number.isFinite(tokens) ? tokens : null,
    resetMs: wallMs + Math.min(longestWindowMs, Math.max(0, leftMs) + 1_100),
  }
}

/** The target's clock where it states a date, or else ours. */
export function targetWallMs({ headers, wallMs }: Pick<Answer, 'headers' | 'wallMs'>): number {
  const dateMs = Date.parse(headers.date ?? '')
  return Number.isFinite(dateMs) ? dateMs : wallMs
}

/** How long until a reset that is stated as seconds, Unix seconds or Unix milliseconds; null if it is no number. */
function resetInMs(reset: number, nowMs: number): number | null {
  if (!Number.isFinite(reset)) return null
  if (reset > 1e11) return reset - nowMs
  return reset > 1e9 ? reset * 1000 - nowMs : reset * 1000
}
