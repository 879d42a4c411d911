import type { Sender } from '../../contract/probe.ts'
import { probeOf } from '../../contract/probes.ts'
import { quote } from '../../lib/format.ts'
import type { Answer } from '../../observation/observation.ts'
import { bodyText, isAbuseBlock, isFromGateway } from '../../observation/response.ts'
import { type Check, expectFor } from './check.ts'
import { joinFirst } from './rpc-response.ts'

/** Whether a crafted request got the answer that the document promises. */
export const checkProbe: Check<'probe'> = ({ answer, asked, seq }, contract, say) => {
  if (asked.kind !== 'probe' || answer === null || isFromGateway(answer, contract)) return
  const { clause, promised, names, as } = probeOf(asked.probe)
  const statuses = promised(contract)
  if (statuses.length === 0) return
  if (isAbuseBlock(answer, contract)) return
  const isPromised = statuses.includes(answer.status)
  if (!isPromised && isElsewhere(answer.status, as)) return
  const expect = expectFor(say, seq)
  expect(
    clause,
    isPromised,
    () => `${asked.probe} was answered with ${answer.status}, expected ${statuses.join(' or ')}`,
  )
  if (!isPromised || names.length === 0 || !contract.rpc.namesEveryMethod) return
  const said = bodyText(answer)
  const unnamed = names.filter(name => !said.includes(name))
  if (unnamed.length > 0 && !isWhole(answer)) return
  expect(
    'rpc.unsupported-method.named',
    unnamed.length === 0,
    () => `the message is ${quote(said)}, expected it to name ${joinFirst(unnamed, ' and ')}`,
  )
}

/** Too often, nobody there, no money: says nothing about the request. An anonymous caller has no money to be asked for. */
const isElsewhere = (status: number, as: Sender): boolean =>
  [429, 502, 503, 504].includes(status) || (status === 402 && (as === 'caller' || as === 'unpaying'))

/** Long bodies are not kept whole: of JSON the long strings are cut, of text all but its head. */
const isWhole = ({ body, bytes }: Answer): boolean =>
  bytes <= (body.kind === 'text' ? maxTextLength : clippedAboveBytes)
const clippedAboveBytes = 4096
const maxTextLength = 512
