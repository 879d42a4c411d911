import type { Contract } from '../../../contract/contract.ts'
import { probeOf } from '../../../contract/probes.ts'
import { type Asked, failedBeforeSend, type Observation } from '../../../observation/observation.ts'
import { is2xx, isAbuseBlock, isFromGateway } from '../../../observation/response.ts'

/** certain: it counts towards the abuse block of its caller · possible: it may count, or may have been another's answer */
export type CountedFailure = 'certain' | 'possible'

/** Whether a request counts towards the abuse block of its caller; null where it does not. */
export function countedFailureOf({ asked, answer, outcome }: Observation, contract: Contract): CountedFailure | null {
  if (outcome.kind === 'dropped' || !usesOwnKey(asked)) return null
  if (outcome.kind === 'failed' && failedBeforeSend.includes(outcome.reason)) return null
  if (answer === null) return 'possible'
  const { status } = answer
  if (is2xx(status)) return null
  const { counts, blockedCount } = contract.abuse
  if (isAbuseBlock(answer, contract)) return blockedCount === false ? null : 'possible'
  if (counts === 'client-errors-but-429' && (status === 429 || status >= 500)) return null
  // Whose failure a 401 is, only the service knows.
  const isClear = outcome.kind === 'answered' && status >= 400 && status !== 401 && !isFromGateway(answer, contract)
  return isClear ? 'certain' : 'possible'
}

/** Whether a request carries the key of its caller. */
export const usesOwnKey = (asked: Asked): boolean =>
  asked.kind === 'probe' ? probeOf(asked.probe).as === 'caller' : asked.kind !== 'models' && asked.kind !== 'networks'
