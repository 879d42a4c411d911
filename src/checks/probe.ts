import { probeOf } from '../contract/probes.ts'
import type { Answer } from '../observation/observation.ts'
import { type Check, expecting, quote } from './check.ts'
import { briefly } from './correlate.ts'
import { isAbuseBlock, isFromInFront } from './who-answered.ts'

/** Whether a crafted request got the answer that the document promises. */
export const checkProbe: Check<'probe'> = ({ answer, asked, seq }, contract, say) => {
  if (asked.kind !== 'probe' || answer === null || isFromInFront(answer, contract)) return
  const { clause, promised, names, draws } = probeOf(asked.probe)
  const statuses = promised(contract)
  if (statuses.length === 0) return
  if (isAbuseBlock(answer, contract)) return
  // Whether money is asked for before the request is looked at is open, but a stranger has none to be asked for.
  if (elsewhere.includes(answer.status) || (answer.status === 402 && draws !== null)) return
  const isPromised = statuses.includes(answer.status)
  const expect = expecting(say, seq)
  expect(
    clause,
    isPromised,
    () => `${asked.probe} was answered with ${answer.status}, expected ${statuses.join(' or ')}`,
  )
  if (!isPromised || names.length === 0 || !contract.rpc.namesEveryMethod) return
  const said = messageOf(answer)
  const unnamed = names.filter(name => !said.includes(name))
  if (unnamed.length > 0 && !isWhole(answer)) return
  expect(
    'rpc.unsupported-method.named',
    unnamed.length === 0,
    () => `the message is ${quote(said)}, expected it to name ${briefly(unnamed, ' and ')}`,
  )
}

/** Too often, or nobody there: says nothing about the request. */
const elsewhere: readonly number[] = [429, 502, 503, 504]

/** The whole body: where in it the message stands is open. */
const messageOf = ({ body }: Answer): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : body.kind === 'text' ? body.head : ''

/** Long bodies are not kept whole: of JSON the long strings are cut, of text all but its head. */
const isWhole = ({ body, bytes }: Answer): boolean => bytes <= (body.kind === 'text' ? longestText : clippedAboveBytes)
const clippedAboveBytes = 4096
const longestText = 512
