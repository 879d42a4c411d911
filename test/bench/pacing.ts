import { onFreshTarget, requestStamps, runChild } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'
import { rpcProfile, runShipped } from './support/shipped.ts'

/**
 * A schedule with measured intervals: `of` each caller, with `callers` times the interval of the stage, or of all
 * callers. 16 callers at 20 requests per minute give 304 intervals of 3 s in a minute, enough for a p99.
 */
type Pace = {
  readonly name: string
  readonly callers: number
  readonly perSecond: number
  readonly of: 'each-caller' | 'all'
  readonly seconds: number
}

const paces: readonly Pace[] = [
  { name: '20 per minute', callers: 16, perSecond: 16 / 3, of: 'each-caller', seconds: 60 },
  { name: '8.3 per second', callers: 4, perSecond: 8.3, of: 'all', seconds: 40 },
]
const workers = [1, 2, 4]

/** The minimum sample size whose maximum bounds its p99 with 95 % confidence. */
const minIntervals = 299

/** The target stamps requests on arrival and must not stall; `run/threads.ts` explains why it would. */
const targetFlags = ['--no-memory-reducer']

/**
 * The error of the intervals between requests, measured at the target, compared with the plan. A bare loop against the
 * same target is the reference.
 */
export const benchPacing: Bench = async ({ short }) => {
  const figures: Figure[] = []
  console.log('\nInterval errors at the target, relative to the plan')
  console.log('  pace            workers  intervals   p50 ms   p99 ms   max ms')
  for (const full of paces) {
    const pace = { ...full, seconds: short ? 7 : full.seconds }
    const bare = errorsOf({ ...pace, of: 'all' }, await bareStampsOf(pace))
    showErrors(pace, 'bare', bare)
    for (const count of workers) {
      const errors = errorsOf(pace, await stampsOf(pace, count))
      const quantile = showErrors(pace, String(count), errors)
      const isProvable = errors.length >= minIntervals
      figures.push({
        name: `inter-arrival error ${isProvable ? 'p99' : 'max'} at ${pace.name}, ${count} worker${count > 1 ? 's' : ''}`,
        value: quantile(isProvable ? 0.99 : 1),
        unit: 'ms',
        aim: { kind: 'at-most', bound: 2 },
      })
    }
  }
  return figures
}

function showErrors({ name }: Pace, workers: string, errors: readonly number[]): (q: number) => number {
  const quantile = (q: number) => errors[Math.ceil(q * errors.length) - 1] ?? Number.NaN
  const cells = [quantile(0.5), quantile(0.99), quantile(1)].map(ms => ms.toFixed(2).padStart(9))
  console.log(`  ${name.padEnd(16)}${workers.padStart(7)}${String(errors.length).padStart(11)}${cells.join('')}`)
  return quantile
}

/** The sorted errors. A constant rate has equal intervals, and callers send in rotation. */
function errorsOf({ callers, perSecond, of }: Pace, stamps: readonly (readonly number[])[]): readonly number[] {
  const rows = of === 'all' ? [stamps.flat().toSorted((a, b) => a - b)] : stamps
  const dueMs = ((of === 'all' ? 1 : callers) * 1_000) / perSecond
  return rows
    .flatMap(row => row.slice(1).map((atMs, index) => Math.abs(atMs - (row[index] ?? Number.NaN) - dueMs)))
    .toSorted((a, b) => a - b)
}

type Stamps = readonly (readonly number[])[]

const atStampingTarget = (send: (port: string) => Promise<unknown>): Promise<Stamps> =>
  onFreshTarget(
    async (port, target) => {
      await send(port)
      return requestStamps(target)
    },
    ['{"kind":"stamp"}'],
    { nodeFlags: targetFlags },
  )

const bareStampsOf = ({ perSecond, seconds }: Pace): Promise<Stamps> =>
  atStampingTarget(port =>
    runChild('./programs/raw-pacer.js', [port, String(perSecond), String(Math.round(perSecond * seconds))]),
  )

/** The arrival times of each caller's requests in a run of the program. */
const stampsOf = (pace: Pace, workerCount: number): Promise<Stamps> =>
  atStampingTarget(port => {
    const flags = workerCount === 1 ? [] : ['--workers', String(workerCount)]
    return runShipped({ scenario: scenarioOf(pace), profile: rpcProfile, port, flags, core: null })
  })

const scenarioOf = ({ callers, perSecond, seconds }: Pace): string => `
name: pacing
callers: { count: ${callers} }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, shape: constant, rate: ${perSecond * 60}/m, mix: { rpc: 1 } }]
thresholds: [{ expect: violations == 0, why: The target meets every clause. }]
`
