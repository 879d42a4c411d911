import { textHash } from '../../lib/random.ts'
import { isReplayed } from '../../observation/response.ts'
import type { Reclassify, Say } from '../checks/findings.ts'
import type { Audit } from './audit.ts'

/** How many ids of each kind are remembered; a repetition further apart than that may go unseen. */
const memory = 50_000

/**
 * Ids that name one request: no two answers may share them, but for a replay, which repeats its request id. Whether a
 * repeated request says that it is a replay is another clause's business.
 */
export function createUniqueIdsAudit(say: Say<'unique-ids'>): Audit & { readonly ids: () => KnownIds } {
  const rays = createIdSet(memory)
  const requests = createIdSet(memory)
  return {
    add: ({ response, request, id }) => {
      if (response === null) return
      const { 'cf-ray': ray, 'x-request-id': requestId } = response.headers
      if (ray) judge('header.cf-ray.unique', 'cf-ray', ray, rays.add(ray, id, null)?.id ?? null, id)
      if (request.kind !== 'rpc' || !requestId || isReplayed(response)) return
      const group = request.replay?.group ?? null
      const first = requests.add(requestId, id, group)
      if (first === null || group === null || first.group !== group)
        judge('rpc.request-id.unique', 'x-request-id', requestId, first?.id ?? null, id)
    },
    finish: () => {},
    ids: () => ({
      rays: new Map(rays.all()),
      requests: new Map(requests.all()),
    }),
  }

  function judge(
    clause: 'header.cf-ray.unique' | 'rpc.request-id.unique',
    header: string,
    value: string,
    first: number | null,
    id: number,
  ) {
    if (first === null) say.kept(clause)
    else say.broken(clause, `${header} ${value} names two requests, expected each to have its own`, [first, id])
  }
}

/** The ids that a worker remembers, and the `seq` of the first request that each of them named. */
export type KnownIds = { readonly rays: ReadonlyMap<string, number>; readonly requests: ReadonlyMap<string, number> }

/**
 * Whether an id that is new to each of several workers is new to all of them. Each worker passed the first use that it saw;
 * all but the earliest of these are reclassified.
 */
export function checkIdsAcrossWorkers(all: readonly KnownIds[], retract: Reclassify<'unique-ids'>): void {
  const judge = (clause: 'header.cf-ray.unique' | 'rpc.request-id.unique', name: string, kind: keyof KnownIds) => {
    const firsts = new Map<string, number>()
    for (const [value, id] of all.flatMap(ids => [...ids[kind]]).toSorted(([, a], [, b]) => a - b)) {
      const first = firsts.get(value)
      if (first === undefined) firsts.set(value, id)
      else retract(clause, `${name} ${value} names two requests, expected each to have its own`, [first, id])
    }
  }
  if (all.length < 2) return
  judge('header.cf-ray.unique', 'cf-ray', 'rays')
  judge('rpc.request-id.unique', 'x-request-id', 'requests')
}

/** Which request had an id; `group` names the idempotency key, where there was one. */
type FirstUse = { readonly id: number; readonly group: number | null }

type IdSet = {
  /** Returns the earlier request with the id; null: there was none, and now it is remembered. */
  readonly add: (value: string, id: number, group: number | null) => FirstUse | null
  /** The ids that are remembered and the `seq` of the request that had it first, from the earliest on. */
  readonly all: () => readonly (readonly [value: string, id: number])[]
}

/**
 * Remembers the last `max` ids, and up to twice as many. A Map of them takes a seventh of all judging, most of it for the
 * garbage collector, which moves each of its entries. Here the id itself is the only object that lives on.
 */
export function createIdSet(max: number): IdSet {
  let recent = createShelf()
  let earlier = createShelf()
  return {
    add: (value, id, group) => {
      const hash = textHash(value)
      const known = recent.find(value, hash) ?? earlier.find(value, hash)
      if (known !== null) return known
      recent.add(value, hash, id, group)
      if (recent.count() >= max) {
        earlier = recent
        recent = createShelf()
      }
      return null
    },
    all: () => [...earlier.all(), ...recent.all()],
  }
}

/** Ids in the order in which they came, found by their hash in a table of open addresses. */
function createShelf() {
  const ids: string[] = []
  const requestIds: number[] = []
  const groups: (number | null)[] = []
  let size = 1_024
  /** By place, the hash of an id and one more than its position; 0 where the place is free. */
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
      // Half of the places stay free, so that a search is short.
      if (2 * ids.length > size) grow()
    },
  }
}
