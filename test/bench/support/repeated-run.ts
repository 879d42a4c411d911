import { readFileSync } from 'node:fs'
import { documentedContract } from '../../../src/contract/documented.ts'
import { priceListOf } from '../../../src/judge/checks/price-list.ts'
import { toObject } from '../../../src/lib/json.ts'
import { formatPico, parsePico } from '../../../src/lib/money.ts'
import type { RunInfo } from '../../../src/observation/log-lines.ts'
import type {
  Body,
  Observation,
  ObservedResponse,
  Outcome,
  StreamRecord,
} from '../../../src/observation/observation.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { virtualRun } from '../../support/virtual-run.ts'

export type RepeatedRun = {
  readonly plan: Plan
  readonly head: RunInfo
  /** The number of observations per turn. */
  readonly size: number
  /** The run repeated at turn `turn`, from 0, as an honest service would respond then. */
  readonly turn: (turn: number) => Iterable<Observation>
}

/** The pause before a turn, rounded up to whole windows, so that turns do not affect each other. */
const windowMs = 60_000
const pauseMs = 2 * windowMs

const { usdHeader } = priceListOf(documentedContract)

/**
 * An endless source of valid observations without the cost of a service. A run of the crowd is recorded once and
 * repeated at later times, with new ids and continued balances. In each turn, every 97th RPC response is lost.
 */
export async function recordRun(): Promise<RepeatedRun> {
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
  // The remainder of an id, divided by the number of callers, identifies the caller.
  const callers = plan.callers.names.length
  const requestIds = Math.ceil((Math.max(...observations.map(({ id }) => id)) + 1) / callers) * callers
  const spent = spentByCaller(observations)
  return {
    plan,
    head,
    size,
    turn: function* (turn) {
      const shift: Shift = { turn, ms: turn * turnMs, requestIds: turn * requestIds, seqs: turn * size }
      for (const [index, observation] of observations.entries()) {
        const later = repeat(observation, shift, spent.get(observation.caller) ?? 0n)
        yield (index + turn) % 97 === 0 ? lose(later) : later
      }
    },
  }
}

type Shift = { readonly turn: number; readonly ms: number; readonly requestIds: number; readonly seqs: number }

const balanceOf = ({ response }: Observation): bigint | null => parsePico(response?.headers[usdHeader] ?? '')

/** The spending of each caller per turn, from the opening and closing balance checks. */
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

function repeat(o: Observation, shift: Shift, spent: bigint): Observation {
  const { ms, requestIds, seqs } = shift
  const { request } = o
  return {
    ...o,
    id: o.id + requestIds,
    seq: o.seq + seqs,
    request:
      request.kind === 'rpc' && request.replay !== null
        ? { ...request, replay: { ...request.replay, group: request.replay.group + requestIds } }
        : request,
    dueMs: o.dueMs + ms,
    sentMs: later(o.sentMs, ms),
    headersMs: later(o.headersMs, ms),
    endMs: later(o.endMs, ms),
    response: o.response && repeatResponse(o.response, shift, spent),
  }
}

function repeatResponse(
  { status, headers, bytes, body }: ObservedResponse,
  shift: Shift,
  spent: bigint,
): ObservedResponse {
  const repeated: Record<string, string> = {}
  for (const name in headers) repeated[name] = repeatHeader(name, headers[name] ?? '', shift, spent)
  return { status, headers: repeated, bytes, body: repeatBody(body, shift) }
}

function repeatBody(body: Body, shift: Shift): Body {
  if (body.kind === 'stream') return { kind: 'stream', stream: repeatStream(body.stream, shift) }
  if (body.kind !== 'json') return body
  const { id, created, ...members } = toObject(body.value) ?? {}
  if (typeof created !== 'number') return body
  return { ...body, value: { ...members, id: `${id}${shift.turn}`, created: created + shift.ms / 1000 } }
}

function repeatHeader(name: string, value: string, { turn, ms }: Shift, spent: bigint): string {
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

function repeatStream(stream: StreamRecord, { turn, ms }: Shift): StreamRecord {
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

/** The same request with a connection lost before the headers. Replays stay, because others depend on them. */
function lose(o: Observation): Observation {
  if (o.request.kind !== 'rpc' || o.request.replay !== null || o.sentMs === null) return o
  return { ...o, headersMs: null, outcome: lost, response: null }
}
