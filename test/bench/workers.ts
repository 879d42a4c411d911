import { median, onFreshTarget, runChild } from './child.ts'
import type { Bench } from './figure.ts'

type Ours = {
  readonly verdict: string
  readonly reasons: readonly string[]
  readonly perSecond: number
  readonly cpuMsPerCall: number
}

/**
 * What two workers are worth beside one. They share the machine with their target, so what is compared is the CPU that a
 * call takes: where a core is free for each of them, two make so many times the calls of one. Starting them is part of it.
 */
export const benchWorkers: Bench = async ({ short }) => {
  const rounds = short ? 1 : 5
  const seconds = short ? '3' : '10'
  const runs: Readonly<Record<'1' | '2', Ours[]>> = { 1: [], 2: [] }
  for (let round = 0; round < rounds; round++) {
    for (const workers of ['1', '2'] as const) {
      const run = await onFreshTarget(port => runChild<Ours>('./programs/workers-client.js', [port, workers, seconds]))
      if (run.verdict !== 'pass') throw new Error(`the run was no pass: ${run.reasons.join(' ')}`)
      runs[workers].push(run)
    }
  }
  const cpuMs = (workers: '1' | '2') => median(runs[workers].map(run => run.cpuMsPerCall))
  console.log(`\nSingle RPC calls by 64 users, every judge on, ${rounds} rounds of ${seconds} s in turn, medians`)
  for (const workers of ['1', '2'] as const) {
    const perSecond = median(runs[workers].map(run => run.perSecond))
    console.log(
      `  workers ${workers}  ${cpuMs(workers).toFixed(3)} ms CPU a call, ${perSecond.toFixed(0)} calls/s beside their target`,
    )
  }
  return [
    {
      name: 'calls of two workers beside one, by the CPU of a call',
      value: (2 * cpuMs('1')) / cpuMs('2'),
      unit: '',
      aim: { kind: 'at-least', bound: 1.8 },
    },
  ]
}
