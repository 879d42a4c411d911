import type { Contract } from '../../../contract/contract.ts'
import { limitHeadersOf } from '../../../contract/limit-headers/limit-headers.ts'
import { promisesAny } from '../../../contract/promises.ts'
import type { Obstacle } from '../../findings/obstacles.ts'

/** Why the windows of a limit cannot be told. */
export const unusableReset: Obstacle = { text: 'resets are unusable', clause: 'limit.requests.reset' }
export const lateRefusal: Obstacle = { text: 'a 429 came after its own reset', clause: 'retry.after-reset' }
export const cutWindow: Obstacle = { text: 'windows end before their reset', clause: 'limit.requests.window' }
export const unknownClock: Obstacle = { text: "the target's clock is unknown without Date", clause: 'header.date' }
export const wrongLimit: Obstacle = { text: 'responses state another limit', clause: 'limit.requests.limit' }
export const wrongRemaining: Obstacle = { text: 'remaining requests are wrong', clause: 'limit.requests.remaining' }
const noHeaders: Obstacle = { text: 'responses have no usable limit headers', clause: 'limit.requests.headers' }
export const unknownAlgorithm: Obstacle = {
  text: 'the algorithm of the limits is unknown; name it in the profile as limits.algorithm',
  clause: null,
}
/** Of fixed windows whose ends are not stated as a time of a clock. */
export const unnamedWindows: Obstacle = {
  text: 'responses state how long until a reset, or none, which does not tell windows apart',
  clause: null,
}
/** Without the earlier use of an account, a 429 may be right. */
export const unknownUse: Obstacle = {
  text: 'other requests of the account, or earlier ones, may count too',
  clause: null,
}

export const unknownKeys: Obstacle = {
  text: 'each key seems to have limits of its own, which the document leaves open; if all keys of an account share them, state limits.scope in the profile',
  clause: null,
}
export const unknownLimit: Obstacle = { text: 'the limit is unknown; state it in the profile', clause: null }
/** Without the limit of tokens, a 429 may be right. */
export const unknownTokens: Obstacle = {
  text: 'it may be for tokens, and no limit of tokens is known; state it in the profile',
  clause: null,
}

/** A target that does not promise these headers, or has none, hides nothing. */
export const missingHeaders = (contract: Contract): Obstacle | null =>
  promisesAny(contract, ['limit.requests.headers']) && limitHeadersOf(contract.limits).requests.reset !== null
    ? noHeaders
    : null

/** Counts the accepted requests of a limit whose window a violation hides. */
export function createHiddenRequests(): {
  readonly add: (member: { readonly kind: string }, obstacle: Obstacle | null) => void
  /** What hides most of them; null: most can be seen. */
  readonly most: () => Obstacle | null
} {
  let accepted = 0
  let hidden = 0
  let last: Obstacle | null = null
  return {
    add: ({ kind }, obstacle) => {
      if (kind !== 'accepted') return
      accepted++
      if (obstacle === null) return
      hidden++
      last = obstacle
    },
    most: () => (2 * hidden >= accepted ? last : null),
  }
}
