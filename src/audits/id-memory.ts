import { textHash } from '../lib/random.ts'

/** Which request had an id; `group` names the idempotency key, where there was one. */
export type Use = { readonly seq: number; readonly group: number | null }

export type IdMemory = {
  /** Gives who had the id before; null where nobody had, and then it is remembered. */
  readonly put: (id: string, seq: number, group: number | null) => Use | null
  /** The ids that are remembered and the `seq` of the request that had it first, from the earliest on. */
  readonly all: () => readonly (readonly [id: string, seq: number])[]
}

/**
 * Remembers so many of the last ids, and up to twice as many. A Map of them costs as much as a seventh of all judging, most of
 * it for the collector, who has each of its entries to move: here only the id itself is an object that lives on.
 */
export function createIdMemory(most: number): IdMemory {
  let recent = createShelf()
  let earlier = createShelf()
  return {
    put: (id, seq, group) => {
      const hash = textHash(id)
      const known = recent.find(id, hash) ?? earlier.find(id, hash)
      if (known !== null) return known
      recent.add(id, hash, seq, group)
      if (recent.count() >= most) {
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
    find: (id: string, hash: number): Use | null => {
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
