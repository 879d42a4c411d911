import { median, onFreshTarget, runChild } from './child.ts'
import type { Bench } from './figure.ts'

type Ours = {
  readonly verdict: string
  readonly reasons: readonly string[]
  readonly perSecond: number
  readonly judgements: number
}
type Theirs = { readonly perSecond: number }

const connections = '64'

/**
 * Single RPC calls per second: Turnpike with every judge, compared with bare autocannon, in turn on the same target.
 * Bare undici is the base of Turnpike's transport and so its upper bound.
 */
export const benchThroughput: Bench = async ({ short }) => {
  const rounds = short ? 1 : 5
  const seconds = short ? 3 : 5
  const ours: number[] = []
  const autocannons: number[] = []
  const undicis: number[] = []
  let judged = 0
  for (let round = 0; round < rounds; round++) {
    const bare = (file: string) => onFreshTarget(port => runChild<Theirs>(file, [port, connections, String(seconds)]))
    autocannons.push((await bare('./programs/autocannon-client.js')).perSecond)
    undicis.push((await bare('./programs/undici-client.js')).perSecond)
    const run = await onFreshTarget(port =>
      runChild<Ours>('./programs/turnpike-client.js', [port, 'closed', connections, String(seconds)]),
    )
    if (run.verdict !== 'pass') throw new Error(`the run did not pass: ${run.reasons.join(' ')}`)
    ours.push(run.perSecond)
    judged = run.judgements / (run.perSecond * seconds)
  }
  const relativeToAutocannon = (rates: readonly number[]) =>
    median(rates.map((value, index) => value / (autocannons[index] ?? Number.NaN)))
  console.log(`\nCalls per second, ${connections} connections, ${rounds} rounds of ${seconds} s in turn, medians`)
  console.log(`  turnpike with every judge (${judged.toFixed(0)} checks per call)      ${median(ours).toFixed(0)}`)
  console.log(`  undici without checks                                ${median(undicis).toFixed(0)}`)
  console.log(`  autocannon without checks                            ${median(autocannons).toFixed(0)}`)
  return [
    {
      name: 'RPC calls per second relative to bare autocannon',
      value: relativeToAutocannon(ours),
      unit: '',
      aim: { kind: 'at-least', bound: 0.5 },
    },
    {
      name: 'RPC calls per second of bare undici relative to bare autocannon',
      value: relativeToAutocannon(undicis),
      unit: '',
      aim: null,
    },
  ]
}
