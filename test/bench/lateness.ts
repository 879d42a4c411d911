import { clientCore, median, medianRatio, noteUnpinned, onFreshTarget, runChild, targetCore } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'
import { rpcProfile, rpcScenario, runShipped } from './support/shipped.ts'

type Lateness = { readonly [Quantile in 'p50' | 'p99' | 'p999' | 'max']: number | null }

/**
 * The lateness of the open driver at rates far above any tier, through the shipped command and on one core. At the
 * highest rate also relative to a bare loop with undici, in turn.
 */
export const benchLateness: Bench = async ({ short }) => {
  const rates = short ? [500, 2_000] : [500, 1_000, 2_000]
  const rounds = short ? 1 : 3
  const seconds = short ? 2 : 10
  const figures: Figure[] = []
  console.log(`\nLateness of the open driver on one core, ${rounds} rounds of ${seconds} s in turn`)
  noteUnpinned()
  console.log('  calls/s              p50 ms   p99 ms   p99.9 ms   max ms')
  for (const rate of rates) {
    const ours: number[] = []
    const bare: number[] = []
    for (let round = 0; round < rounds; round++) {
      ours.push(show(rate, 'turnpike', await oursAt(rate, seconds)))
      if (rate === rates.at(-1)) bare.push(show(rate, 'bare loop', await bareAt(rate, seconds)))
    }
    const name = `lateness p99 at ${rate} calls per second`
    const aim = rate === 2_000 ? ({ kind: 'at-most', bound: 2 } as const) : null
    figures.push({ name, value: median(ours), unit: 'ms', aim })
    if (bare.length > 0)
      figures.push({
        name: `${name} relative to a bare loop`,
        value: medianRatio(ours, bare),
        unit: '',
        aim: { kind: 'at-most', bound: 1.5 },
      })
  }
  return figures
}

async function oursAt(rate: number, seconds: number): Promise<Lateness> {
  const scenario = rpcScenario(`shape: constant, rate: ${rate}/s`, seconds)
  const run = (port: string) => runShipped({ scenario, profile: rpcProfile, port })
  return (await onFreshTarget(run, [], { core: targetCore })).report.load.latenessMs
}

async function bareAt(rate: number, seconds: number): Promise<Lateness> {
  const args = [String(rate), String(seconds)]
  const { failed, ...lateness } = await onFreshTarget(
    port => runChild<Lateness & { failed: number }>('./programs/bare-loop.js', [port, ...args], { core: clientCore }),
    [],
    { core: targetCore },
  )
  if (failed > 0) throw new Error(`${failed} calls of the bare loop failed`)
  return lateness
}

/** Prints a row and returns the p99. */
function show(rate: number, client: string, { p50, p99, p999, max }: Lateness): number {
  const cells = [p50, p99, p999, max].map(ms => (ms ?? Number.NaN).toFixed(2).padStart(9))
  console.log(`  ${String(rate).padStart(7)}  ${client.padEnd(9)}${cells.join('')}`)
  return p99 ?? Number.NaN
}
