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
 * Single RPC calls a second: Turnpike with every judge on, beside bare autocannon, in turn on the same target. Bare undici
 * stands between the two: it is what our transport rests on, and so what nothing of ours can exceed.
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
    if (run.verdict !== 'pass') throw new Error(`the run was no pass: ${run.reasons.join(' ')}`)
    ours.push(run.perSecond)
    judged = run.judgements / (run.perSecond * seconds)
  }
  const besideAutocannon = (rates: readonly number[]) =>
    median(rates.map((value, index) => value / (autocannons[index] ?? Number.NaN)))
  console.log(`\nCalls a second, ${connections} connections, ${rounds} rounds of ${seconds} s in turn, medians`)
  console.log(`  turnpike, every judge on (${judged.toFixed(0)} judgements a call)   ${median(ours).toFixed(0)}`)
  console.log(`  undici, no check                                  ${median(undicis).toFixed(0)}`)
  console.log(`  autocannon, no check                              ${median(autocannons).toFixed(0)}`)
  return [
    {
      name: 'RPC calls a second, beside bare autocannon',
      value: besideAutocannon(ours),
      unit: '',
      aim: { kind: 'at-least', bound: 0.5 },
    },
    { name: 'the same of bare undici', value: besideAutocannon(undicis), unit: '', aim: null },
  ]
}
