import type { Stall } from './programs/rpc-target.ts'
import { onFreshTarget, requestReleases, runChild } from './support/child.ts'
import type { Bench } from './support/figure.ts'

type Run = {
  readonly verdict: string
  readonly reasons: readonly string[]
  readonly count: number
  readonly latency: Readonly<Record<Quantile, number | null>>
  /** How long after the end of the stall the target responded to each waiting request, the longest wait first. */
  readonly releasedMs: readonly number[]
}

const quantiles = { p90: 0.9, p95: 0.95, p99: 0.99 } as const
type Quantile = keyof typeof quantiles

const perSecond = 100
const gapMs = 1_000 / perSecond

/**
 * The worst error of a latency percentile when the target stalls for a sixth of the run: at its start, in its middle
 * and near its end, at several instants between two arrivals. A closed-loop tool would see one slow response instead of
 * two hundred, and would be wrong by a factor.
 */
export const benchStall: Bench = async ({ short }) => {
  const seconds = short ? 3 : 12
  const stallMs = (seconds * 1_000) / 6
  const last = (seconds * perSecond * 5) / 6 - 1
  const stalls: readonly Omit<Stall, 'stallMs'>[] = short
    ? [{ afterRequest: 100, phaseMs: 3 }]
    : [
        { afterRequest: 0, phaseMs: 0 },
        { afterRequest: 250, phaseMs: 3 },
        { afterRequest: 600, phaseMs: 7 },
        { afterRequest: last, phaseMs: 5 },
      ]
  console.log(
    `\nA stall of ${stallMs} ms at ${perSecond} calls per second, runs of ${seconds} s: measured (true), in ms`,
  )
  const errors: number[] = []
  for (const stall of stalls) {
    const run = await runWith({ ...stall, stallMs }, seconds)
    const cells = (Object.keys(quantiles) as Quantile[]).map(name => {
      const measured = run.latency[name] ?? Number.NaN
      const truth = trueLatencyMs(quantiles[name], { ...stall, stallMs }, run)
      errors.push(Math.abs(measured - truth) / truth)
      return `${name} ${measured.toFixed(0)} (${truth.toFixed(0)})`
    })
    console.log(`  ${stall.phaseMs} ms after call ${stall.afterRequest}: ${cells.join(', ')}, ${run.verdict}`)
  }
  return [
    {
      name: `error of p90, p95, p99 over a stall of ${stallMs} ms`,
      value: Math.max(...errors),
      unit: '',
      aim: { kind: 'at-most', bound: 0.02 },
    },
  ]
}

/**
 * Arrivals are due every `gapMs`. The stall starts `phaseMs` after one of them, which still gets its response (with a
 * phase of 0, it is the first to wait), and lasts S. Requests during the stall wait for its end. Their waits are S +
 * phase, minus 1, 2, 3 … gaps (with a phase of 0: minus 0, 1, 2 … gaps). All other requests get an immediate response.
 * Of n latencies, n − ⌈q·n⌉ are above the percentile q. If fewer requests are above it than waited, the percentile is
 * the next longest wait. Writing two hundred responses takes time, so the target reports when it wrote each.
 */
function trueLatencyMs(q: number, { phaseMs, stallMs }: Stall, { count, releasedMs }: Run): number {
  const above = count - Math.ceil(q * count)
  return stallMs + phaseMs - (above + (phaseMs === 0 ? 0 : 1)) * gapMs + (releasedMs[above] ?? Number.NaN)
}

const runWith = (stall: Stall, seconds: number): Promise<Run> =>
  onFreshTarget(
    async (port, target) => {
      const args = [port, 'open', String(perSecond), String(seconds)]
      const run = await runChild<Omit<Run, 'releasedMs'>>('./programs/turnpike-client.js', args)
      return { ...run, releasedMs: await requestReleases(target) }
    },
    [JSON.stringify({ kind: 'stall', ...stall })],
  )
