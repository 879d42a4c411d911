import { median, onFreshTarget, runChild } from './support/child.ts'
import type { Bench } from './support/figure.ts'

type Run = {
  readonly verdict: string
  readonly reasons: readonly string[]
  readonly perSecond: number
  readonly cpuMsPerCall: number
}

const connections = '64'
const models = ['saturate', 'closed'] as const

/**
 * Two ways to saturate connections, in turn on the same target, with every judge: autocannon, and users over undici.
 */
export const benchSaturate: Bench = async ({ short }) => {
  const rounds = short ? 1 : 5
  const seconds = short ? 3 : 5
  const runs: Record<(typeof models)[number], Run[]> = { saturate: [], closed: [] }
  for (let round = 0; round < rounds; round++) {
    for (const model of models) {
      const run = await onFreshTarget(port =>
        runChild<Run>('./programs/turnpike-client.js', [port, model, connections, String(seconds)]),
      )
      if (run.verdict !== 'pass') throw new Error(`the run did not pass: ${run.reasons.join(' ')}`)
      runs[model].push(run)
    }
  }
  console.log(`\n${connections} saturated connections, ${rounds} rounds of ${seconds} s in turn, medians`)
  console.log('             calls/s   CPU per call')
  for (const model of models) {
    const perSecond = median(runs[model].map(run => run.perSecond))
    const cpuMs = median(runs[model].map(run => run.cpuMsPerCall))
    console.log(
      `  ${model.padEnd(9)}${perSecond.toFixed(0).padStart(9)}${`${(cpuMs * 1000).toFixed(0)} µs`.padStart(13)}`,
    )
  }
  const ratios = runs.saturate.map(({ perSecond }, round) => perSecond / (runs.closed[round]?.perSecond ?? Number.NaN))
  return [
    {
      name: 'calls per second with autocannon relative to users over undici',
      value: median(ratios),
      unit: '',
      aim: { kind: 'at-least', bound: 1 },
    },
  ]
}
