import type { Contract } from '../../contract/contract.ts'
import { isMarkedByBytes } from '../../contract/requests/idempotency.ts'
import type { Observation } from '../../observation/observation.ts'
import { requestTraits } from '../../observation/requests/request.ts'
import { fingerprintOf } from '../../observation/response.ts'

/** More keys than are in use at once. */
const maxKeys = 10_000

/**
 * Where a service marks replays in no other way, a response with the bytes of an earlier one to its key is one. Takes
 * observations in the order of sending. Another caller may get the same bytes for a request of its own.
 */
export function markRepeatedBodies({ idempotency }: Contract): (observation: Observation) => Observation {
  if (!isMarkedByBytes(idempotency)) return observation => observation
  const digests = new Map<number, Set<string>>()
  return observation => {
    const { request, response } = observation
    const replay = requestTraits(request).replay(request)
    const digest = fingerprintOf(response)
    if (replay === null || digest === null || replay.role === 'other-caller') return observation
    const known = digests.get(replay.group)
    if (known?.has(digest)) return { ...observation, repeatsBody: true }
    if (known !== undefined) known.add(digest)
    else {
      digests.set(replay.group, new Set([digest]))
      for (const oldest of digests.keys()) if (digests.size > maxKeys) digests.delete(oldest)
    }
    return observation
  }
}
