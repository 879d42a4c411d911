import { type Probe, type ProbeName, probes } from '../contract/probes.ts'
import { jsonObject } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'

/** Whether a crafted request got the answer that the document promises. A 429 or a 5xx says nothing about that. */
export const checkProbe: Check<'probe'> = ({ answer, asked, seq }, _contract, say) => {
  if (asked.kind !== 'probe' || answer === null || answer.status === 429 || answer.status >= 500) return
  const { clause, status, names }: Probe = probes[asked.probe as ProbeName]
  if (answer.status !== status) {
    return say.broken(clause, `${asked.probe} was answered with ${answer.status}, expected ${status}`, [seq])
  }
  const said = JSON.stringify(jsonObject(answer) ?? '')
  const unnamed = names.filter(name => !said.includes(name))
  if (unnamed.length === 0) say.kept(clause)
  else say.broken(clause, `the message names not ${unnamed.join(', ')}: ${quote(said)}`, [seq])
}
