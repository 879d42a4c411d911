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
export function createUniqueIdsAudit(say: Say<'uniqueness'>): Audit & { readonly ids: () => KnownIds } {
  const rays = createIdSet(memory)
  const requests = createIdSet(memory)
  return {
    add: ({ answer, asked, seq }) => {
      if (answer === null) return
      const { 'cf-ray': ray, 'x-request-id': request } = answer.headers
      if (ray) judge('header.cf-ray.unique', 'cf-ray', ray, rays.add(ray, seq, null)?.seq ?? null, seq)
      if (asked.kind !== 'rpc' || !request || isReplayed(answer)) return
      const group = asked.replay?.group ?? null
      const first = requests.add(request, seq, group)
      if (first === null || group === null || first.group !== group)
        judge('rpc.request-id.unique', 'x-request-id', request, first?.seq ?? null, seq)
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
    id: string,
    first: number | null,
    seq: number,
  ) {
    if (first === null) say.kept(clause)
    else say.broken(clause, `${header} ${id} names two requests, expected each to have its own`, [first, seq])
  }
}

/** The ids that a worker remembers, and the `seq` of the first request that each of them named. */
export type KnownIds = { readonly rays: ReadonlyMap<string, number>; readonly requests: ReadonlyMap<string, number> }

/**
 * Whether an id that is new to each of several workers is new to all of them. Each worker passed the first use that it saw;
 * all but the earliest of these are reclassified.
 */
export function checkIdsAcrossWorkers(all: readonly KnownIds[], retract: Reclassify<'uniqueness'>): void {
  const judge = (clause: 'header.cf-ray.unique' | 'rpc.request-id.unique', name: string, kind: keyof KnownIds) => {
    const firsts = new Map<string, number>()
    for (const [id, seq] of all.flatMap(ids => [...ids[kind]]).toSorted(([, a], [, b]) => a - b)) {
      const first = firsts.get(id)
      if (first === undefined) firsts.set(id, seq)
      else retract(clause, `${name} ${id} names two requests, expected each to have its own`, [first, seq])
    }
  }
  if (all.length < 2) return
  judge('header.cf-ray.unique', 'cf-ray', 'rays')
  judge('rpc.request-id.unique', 'x-request-id', 'requests')
}

/** Which request had an id; `group` names the idempotency key, where there was one. */
type FirstUse = { readonly seq: number; readonly group: number | null }

type IdSet = {
  /** Returns the earlier request with the id; null: there was none, and now it is remembered. */
  readonly add: (id: string, seq: number, group: number | null) => FirstUse | null
  /** The ids that are remembered and the `seq` of the request that had it first, from the earliest on. */
  readonly all: () => readonly (readonly [id: string, seq: number])[]
}

/**
 * Remembers the last `max` ids, and up to twice as many. A Map of them takes a seventh of all judging, most of it for the
 * garbage collector, which moves each of its entries. Here the id itself is the only object that lives on.
 */
export function createIdSet(max: number): IdSet {
  let recent = createShelf()
  let earlier = createShelf()
  return {
    add: (id, seq, group) => {
      const hash = textHash(id)
      const known = recent.find(id, hash) ?? earlier.find(id, hash)
      if (known !== null) return known
      recent.add(id, hash, seq, group)
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
  const seqs: number[] = []
  const groups: (number | null)[] = []
  let size = 1_024
  /** By place, the hash of an id and one more than its position; 0 where the place is free. */
  let table = new Int32Array(2 * size)

  const note = (hash: number, entry: number): void => {
    let place = hash & (size - 1)
    while (table[2 * place + 1] !== 0) place = (place + 1) & (size - 1)
    table[2 * place] = hash
    table[2 * place + 1] = entry
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
    all: () => ids.map((id, index) => [id, seqs[index] ?? Number.NaN] as const),
    find: (id: string, hash: number): FirstUse | null => {
      for (let place = hash & (size - 1); ; place = (place + 1) & (size - 1)) {
        const position = (table[2 * place + 1] ?? 0) - 1
        if (position < 0) return null
        if (table[2 * place] === hash && ids[position] === id)
          return { seq: seqs[position] ?? Number.NaN, group: groups[position] ?? null }
      }
    },
    add: (id: string, hash: number, seq: number, group: number | null): void => {
      ids.push(id)
      seqs.push(seq)
      groups.push(group)
      note(hash, ids.length)
      // Half of the places stay free, so that a search is short.
      if (2 * ids.length > size) grow()
    },
  }
}
