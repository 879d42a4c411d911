import type { Reclassify, Say } from '../checks/findings.ts'
import { isReplayed } from '../observation/response.ts'
import type { Audit } from './audit.ts'
import { createIdMemory } from './id-memory.ts'

/** How many ids of each sort are remembered for sure; a repetition further apart than that may go unseen. */
const memory = 50_000

/**
 * Ids that name one request: no two answers may share them, but for a replay, which repeats its request id. Whether a
 * repeated request says that it is a replay is another clause's business.
 */
export function createUniqueness(say: Say<'uniqueness'>): Audit & { readonly ids: () => KnownIds } {
  const rays = createIdMemory(memory)
  const requests = createIdMemory(memory)
  return {
    add: ({ answer, asked, seq }) => {
      if (answer === null) return
      const { 'cf-ray': ray, 'x-request-id': request } = answer.headers
      if (ray) judge('header.cf-ray.unique', 'cf-ray', ray, rays.put(ray, seq, null)?.seq ?? null, seq)
      if (asked.kind !== 'rpc' || !request || isReplayed(answer)) return
      const group = asked.replay?.group ?? null
      const first = requests.put(request, seq, group)
      if (first === null || group === null || first.group !== group)
        judge('rpc.request-id.unique', 'x-request-id', request, first?.seq ?? null, seq)
    },
    conclude: () => {},
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

/** The ids that a judge remembers, and the `seq` of the first request that each of them named. */
export type KnownIds = { readonly rays: ReadonlyMap<string, number>; readonly requests: ReadonlyMap<string, number> }

/**
 * What judges who saw different requests can only tell together: whether an id that is new to each of them is new to all.
 * The first use of an id was found to be right by the judge who saw it; the later ones of them are taken back.
 */
export function judgeIdsOfAll(all: readonly KnownIds[], retract: Reclassify<'uniqueness'>): void {
  const judge = (clause: 'header.cf-ray.unique' | 'rpc.request-id.unique', name: string, sort: keyof KnownIds) => {
    const firsts = new Map<string, number>()
    for (const [id, seq] of all.flatMap(ids => [...ids[sort]]).toSorted(([, a], [, b]) => a - b)) {
      const first = firsts.get(id)
      if (first === undefined) firsts.set(id, seq)
      else retract(clause, `${name} ${id} names two requests, expected each to have its own`, [first, seq])
    }
  }
  if (all.length < 2) return
  judge('header.cf-ray.unique', 'cf-ray', 'rays')
  judge('rpc.request-id.unique', 'x-request-id', 'requests')
}
