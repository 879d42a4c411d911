import { onFreshTarget, runChild, tellReleases } from './child.ts'
import type { Bench } from './figure.ts'
import type { Stall } from './programs/rpc-target.ts'

type Run = {
  readonly verdict: string
  readonly reasons: readonly string[]
  readonly count: number
  readonly latency: Readonly<Record<Quantile, number | null>>
  /** How long behind the end of the stall the target answered each who had waited, the longest first. */
  readonly releasedMs: readonly number[]
}

const quantiles = { p90: 0.9, p95: 0.95, p99: 0.99 } as const
type Quantile = keyof typeof quantiles

const perSecond = 100
const gapMs = 1_000 / perSecond

/**
 * The worst error of a percentile of latency when the target answers nobody for a sixth of the run: at its beginning,
 * in its middle and near its end, and at several instants between two arrivals. An instrument that waits for answers
 * before it sends again sees one slow answer instead of two hundred, and is off by a factor.
 */
export const benchStall: Bench = async ({ short }) => {
  const seconds = short ? 3 : 12
  const stallMs = (seconds * 1_000) / 6
  const last = (seconds * perSecond * 5) / 6 - 1
  const places: readonly Omit<Stall, 'stallMs'>[] = short
    ? [{ afterRequest: 100, phaseMs: 3 }]
    : [
        { afterRequest: 0, phaseMs: 0 },
        { afterRequest: 250, phaseMs: 3 },
        { afterRequest: 600, phaseMs: 7 },
        { afterRequest: last, phaseMs: 5 },
      ]
  console.log(`\nA stall of ${stallMs} ms at ${perSecond} calls a second, runs of ${seconds} s: got (true), in ms`)
  const errors: number[] = []
  for (const seq of places) {
    const run = await runWith({ ...seq, stallMs }, seconds)
    const cells = (Object.keys(quantiles) as Quantile[]).map(name => {
      const got = run.latency[name] ?? Number.NaN
      const truth = trueLatencyMs(quantiles[name], { ...seq, stallMs }, run)
      errors.push(Math.abs(got - truth) / truth)
      return `${name} ${got.toFixed(0)} (${truth.toFixed(0)})`
    })
    console.log(`  ${seq.phaseMs} ms behind call ${seq.afterRequest}: ${cells.join(', ')}, ${run.verdict}`)
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
 * Arrivals are due every `gapMs`. The stall begins `phaseMs` behind one of them, which is answered yet (with a phase of
 * 0: which is the first to wait) and lasts S. Whoever comes in it waits for its end, so the waits are S + phase, less 1, 2,
 * 3 … gaps (with a phase of 0: less 0, 1, 2 … gaps); whoever comes at any other time is answered at once. Of n
 * latencies, n − ⌈q·n⌉ are above the percentile q. While these are fewer than those who waited, it is the wait that comes
 * behind them when waits are counted from the longest. Two hundred answers are not written in no time: when each was, the
 * target says.
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
      return { ...run, releasedMs: await tellReleases(target) }
    },
    [JSON.stringify({ kind: 'stall', ...stall })],
  )
