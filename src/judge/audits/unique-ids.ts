import type { ClausesOf } from '../../contract/clauses.ts'
import { toObject } from '../../lib/json.ts'
import { textHash } from '../../lib/random.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import { challengeIn, isRefusedForCredit, settlementIn } from '../../observation/payments.ts'
import { isChat } from '../../observation/requests/chat.ts'
import { isRpc } from '../../observation/requests/rpc.ts'
import type { ReplayRole } from '../../observation/requests/traits.ts'
import { paymentIn } from '../../observation/requests/wallets.ts'
import { is2xx, isReplayed, jsonObject } from '../../observation/response.ts'
import type { ClauseReporter, Reclassify } from '../findings/findings.ts'
import type { Audit, AuditContext } from './audit.ts'

/** The number of ids of each kind that are stored. Repetitions further apart may go unnoticed. */
const memory = 50_000

/**
 * Ids that identify one request. No two responses may share one, except a replay, which repeats its request id. Another
 * clause judges whether a repeated request is marked as a replay.
 */
export function createUniqueIdsAudit(
  { contract }: Pick<AuditContext, 'contract'>,
  reporter: ClauseReporter<'unique-ids'>,
): Audit & { readonly ids: () => KnownIds } {
  const rays = createIdSet(memory)
  const requests = createIdSet(memory)
  const challenges = createIdSet(memory)
  const completions = createIdSet(memory)
  const transactions = createIdSet(memory)
  return {
    add: observation => {
      const { response, request, id } = observation
      if (response === null) return
      if (isRefusedForCredit(observation)) judgeChallenge(challengeIn(jsonObject(response) ?? {})?.nonce, id)
      const payment = paymentIn(request)
      if (payment?.isAgain === false && is2xx(response.status))
        judgeTransaction(settlementIn(response, contract.wallets)?.transaction, id)
      const { 'cf-ray': ray, 'x-request-id': requestId } = response.headers
      if (ray) judge('header.cf-ray.unique', 'cf-ray', ray, rays.add(ray, id, null)?.id ?? null, id)
      if (isReplayed(observation, contract)) return
      if (isChat(request) && is2xx(response.status))
        judgeUnlessRepeated('chat.id', 'completion id', completionId(response), completions, request.replay, id)
      if (isRpc(request))
        judgeUnlessRepeated('rpc.request-id.unique', 'x-request-id', requestId, requests, request.replay, id)
    },
    finish: () => {},
    ids: () => ({
      rays: new Map(rays.all()),
      requests: new Map(requests.all()),
      challenges: new Map(challenges.all()),
      completions: new Map(completions.all()),
      transactions: new Map(transactions.all()),
    }),
  }

  /** A challenge without a nonce does not tell whether it is new. */
  function judgeChallenge(nonce: unknown, id: number) {
    if (typeof nonce !== 'string') return
    judge('wallet.insufficient.help', 'the challenge', nonce, challenges.add(nonce, id, null)?.id ?? null, id)
  }

  /** Requests that carry the same payment may state its transaction, too; they are not judged. */
  function judgeTransaction(transaction: unknown, id: number) {
    if (typeof transaction !== 'string' || transaction === '') return
    const first = transactions.add(transaction, id, null)?.id ?? null
    judge('wallet.top-up.result', 'the transaction', transaction, first, id)
  }

  /** A request that repeats another with its key may get its response, and is not always marked as a replay. */
  function judgeUnlessRepeated(
    clause: UniqueClause,
    name: string,
    value: string | null | undefined,
    known: IdSet,
    replay: ReplayRole | null | undefined,
    id: number,
  ) {
    if (!value) return
    const group = replay?.group ?? null
    const first = known.add(value, id, group)
    if (first === null || group === null || first.group !== group) judge(clause, name, value, first?.id ?? null, id)
  }

  function judge(clause: UniqueClause, header: string, value: string, first: number | null, id: number) {
    if (first === null) reporter.pass(clause)
    else reporter.fail(clause, `${header} ${value} identifies two requests, expected each to have its own`, [first, id])
  }
}

type UniqueClause = ClausesOf<'unique-ids'>

/** The ids that a worker stored, with the `id` of the first request that had each of them. */
export type KnownIds = Readonly<
  Record<'rays' | 'requests' | 'challenges' | 'completions' | 'transactions', ReadonlyMap<string, number>>
>

/**
 * Checks whether an id that is new to each of several workers is new to all of them. Each worker passed the first use
 * that it saw. All except the earliest of these are reclassified.
 */
export function checkIdsAcrossWorkers(all: readonly KnownIds[], retract: Reclassify<'unique-ids'>): void {
  const judge = (clause: UniqueClause, name: string, kind: keyof KnownIds) => {
    const firsts = new Map<string, number>()
    for (const [value, id] of all.flatMap(ids => [...ids[kind]]).toSorted(([, a], [, b]) => a - b)) {
      const first = firsts.get(value)
      if (first === undefined) firsts.set(value, id)
      else retract(clause, `${name} ${value} identifies two requests, expected each to have its own`, [first, id])
    }
  }
  if (all.length < 2) return
  judge('header.cf-ray.unique', 'cf-ray', 'rays')
  judge('rpc.request-id.unique', 'x-request-id', 'requests')
  judge('wallet.insufficient.help', 'the challenge', 'challenges')
  judge('chat.id', 'completion id', 'completions')
  judge('wallet.top-up.result', 'the transaction', 'transactions')
}

/** The id of a completion, whole or streamed; null if it has none, or several. */
function completionId({ body }: ObservedResponse): string | null {
  const ids = body.kind === 'stream' ? body.stream.ids : body.kind === 'json' ? [toObject(body.value)?.id] : []
  const [id] = ids
  return ids.length === 1 && typeof id === 'string' && id !== '' ? id : null
}

/** The request that had an id. `group` is the idempotency group, if any. */
type FirstUse = { readonly id: number; readonly group: number | null }

type IdSet = {
  /** Returns the earlier request with the id; null if there was none, and then stores it. */
  readonly add: (value: string, id: number, group: number | null) => FirstUse | null
  /** The stored ids and the `id` of the first request with each, from the earliest on. */
  readonly all: () => readonly (readonly [value: string, id: number])[]
}

/**
 * Stores the last `max` ids, and up to twice that many. A Map would take a seventh of the judging time, mostly for
 * garbage collection, which moves each of its entries. Here the id itself is the only long-lived object.
 */
export function createIdSet(max: number): IdSet {
  let recent = createIdTable()
  let earlier = createIdTable()
  return {
    add: (value, id, group) => {
      const hash = textHash(value)
      const known = recent.find(value, hash) ?? earlier.find(value, hash)
      if (known !== null) return known
      recent.add(value, hash, id, group)
      if (recent.count() >= max) {
        earlier = recent
        // It will grow as large, so it starts as large.
        recent = createIdTable(earlier.size())
      }
      return null
    },
    all: () => [...earlier.all(), ...recent.all()],
  }
}

/** Ids in insertion order, found by hash with open addressing. */
function createIdTable(initialSize = 1_024) {
  const ids: string[] = []
  const requestIds: number[] = []
  const groups: (number | null)[] = []
  let size = initialSize
  /** By slot: the hash of an id, and its position plus one; 0 if the slot is free. */
  let table = new Int32Array(2 * size)

  const note = (hash: number, entry: number): void => {
    let slot = hash & (size - 1)
    while (table[2 * slot + 1] !== 0) slot = (slot + 1) & (size - 1)
    table[2 * slot] = hash
    table[2 * slot + 1] = entry
  }
  const grow = (): void => {
    const old = table
    size *= 2
    table = new Int32Array(2 * size)
    for (let at = 0; at < old.length; at += 2) {
      const entry = old[at + 1] ?? 0
      if (entry !== 0) note(old[at] ?? 0, entry)
    }
  }

  return {
    count: () => ids.length,
    size: () => size,
    all: () => ids.map((value, index) => [value, requestIds[index] ?? Number.NaN] as const),
    find: (value: string, hash: number): FirstUse | null => {
      for (let slot = hash & (size - 1); ; slot = (slot + 1) & (size - 1)) {
        const position = (table[2 * slot + 1] ?? 0) - 1
        if (position < 0) return null
        if (table[2 * slot] === hash && ids[position] === value)
          return { id: requestIds[position] ?? Number.NaN, group: groups[position] ?? null }
      }
    },
    add: (value: string, hash: number, id: number, group: number | null): void => {
      ids.push(value)
      requestIds.push(id)
      groups.push(group)
      note(hash, ids.length)
      // Half of the slots stay free, so that searches are short.
      if (2 * ids.length > size) grow()
    },
  }
}
