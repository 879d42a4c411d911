import type { Sender } from '../../contract/probe.ts'
import { isPromisedStatus, probeOf } from '../../contract/probes.ts'
import { quote } from '../../lib/format.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import type { ProbeDescriptor } from '../../observation/requests/probe.ts'
import { bodyText, isAbuseBlock, isFromGateway } from '../../observation/response.ts'
import { type Check, expectFor } from './check.ts'
import { joinFirst } from './rpc-response.ts'

/** Checks that a crafted request gets a documented response. */
export const checkProbe: Check<'probe', ProbeDescriptor> = ({ response, request, id }, contract, reporter) => {
  if (response === null || isFromGateway(response, contract)) return
  const { clause, promised, names, as } = probeOf(request.probe)
  const statuses = promised(contract)
  if (statuses.length === 0) return
  if (isAbuseBlock(response, contract)) return
  const isPromised = isPromisedStatus(request.probe, response.status, contract)
  if (!isPromised && isUnrelated(response.status, as)) return
  const expect = expectFor(reporter, id)
  expect(clause, isPromised, () => `${request.probe} got status ${response.status}, expected ${statuses.join(' or ')}`)
  if (!isPromised || names.length === 0 || !contract.rpc.namesEveryMethod) return
  const said = bodyText(response)
  const unnamed = names.filter(name => !said.includes(name))
  if (unnamed.length > 0 && !isComplete(response)) return
  expect(
    'rpc.unsupported-method.named',
    unnamed.length === 0,
    () => `the message is ${quote(said)}, expected it to name ${joinFirst(unnamed, ' and ')}`,
  )
}

/**
 * Statuses about the caller's rate, its balance, or an outage, and not about the request. An anonymous caller
 * has no balance, so it must not get a 402.
 */
const isUnrelated = (status: number, as: Sender): boolean =>
  [429, 502, 503, 504].includes(status) || (status === 402 && (as === 'caller' || as === 'free-user'))

/** Long bodies are recorded only in part: long JSON strings are cut, and only the head of a text is recorded. */
const isComplete = ({ body, bytes }: ObservedResponse): boolean =>
  bytes <= (body.kind === 'text' ? maxTextLength : clippedAboveBytes)
const clippedAboveBytes = 4096
const maxTextLength = 512
