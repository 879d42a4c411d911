import type { Say } from '../checks/docket.ts'
import { isReplayed } from '../observation/scope.ts'
import type { Audit } from './audit.ts'

/** How many ids of each sort are remembered; a repetition further apart than that goes unseen. */
const memory = 50_000

/** Ids that name one request: no two answers may share them, but for a replay, which repeats its request id. */
export function createUniqueness(say: Say<'uniqueness'>): Audit {
  const rays = recent()
  const requests = recent()
  return {
    add: ({ answer, asked, seq }) => {
      if (answer === null) return
      const ray = answer.headers['cf-ray']
      if (ray) judge('header.cf-ray.unique', 'cf-ray', ray, seq, rays)
      const request = answer.headers['x-request-id']
      if (asked.kind === 'rpc' && request && !isReplayed(answer)) {
        judge('rpc.request-id.unique', 'x-request-id', request, seq, requests)
      }
    },
    conclude: () => {},
  }

  function judge(
    clause: 'header.cf-ray.unique' | 'rpc.request-id.unique',
    name: string,
    id: string,
    seq: number,
    seen: Recent,
  ) {
    const first = seen.put(id, seq)
    if (first === null) say.kept(clause)
    else say.broken(clause, `${name} ${id} names two requests`, [first, seq])
  }
}

type Recent = { readonly put: (id: string, seq: number) => number | null }

/** Remembers the last so many ids; `put` gives the `seq` that had the id before, or null. */
function recent(): Recent {
  const seen = new Map<string, number>()
  return {
    put: (id, seq) => {
      const first = seen.get(id) ?? null
      seen.set(id, first ?? seq)
      const oldest = seen.size > memory ? seen.keys().next().value : undefined
      if (oldest !== undefined) seen.delete(oldest)
      return first
    },
  }
}
