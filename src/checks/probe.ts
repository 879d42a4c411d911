import { probeOf } from '../contract/probes.ts'
import type { Answer } from '../observation/observation.ts'
import { type Check, quote } from './check.ts'
import { isAbuseBlock, isFromInFront } from './who-answered.ts'

/** Whether a crafted request got the answer that the document promises. */
export const checkProbe: Check<'probe'> = ({ answer, asked, seq }, contract, say) => {
  if (asked.kind !== 'probe' || answer === null || isFromInFront(answer, contract)) return
  const { clause, promised, names, draws } = probeOf(asked.probe)
  const statuses = promised(contract)
  if (statuses.length === 0) return
  // Whether money is asked for before the request is looked at is open, but a stranger has none to be asked for.
  if (isAbuseBlock(answer, contract)) return
  if (elsewhere.includes(answer.status) || (answer.status === 402 && draws !== null)) return
  if (!statuses.includes(answer.status)) {
    // A refusal with another status is a wrong refusal, whatever its message names.
    const broken = clause === 'rpc.unsupported-method.named' ? 'rpc.unsupported-method' : clause
    return say.broken(broken, `${asked.probe} was answered with ${answer.status}, expected ${statuses.join(' or ')}`, [
      seq,
    ])
  }
  const said = messageOf(answer)
  const unnamed = names.filter(name => !said.includes(name))
  if (unnamed.length === 0) return say.kept(clause)
  say.broken(clause, `the message is ${quote(said)}, expected it to name ${unnamed.join(' and ')}`, [seq])
}

/** Too often, or nobody there: says nothing about the request. */
const elsewhere: readonly number[] = [429, 502, 503, 504]

/** The whole body: where in it the message stands is open. */
const messageOf = ({ body }: Answer): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : body.kind === 'text' ? body.head : ''
