import { runChild, startChild } from './child.ts'

type Run = {
  readonly verdict: string
  readonly because: readonly string[]
  readonly perSecond: number
  readonly lateness: { readonly p50: number; readonly p99: number; readonly p999: number | null; readonly max: number }
}

/** How late the open driver sends at rates that are far above any tier, every judge on. */
export async function benchLateness(rates: readonly number[], seconds: number): Promise<void> {
  console.log(`\nLateness of the open driver, ${seconds} s each, every judge on`)
  console.log('  calls/s   sent/s   p50 ms   p99 ms   p99.9 ms   max ms')
  for (const rate of rates) {
    const target = startChild('./rpc-target.js')
    const { port } = (await target.said) as { readonly port: number }
    const run = await runChild<Run>('./turnpike-client.js', [String(port), 'open', String(rate), String(seconds)])
    target.stop()
    const { p50, p99, p999, max } = run.lateness
    const cells = [p50, p99, p999 ?? Number.NaN, max].map(ms => ms.toFixed(2).padStart(9))
    console.log(
      `  ${String(rate).padStart(7)}${run.perSecond.toFixed(0).padStart(9)}${cells.join('')}   ${run.verdict}`,
    )
  }
}
