import { median, onFreshTarget, runChild } from './support/child.ts'
import type { Bench } from './support/figure.ts'

type Ours = {
  readonly verdict: string
  readonly reasons: readonly string[]
  readonly perSecond: number
  readonly cpuMsPerCall: number
}

/**
 * The gain of two workers over one. They share the machine with their target, so the bench compares the CPU time per
 * call. With a free core for each worker, the call rate scales by that ratio. The time includes the start of the
 * workers.
 */
export const benchWorkers: Bench = async ({ short }) => {
  const rounds = short ? 1 : 3
  const seconds = short ? '3' : '10'
  const runs: Readonly<Record<'1' | '2', Ours[]>> = { 1: [], 2: [] }
  for (let round = 0; round < rounds; round++) {
    for (const workers of ['1', '2'] as const) {
      const run = await onFreshTarget(port => runChild<Ours>('./programs/workers-client.js', [port, workers, seconds]))
      if (run.verdict !== 'pass') throw new Error(`the run did not pass: ${run.reasons.join(' ')}`)
      runs[workers].push(run)
    }
  }
  const cpuMs = (workers: '1' | '2') => median(runs[workers].map(run => run.cpuMsPerCall))
  console.log(`\nSingle RPC calls by 64 users, with every judge, ${rounds} rounds of ${seconds} s in turn, medians`)
  for (const workers of ['1', '2'] as const) {
    const perSecond = median(runs[workers].map(run => run.perSecond))
    console.log(
      `  workers ${workers}  ${cpuMs(workers).toFixed(3)} ms CPU per call, ${perSecond.toFixed(0)} calls/s on the cores of the target`,
    )
  }
  return [
    {
      name: 'calls of two workers relative to one, by CPU per call',
      value: (2 * cpuMs('1')) / cpuMs('2'),
      unit: '',
      aim: { kind: 'at-least', bound: 1.8 },
    },
  ]
}
