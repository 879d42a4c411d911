import { runChild, startChild } from './child.ts'
import type { Bench, Figure } from './figure.ts'

type Run = {
  readonly verdict: string
  readonly reasons: readonly string[]
  readonly perSecond: number
  readonly lateness: { readonly p50: number; readonly p99: number; readonly p999: number | null; readonly max: number }
}

/** The lateness of the open driver at rates far above any tier, with every judge. */
export const benchLateness: Bench = async ({ short }) => {
  const rates = short ? [500, 1000] : [500, 1000, 2000]
  const seconds = short ? 3 : 10
  const figures: Figure[] = []
  console.log(`\nLateness of the open driver, ${seconds} s each, with every judge`)
  console.log('  calls/s   sent/s   p50 ms   p99 ms   p99.9 ms   max ms')
  for (const rate of rates) {
    const target = startChild('./programs/rpc-target.js')
    const { port } = (await target.firstMessage) as { readonly port: number }
    const run = await runChild<Run>('./programs/turnpike-client.js', [
      String(port),
      'open',
      String(rate),
      String(seconds),
    ])
    target.stop()
    const { p50, p99, p999, max } = run.lateness
    const cells = [p50, p99, p999 ?? Number.NaN, max].map(ms => ms.toFixed(2).padStart(9))
    console.log(
      `  ${String(rate).padStart(7)}${run.perSecond.toFixed(0).padStart(9)}${cells.join('')}   ${run.verdict}`,
    )
    const aim = rate === 2000 ? ({ kind: 'at-most', bound: 2 } as const) : null
    figures.push({ name: `lateness p99 at ${rate} calls per second`, value: p99, unit: 'ms', aim })
  }
  return figures
}
