import { isChatPath } from '../../contract/chat-terms.ts'
import type { Contract } from '../../contract/contract.ts'
import { isPromisedStatus, probeOf } from '../../contract/probes.ts'
import { isObject } from '../../lib/json.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import { isChat } from '../../observation/requests/chat.ts'
import { isProbeRequest, type RequestDescriptor, requestTraits } from '../../observation/requests/request.ts'
import type { RpcDescriptor } from '../../observation/requests/rpc.ts'
import { isRpc } from '../../observation/requests/rpc.ts'
import { is2xx, isAbuseBlock, isFromGateway } from '../../observation/response.ts'
import { responsesIn } from '../checks/rpc-credits.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import {
  addCount,
  eachBy,
  fieldsBy,
  getOrAdd,
  keep,
  type MergeRules,
  mapBy,
  mergeAll,
  mergeFields,
  sum,
  sumCounts,
} from '../merge.ts'
import type { Audit, AuditContext } from './audit.ts'

type Reporter = ClauseReporter<'dependent-errors'>

/** A property of a request that must not make it fail. */
type Property = {
  readonly clause: Parameters<Reporter['fail']>[0]
  /** The requests with and without it. */
  readonly having: string
  readonly lacking: string
  /** null: the request takes no part. */
  readonly isIn: (request: RpcDescriptor) => boolean | null
  readonly fails: (request: RpcDescriptor, response: ObservedResponse) => boolean
  /** What failed requests got, and what they should have. `statuses`: of those that failed. */
  readonly got: (statuses: string) => string
  readonly expected: string
}

const byStatus = {
  fails: (_: RpcDescriptor, { status }: ObservedResponse) => !is2xx(status),
  got: (statuses: string) => `failed (${statuses})`,
  expected: 'status 200 for both',
} as const

const hasFailingItem = ({ items }: RpcDescriptor): boolean => items.some(({ failing }) => failing)

/** Turnpike draws each property at random, so only the target can make failures depend on it. */
const properties: readonly Property[] = [
  {
    clause: 'rpc.item-failure.status',
    having: 'requests with a failing item',
    lacking: 'without one',
    isIn: hasFailingItem,
    ...byStatus,
  },
  {
    clause: 'rpc.id',
    having: 'single requests with a text as id',
    lacking: 'with a number',
    isIn: ({ items, batch }) => (batch ? null : typeof items[0]?.id === 'string'),
    ...byStatus,
  },
  {
    clause: 'rpc.item-failure.alone',
    having: 'batches with a failing item',
    lacking: 'without one',
    isIn: request => (request.batch ? hasFailingItem(request) : null),
    fails: (request, response) => is2xx(response.status) && hasNoResult(request, response),
    got: () => 'had an error for every other item, too',
    expected: 'results of the other items',
  },
]

/** Whether none of the items that should succeed has a result. */
function hasNoResult({ items }: RpcDescriptor, { body }: ObservedResponse): boolean {
  const responses = body.kind === 'json' ? responsesIn(body.value, items) : null
  const others = responses?.filter((_, index) => items[index]?.failing === false) ?? []
  return others.length > 0 && others.every(each => each !== undefined && isObject(each.error))
}

/** Requests that are compared with each other were sent next to each other. An outage hits both kinds. */
const maxBlockSize = 16
const maxBlockMs = 5_000
/** Less than one run in ten million may accuse a target that fails at random. */
const maxChance = 1e-7
/** Requests that a finding cites. */
const maxCited = 8

/** What was seen of one property, as plain data that can be added up. */
export type DependentErrors = {
  readonly clause: Property['clause']
  readonly having: ErrorCount
  readonly lacking: ErrorCount
  /** How many blocks there were with each division of their requests, as `size/with the property/errors`. */
  readonly divisions: Map<string, number>
  /** The error statuses of requests with the property. */
  readonly statuses: Map<number, number>
  /** The first of these requests. */
  readonly ids: readonly number[]
}

type ErrorCount = { readonly requests: number; readonly errors: number }

type Entry = {
  readonly id: number
  readonly has: boolean
  readonly size: number
  readonly sentMs: number
  readonly status: number
  readonly isError: boolean
}

/**
 * Finds errors that depend on what a request contains. A single 5xx may be a fault of anything between Turnpike and the
 * service. But only the service knows that an item of a batch fails, so only the service can give more errors to such
 * batches. `judgeDependentErrors` accuses, since it needs the requests of all workers.
 */
export function createDependentErrorsAudit({
  contract,
}: Pick<AuditContext, 'contract'>): Audit & { readonly counts: () => readonly DependentErrors[] } {
  const counted = properties.map(({ clause }) => emptyCount(clause))
  /** The open block of each property, by place. */
  const places = new Map<string, (Entry[] | undefined)[]>()

  const close = (index: number, blocks: (Entry[] | undefined)[]) => {
    const [count, block] = [counted[index], blocks[index]]
    blocks[index] = undefined
    if (count !== undefined && block !== undefined) addBlock(count, block)
  }

  return {
    add: observation => {
      const { request, response, outcome, sentMs, id } = observation
      if (!isRpc(request) || response === null || outcome.kind !== 'answered' || sentMs === null) return
      const { status } = response
      // Any other status has a reason of its own. So has a response from a cache, or beside a request with the same key.
      if (!is2xx(status) && (status < 500 || isAbuseBlock(response, contract))) return
      if (request.replay !== null && (request.replay.role !== 'original' || request.replay.concurrent)) return
      const blocks = getOrAdd(places, placeOf(observation, request), () => [])
      for (let index = 0; index < properties.length; index++) {
        const property = properties[index]
        const has = property?.isIn(request) ?? null
        if (property === undefined || has === null) continue
        const isError = property.fails(request, response)
        const entry = { id, has, size: request.items.length, sentMs, status, isError }
        const first = blocks[index]?.[0]
        if (first !== undefined && sentMs - first.sentMs >= maxBlockMs) close(index, blocks)
        const open = blocks[index]
        if (open === undefined) blocks[index] = [entry]
        else if (open.push(entry) === maxBlockSize) close(index, blocks)
      }
    },
    finish: () => {
      for (const blocks of places.values()) for (const index of blocks.keys()) close(index, blocks)
    },
    counts: () => counted,
  }
}

const emptyCount = (clause: Property['clause']): DependentErrors => ({
  clause,
  having: { requests: 0, errors: 0 },
  lacking: { requests: 0, errors: 0 },
  divisions: new Map(),
  statuses: new Map(),
  ids: [],
})

/** What the compared requests have in common: all that could matter, except the property. */
const placeOf = ({ stage, trial, chain }: Observation, { network, batch, replay }: RpcDescriptor): string =>
  `${batch} ${replay !== null} ${trial} ${chain} ${network} ${stage}`

/** A longer request takes longer, and may fail for it. So those without the property must not be shorter. */
function addBlock(count: DependentErrors, block: readonly Entry[]): void {
  const having = block.filter(({ has }) => has)
  const longest = Math.max(...having.map(({ size }) => size))
  const lacking = block.filter(({ has, size }) => !has && size >= longest)
  if (having.length === 0 || lacking.length === 0) return
  const failed = having.filter(isError)
  const statuses = new Map<number, number>()
  for (const { status } of failed) addCount(statuses, status)
  const division = [having.length + lacking.length, having.length, failed.length + lacking.filter(isError).length]
  const ofBlock = {
    clause: count.clause,
    having: { requests: having.length, errors: failed.length },
    lacking: { requests: lacking.length, errors: lacking.filter(isError).length },
    divisions: new Map([[division.join('/'), 1]]),
    statuses,
    ids: failed.map(({ id }) => id),
  }
  mergeFields(count, ofBlock, rules)
}

const isError = (entry: Entry): boolean => entry.isError

const sumErrors = fieldsBy<ErrorCount, ErrorCount>(eachBy(sum, ['requests', 'errors']))

/** The first requests of two parts. */
const firstIds = (own: readonly number[], part: readonly number[]) =>
  [...own, ...part].toSorted((a, b) => a - b).slice(0, maxCited)

const invalidRules: MergeRules<InvalidRequests> = {
  path: keep,
  invalid: sumErrors,
  valid: sumErrors,
  times: Math.max,
  failed: mapBy(firstIds, (): readonly number[] => []),
}

const rules: MergeRules<DependentErrors> = {
  clause: keep,
  having: sumErrors,
  lacking: sumErrors,
  divisions: sumCounts,
  statuses: sumCounts,
  ids: firstIds,
}

/**
 * How valid and invalid requests of a path ended: whether they got a 500 that no clause judges, because it lacks the version
 * of the service.
 */
export type InvalidRequests = {
  readonly path: string
  readonly invalid: ErrorCount
  readonly valid: ErrorCount
  /** How often invalid requests began to fail after a response that was no error. One outage is one time. */
  readonly times: number
  /** The failed requests of each probe. */
  readonly failed: Map<string, readonly number[]>
}

/**
 * Finds a target that answers invalid requests with a bare 500. One such response may be a fault of anything between
 * Turnpike and the service. `judgeInvalidRequests` accuses, since it needs the requests of all workers.
 */
export function createInvalidRequestsAudit({
  contract,
}: Pick<AuditContext, 'contract'>): Audit & { readonly counts: () => readonly InvalidRequests[] } {
  const paths = new Map<string, MutableInvalid>()
  /** The paths whose last response was an error. */
  const failing = new Set<string>()
  return {
    add: ({ request, response, outcome, id }) => {
      if (outcome.kind === 'dropped' || outcome.kind === 'left') return
      const path = comparedPath(request, contract)
      if (path === null) return
      const probe = isProbeRequest(request) && isRefused(request.probe, contract) ? request.probe : null
      const status = response?.status ?? null
      const isError = status === null || (probe === null ? status >= 500 : status === 500)
      // Any other status has a reason of its own, which may not be the request.
      if (!isError && !is2xx(status) && (probe === null || !isPromisedStatus(probe, status, contract))) return
      // A failed connection of a probe, or a 500 of the service, has judges of its own.
      if (probe !== null && isError && (response === null || !isFromGateway(response, contract))) return
      const known = getOrAdd(paths, path, () => noRequests(path))
      const ofKind = probe === null ? known.valid : known.invalid
      ofKind.requests++
      if (!isError) {
        failing.delete(path)
        return
      }
      ofKind.errors++
      if (probe !== null) {
        if (!failing.has(path)) known.times++
        known.failed.set(probe, firstIds(known.failed.get(probe) ?? [], [id]))
      }
      failing.add(path)
    },
    finish: () => {},
    counts: () => [...paths.values()],
  }
}

/** Where a request goes, without its network; null: it is not compared with others. */
function comparedPath(request: RequestDescriptor, contract: Contract): string | null {
  const { paths } = contract
  if (isChat(request)) return paths.chat
  if (isRpc(request)) return paths.rpc
  if (!isProbeRequest(request)) return null
  const { as, draws, promised } = probeOf(request.probe)
  if (as !== 'caller' || promised(contract).length === 0) return null
  if (draws === 'rpc') return paths.rpc
  return isChatPath(paths.chat, requestTraits(request).endpoint(request, contract).route) ? paths.chat : null
}

const isRefused = (name: string, contract: Contract): boolean => probeOf(name).promised(contract).every(isRefusal)
const isRefusal = (status: number): boolean => status >= 400 && status < 500

type MutableErrors = { -readonly [Name in keyof ErrorCount]: number }
type MutableInvalid = Omit<InvalidRequests, 'invalid' | 'valid' | 'times'> & {
  readonly invalid: MutableErrors
  readonly valid: MutableErrors
  times: number
}

const noErrors = (): MutableErrors => ({ requests: 0, errors: 0 })
const noRequests = (path: string): MutableInvalid => ({
  path,
  invalid: noErrors(),
  valid: noErrors(),
  times: 0,
  failed: new Map(),
})

/** Fewer separate times could be outages. An outage meets all workers at once. */
const minTimes = 3

/** Judges the invalid requests of all workers. Each probe that failed violates its clause, if chance cannot explain it. */
export function judgeInvalidRequests(all: readonly InvalidRequests[], reporter: ClauseReporter<'probe'>): void {
  for (const path of new Set(all.map(each => each.path))) {
    const ofPath = all.filter(each => each.path === path)
    const { invalid, valid, times, failed } = mergeAll(ofPath, (): InvalidRequests => noRequests(path), invalidRules)
    const size = invalid.requests + valid.requests
    const drawn = invalid.errors + valid.errors
    const draw = { size, marked: invalid.requests, drawn }
    const isMore = invalid.errors * valid.requests > valid.errors * invalid.requests
    if (!isMore || times < minTimes || wideTailBound(draw, invalid.errors) > maxChance) continue
    const counts = `${invalid.errors} of ${invalid.requests} invalid requests to this path, and ${valid.errors} of ${valid.requests} valid ones, failed`
    for (const [probe, ids] of failed)
      reporter.fail(probeOf(probe).clause, `${probe} got status 500, expected a refusal: ${counts}`, ids, ids)
  }
}

/** Judges the errors of all workers: whether they depend on a property more than chance explains. */
export function judgeDependentErrors(all: readonly DependentErrors[], reporter: Reporter): void {
  for (const { clause, having: has, lacking: lacks, got, expected } of properties) {
    const ofClause = all.filter(count => count.clause === clause)
    const { having, lacking, divisions, statuses, ids } = mergeAll(ofClause, () => emptyCount(clause), rules)
    const isMore = having.errors * lacking.requests > lacking.errors * having.requests
    if (!isMore || tailBound(drawsOf(divisions), having.errors) > maxChance) continue
    const named = [...statuses]
      .toSorted(([, a], [, b]) => b - a)
      .map(([status, count]) => `${count} × status ${status}`)
    const message = `${having.errors} of ${having.requests} ${has} ${got(named.join(', '))}, and ${lacking.errors} of ${lacking.requests} similar ones ${lacks} that were sent beside them, which is no chance, expected ${expected}`
    reporter.fail(clause, message, ids, ids)
  }
}

const drawsOf = (divisions: ReadonlyMap<string, number>): readonly (readonly [Draw, number])[] =>
  [...divisions].map(([division, times]) => {
    const [size = 0, marked = 0, drawn = 0] = division.split('/').map(Number)
    return [{ size, marked, drawn }, times]
  })

/** A group of `size` members, of which `marked` carry a mark and `drawn` are drawn: a block, its property and its errors. */
type Draw = { readonly size: number; readonly marked: number; readonly drawn: number }

/**
 * An upper bound of the probability that at least `hits` marked members are drawn, over all groups together, if each draw
 * is independent of the mark: Fisher's exact test over several tables, with Chernoff's bound of its tail.
 */
function tailBound(draws: Iterable<readonly [draw: Draw, times: number]>, hits: number): number {
  const all = [...draws]
  // Convex in `tilt`, so a search in thirds finds the smallest bound. Any other tilt gives a bound, too.
  const logBound = (tilt: number): number =>
    all.reduce((sum, [draw, times]) => sum + times * logMoment(draw, tilt), 0) - tilt * hits
  let [low, high] = [0, maxTilt]
  for (let step = 0; step < steps; step++) {
    const third = (high - low) / 3
    if (logBound(low + third) < logBound(high - third)) high -= third
    else low += third
  }
  return Math.min(1, Math.exp(logBound((low + high) / 2)))
}

/** The same of one group of any size: Hoeffding's bound. `hits` are more than expected. */
function wideTailBound({ size, marked, drawn }: Draw, hits: number): number {
  const [seen, expected] = [hits / drawn, marked / size]
  const term = (a: number, b: number) => (a === 0 ? 0 : a * Math.log(a / b))
  return Math.exp(-drawn * (term(seen, expected) + term(1 - seen, 1 - expected)))
}

const maxTilt = 40
const steps = 40

/** The logarithm of the mean of `exp(tilt × hits)` over the hypergeometric distribution of the hits. */
function logMoment({ size, marked, drawn }: Draw, tilt: number): number {
  let mean = 0
  for (let hits = Math.max(0, drawn + marked - size); hits <= Math.min(marked, drawn); hits++)
    mean += choose(marked, hits) * choose(size - marked, drawn - hits) * Math.exp(tilt * hits)
  return Math.log(mean / choose(size, drawn))
}

function choose(n: number, k: number): number {
  let ways = 1
  for (let index = 1; index <= k; index++) ways = (ways * (n - k + index)) / index
  return ways
}
