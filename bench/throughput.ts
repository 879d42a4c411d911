import { median, onFreshTarget, runChild } from './child.ts'
import type { Bench } from './figure.ts'

type Ours = {
  readonly verdict: string
  readonly because: readonly string[]
  readonly perSecond: number
  readonly judgements: number
}
type Theirs = { readonly perSecond: number; readonly non2xx: number; readonly errors: number }

const connections = '64'

/** Single RPC calls a second: Turnpike with every judge on, beside bare autocannon, in turn on the same target. */
export const benchThroughput: Bench = async ({ short }) => {
  const rounds = short ? 1 : 5
  const seconds = short ? 3 : 5
  const ours: number[] = []
  const theirs: number[] = []
  let judged = 0
  for (let round = 0; round < rounds; round++) {
    const bare = await onFreshTarget(port =>
      runChild<Theirs>('./autocannon-client.js', [port, connections, String(seconds)]),
    )
    const run = await onFreshTarget(port =>
      runChild<Ours>('./turnpike-client.js', [port, 'closed', connections, String(seconds)]),
    )
    if (run.verdict !== 'pass') throw new Error(`the run was no pass: ${run.because.join(' ')}`)
    ours.push(run.perSecond)
    theirs.push(bare.perSecond)
    judged = run.judgements / (run.perSecond * seconds)
  }
  const ratio = median(ours.map((value, index) => value / (theirs[index] ?? Number.NaN)))
  console.log(`\nCalls a second, ${connections} connections, ${rounds} rounds of ${seconds} s in turn, medians`)
  console.log(`  turnpike, every judge on (${judged.toFixed(0)} judgements a call)   ${median(ours).toFixed(0)}`)
  console.log(`  autocannon, no check                              ${median(theirs).toFixed(0)}`)
  return [
    {
      name: 'RPC calls a second, beside bare autocannon',
      value: ratio,
      unit: '',
      aim: { kind: 'at-least', bound: 0.5 },
    },
  ]
}
