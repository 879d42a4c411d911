import { readFileSync } from 'node:fs'
import { documented } from '../../src/contract/documented.ts'
import { priceListOf } from '../../src/judge/checks/price-list.ts'
import { toObject } from '../../src/lib/json.ts'
import { formatPico, parsePico } from '../../src/lib/money.ts'
import type { RunInfo } from '../../src/observation/log.ts'
import type { Body, Observation, ObservedResponse, Outcome, StreamRecord } from '../../src/observation/observation.ts'
import type { Plan } from '../../src/plan/plan.ts'
import { virtualRun } from '../support/virtual-run.ts'

export type RetoldRun = {
  readonly plan: Plan
  readonly head: RunInfo
  /** How many observations one telling has. */
  readonly size: number
  /** The run for the time `turn`, from 0: what a service that goes on being honest would have answered then. */
  readonly tell: (turn: number) => Iterable<Observation>
}

/** A telling begins so long after the end of the one before it, in whole windows: then nothing reaches from it into this. */
const windowMs = 60_000
const pauseMs = 2 * windowMs

const { usdHeader } = priceListOf(documented)

/**
 * Valid observations without end and without the cost of a service: a run of the crowd is recorded once, and then told
 * again and again at later times, by other numbers and ids, with the balances going on from where they stood. Every
 * 97th RPC answer of a telling never arrived.
 */
export async function recordRun(): Promise<RetoldRun> {
  const { plan, head, observations } = await virtualRun({
    scenario: readFileSync('test/slow/crowd.yaml', 'utf8').replace('count: 40', 'count: 100'),
    openingBalanceUsd: '1000000',
    faults: [
      { status: 500, probability: 0.01 },
      { status: 503, probability: 0.01 },
    ],
  })
  const size = observations.length
  const lastMs = Math.max(...observations.map(({ endMs, dueMs }) => endMs ?? dueMs))
  const turnMs = Math.ceil((lastMs + pauseMs) / windowMs) * windowMs
  // Of a seq, the rest of the division by the number of callers tells whose it is.
  const callers = plan.callers.names.length
  const requestIds = Math.ceil((Math.max(...observations.map(({ id }) => id)) + 1) / callers) * callers
  const spent = spentByCaller(observations)
  return {
    plan,
    head,
    size,
    tell: function* (turn) {
      const shift: Shift = { turn, ms: turn * turnMs, requestIds: turn * requestIds, places: turn * size }
      for (const [index, observation] of observations.entries()) {
        const later = retell(observation, shift, spent.get(observation.caller) ?? 0n)
        yield (index + turn) % 97 === 0 ? lose(later) : later
      }
    },
  }
}

type Shift = { readonly turn: number; readonly ms: number; readonly requestIds: number; readonly places: number }

const balanceOf = ({ response }: Observation): bigint | null => parsePico(response?.headers[usdHeader] ?? '')

/** What each caller spends in one telling: the run opens and closes with its balance. */
function spentByCaller(observations: readonly Observation[]): ReadonlyMap<string, bigint> {
  const spent = new Map<string, bigint>()
  for (const observation of observations) {
    const balance = balanceOf(observation)
    if (balance === null) continue
    const { caller, stage } = observation
    if (stage === '(opening)') spent.set(caller, balance)
    if (stage === '(closing)') spent.set(caller, (spent.get(caller) ?? 0n) - balance)
  }
  return spent
}

const later = (at: number | null, by: number): number | null => (at === null ? null : at + by)

function retell(o: Observation, shift: Shift, spent: bigint): Observation {
  const { ms, requestIds, places } = shift
  const { request } = o
  return {
    ...o,
    id: o.id + requestIds,
    seq: o.seq + places,
    request:
      request.kind === 'rpc' && request.replay !== null
        ? { ...request, replay: { ...request.replay, group: request.replay.group + requestIds } }
        : request,
    dueMs: o.dueMs + ms,
    sentMs: later(o.sentMs, ms),
    headersMs: later(o.headersMs, ms),
    endMs: later(o.endMs, ms),
    response: o.response && retellAnswer(o.response, shift, spent),
  }
}

function retellAnswer(
  { status, headers, bytes, body }: ObservedResponse,
  shift: Shift,
  spent: bigint,
): ObservedResponse {
  const told: Record<string, string> = {}
  for (const name in headers) told[name] = retellHeader(name, headers[name] ?? '', shift, spent)
  return { status, headers: told, bytes, body: retellBody(body, shift) }
}

function retellBody(body: Body, shift: Shift): Body {
  if (body.kind === 'stream') return { kind: 'stream', stream: retellStream(body.stream, shift) }
  if (body.kind !== 'json') return body
  const { id, created, ...members } = toObject(body.value) ?? {}
  if (typeof created !== 'number') return body
  return { ...body, value: { ...members, id: `${id}${shift.turn}`, created: created + shift.ms / 1000 } }
}

function retellHeader(name: string, value: string, { turn, ms }: Shift, spent: bigint): string {
  switch (name) {
    case usdHeader:
      return formatPico((parsePico(value) ?? 0n) - BigInt(turn) * spent)
    case 'date':
      return new Date(Date.parse(value) + ms).toUTCString()
    case 'cf-ray':
      return value.replace('-', `${turn.toString(16)}-`)
    case 'x-request-id':
      return `${value}${turn}`
    case 'x-service-timestamp':
      return new Date(Date.parse(value) + ms).toISOString()
    case 'x-ratelimit-reset':
    case 'x-ratelimit-reset-requests':
      return String(Number(value) + ms / 1000)
    default:
      return value
  }
}

function retellStream(stream: StreamRecord, { turn, ms }: Shift): StreamRecord {
  return {
    ...stream,
    ids: stream.ids.map(id => `${id}${turn}`),
    created: later(stream.created, ms / 1000),
    firstTokenMs: later(stream.firstTokenMs, ms),
    firstContentMs: later(stream.firstContentMs, ms),
    lastTokenMs: later(stream.lastTokenMs, ms),
  }
}

const lost: Outcome = { kind: 'failed', reason: 'connection-lost', detail: 'ECONNRESET: reset inside the body' }

/** The same request, had its connection broken before the headers; a replay is left, for others rest on it. */
function lose(o: Observation): Observation {
  if (o.request.kind !== 'rpc' || o.request.replay !== null || o.sentMs === null) return o
  return { ...o, headersMs: null, outcome: lost, response: null }
}
