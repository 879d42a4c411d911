import { type Probe, type ProbeName, probes } from '../contract/probes.ts'
import { jsonObject } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'

/** Whether a crafted request got the answer that the document promises. */
export const checkProbe: Check<'probe'> = ({ answer, asked, seq }, _contract, say) => {
  if (asked.kind !== 'probe' || answer === null || elsewhere.includes(answer.status)) return
  const { clause, status, names }: Probe = probes[asked.probe as ProbeName]
  if (answer.status !== status) {
    // A refusal with another status is a wrong refusal, whatever its message names.
    return say.broken(
      clause === 'rpc.unsupported-method.named' ? 'rpc.unsupported-method' : clause,
      `${asked.probe} was answered with ${answer.status}, expected ${status}`,
      [seq],
    )
  }
  const said = JSON.stringify(jsonObject(answer) ?? '')
  const unnamed = names.filter(name => !said.includes(name))
  if (unnamed.length === 0) say.kept(clause)
  else say.broken(clause, `the message names not ${unnamed.join(', ')}: ${quote(said)}`, [seq])
}

/** Too often, or nobody there: says nothing about the request. */
const elsewhere: readonly number[] = [429, 502, 503, 504]
