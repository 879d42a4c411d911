import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onFreshTarget, runChild, tellStamps } from './child.ts'
import type { Bench, Figure } from './figure.ts'

/**
 * A schedule whose intervals are looked at: `of` each caller by itself, where each is due `callers` times as rarely as
 * all of them, or of all together. With 16 callers, 20 a minute are 304 intervals of 3 s in a minute, enough for a p99.
 */
type Pace = {
  readonly name: string
  readonly callers: number
  readonly perSecond: number
  readonly of: 'each-caller' | 'all'
  readonly seconds: number
}

const paces: readonly Pace[] = [
  { name: '20 a minute', callers: 16, perSecond: 16 / 3, of: 'each-caller', seconds: 60 },
  { name: '8.3 a second', callers: 4, perSecond: 8.3, of: 'all', seconds: 40 },
]
const workers = [1, 2, 4]

/** The least sample whose p99 is bounded by its maximum with 95 % confidence. */
const fewestIntervals = 299

/** Its target stamps requests as they arrive, and must not stall then: `run/threads.ts` says why it would. */
const targetFlags = ['--no-memory-reducer']

/**
 * How far the intervals between requests, as the target sees them come, are from those of the plan; and how far those of a
 * loop are that does nothing else, at the same target.
 */
export const benchPacing: Bench = async ({ short }) => {
  const figures: Figure[] = []
  console.log('\nIntervals between requests as they come at the target, less those of the plan')
  console.log('  pace            workers  intervals   p50 ms   p99 ms   max ms')
  for (const full of paces) {
    const pace = { ...full, seconds: short ? 7 : full.seconds }
    const bare = errorsOf({ ...pace, of: 'all' }, await bareStampsOf(pace))
    showErrors(pace, 'bare', bare)
    for (const count of workers) {
      const errors = errorsOf(pace, await stampsOf(pace, count))
      const quantile = showErrors(pace, String(count), errors)
      const isProvable = errors.length >= fewestIntervals
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

function showErrors({ name }: Pace, who: string, errors: readonly number[]): (q: number) => number {
  const quantile = (q: number) => errors[Math.ceil(q * errors.length) - 1] ?? Number.NaN
  const cells = [quantile(0.5), quantile(0.99), quantile(1)].map(ms => ms.toFixed(2).padStart(9))
  console.log(`  ${name.padEnd(16)}${who.padStart(7)}${String(errors.length).padStart(11)}${cells.join('')}`)
  return quantile
}

/** In order. Due times of a constant rate are evenly spaced, and callers take turns. */
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
      return tellStamps(target)
    },
    ['{"kind":"stamp"}'],
    { nodeFlags: targetFlags },
  )

const bareStampsOf = ({ perSecond, seconds }: Pace): Promise<Stamps> =>
  atStampingTarget(port =>
    runChild('./programs/raw-pacer.js', [port, String(perSecond), String(Math.round(perSecond * seconds))]),
  )

/** When the requests of each caller came at the target in a run of the program. */
async function stampsOf(pace: Pace, workerCount: number): Promise<Stamps> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-pacing-'))
  try {
    return await atStampingTarget(port => runAt(port, directory, pace, workerCount))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function runAt(port: string, directory: string, pace: Pace, workerCount: number): Promise<void> {
  const scenario = join(directory, 'pacing.yaml')
  const profile = join(directory, 'bench.yaml')
  writeFileSync(scenario, scenarioOf(pace))
  // No limit is near.
  writeFileSync(profile, 'name: bench\nrpc: { requestsPerMinute: 1000000000 }\nlimits: { windowMs: 3600000 }\n')
  const flags = ['--target', `http://127.0.0.1:${port}/api/v1`, '--profile', profile, '--out', join(directory, 'run')]
  const divided = workerCount === 1 ? [] : ['--workers', String(workerCount)]
  return runTurnpike(['run', scenario, '--quiet', ...flags, ...divided])
}

const scenarioOf = ({ callers, perSecond, seconds }: Pace): string => `
name: pacing
callers: { count: ${callers} }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, shape: constant, rate: ${perSecond * 60}/m, mix: { rpc: 1 } }]
thresholds: [{ expect: violations == 0, why: The target keeps its word. }]
`

function runTurnpike(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, ['dist/main.js', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', bytes => {
    said += bytes
  })
  return new Promise((resolve, reject) => {
    child.once('close', code => (code === 0 ? resolve() : reject(new Error(`the run was no pass:\n${said}`))))
  })
}
