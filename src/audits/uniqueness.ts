import type { Say } from '../checks/docket.ts'
import { isReplayed } from '../observation/scope.ts'
import type { Audit } from './audit.ts'

/** How many ids of each sort are remembered for sure; a repetition further apart than that may go unseen. */
const memory = 50_000

/**
 * Ids that name one request: no two answers may share them, but for a replay, which repeats its request id. Whether a
 * repeated request says that it is a replay is another clause's business.
 */
export function createUniqueness(say: Say<'uniqueness'>): Audit {
  const rays = createMemory<number>()
  const requests = createMemory<Use>()
  return {
    add: ({ answer, asked, seq }) => {
      if (answer === null) return
      const { 'cf-ray': ray, 'x-request-id': request } = answer.headers
      if (ray) judge('header.cf-ray.unique', 'cf-ray', ray, rays.put(ray, seq), seq)
      if (asked.kind !== 'rpc' || !request || isReplayed(answer)) return
      const group = asked.replay?.group ?? null
      const first = requests.put(request, { seq, group })
      if (first === null || group === null || first.group !== group)
        judge('rpc.request-id.unique', 'x-request-id', request, first?.seq ?? null, seq)
    },
    conclude: () => {},
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

/** Which request had an id; `group` names the idempotency key, where there was one. */
type Use = { readonly seq: number; readonly group: number | null }

/** Remembers so many of the last ids, and up to twice as many; `put` gives who had the id before, or null. */
function createMemory<Of>(): { readonly put: (id: string, use: Of) => Of | null } {
  let recent = new Map<string, Of>()
  let earlier = new Map<string, Of>()
  return {
    put: (id, use) => {
      const first = recent.get(id) ?? earlier.get(id)
      if (first !== undefined) return first
      recent.set(id, use)
      if (recent.size >= memory) {
        earlier = recent
        recent = new Map()
      }
      return null
    },
  }
}
