import type { Observation } from '../observation/observation.ts'
import { is2xx } from '../observation/response.ts'
import { usesOwnKey } from './audits/abuse/failure.ts'

/**
 * Tells whether a response says only that the target does not know a key. Nobody gave that key to Turnpike, so the
 * response is no fault of the target. Once a request with such a key has succeeded, the target knows them.
 */
export function createInventedKeys(areInvented: boolean): (observation: Observation) => boolean {
  let areKnown = !areInvented
  return ({ request, response, chain }) => {
    if (areKnown || response === null || chain !== undefined || !usesOwnKey(request)) return false
    areKnown = is2xx(response.status)
    return response.status === 401
  }
}
