import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  clientCore,
  findProgram,
  median,
  medianRatio,
  noteUnpinned,
  onCore,
  onFreshTarget,
  runCommand,
  targetCore,
} from '../support/child.ts'
import type { Bench, Figure } from '../support/figure.ts'
import { rpcProfile, rpcScenario, runShipped } from '../support/shipped.ts'

/** The script that k6 runs. */
const script = 'test/bench/others/k6-script.js'
/** The path of k6, if it is not on the PATH. It is not a dependency; install it to compare. */
const variable = 'TURNPIKE_BENCH_K6'
const users = 64
const openRates = [2_000, 5_000, 8_000, 12_000]

/** What k6 measured, in milliseconds. */
type Summary = {
  readonly iterations: number
  readonly failedChecks: number
  readonly dropped: number
  readonly latencyP50Ms: number
  readonly latencyP99Ms: number
}

/**
 * The same RPC call on one core: the shipped command with every judge, and k6 with one check, in turn on the same target.
 * Closed with 64 users, and k6's own open model at several rates, for which `open-model` has the values of Turnpike.
 */
export const benchK6: Bench = async ({ short }) => {
  console.log('\nTurnpike, and k6 with one check, one core each')
  const program = findProgram(variable, 'k6')
  if (program === null) {
    console.log('  skipped: there is no k6. go install go.k6.io/k6@v1.3.0, then run')
    console.log(`  ${variable}=~/go/bin/k6 npm run bench -- k6`)
    return []
  }
  noteUnpinned()
  const seconds = short ? 2 : 8
  return [await closedRatio(program, short ? 1 : 3, seconds), ...(await openFigures(program, short, seconds))]
}

async function closedRatio(program: string, rounds: number, seconds: number): Promise<Figure> {
  const scenario = rpcScenario(`shape: closed, users: ${users}`, seconds)
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { load } = await onTarget(port => runShipped({ scenario, profile: rpcProfile, port }))
    ours.push(load.achievedPerSecond ?? Number.NaN)
    const closed = { executor: 'constant-vus', vus: users, duration: `${seconds}s` }
    theirs.push((await onTarget(port => runK6(program, port, closed))).iterations / seconds)
  }
  console.log(`  closed, ${users} users, ${rounds} rounds of ${seconds} s in turn`)
  console.log(`    turnpike  ${median(ours).toFixed(0)} calls per second`)
  console.log(`    k6        ${median(theirs).toFixed(0)} calls per second`)
  const name = 'RPC calls per second on one core relative to k6 with one check'
  return { name, value: medianRatio(ours, theirs), unit: '', aim: { kind: 'at-least', bound: 2.5 } }
}

async function openFigures(program: string, short: boolean, seconds: number): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  console.log(`  constant-arrival-rate of k6, ${seconds} s\n    calls/s  achieved  dropped  latency p50   p99 ms`)
  for (const rate of short ? [2_000] : openRates) {
    const runs: Summary[] = []
    for (let round = 0; round < (short ? 1 : 3); round++)
      runs.push(
        await onTarget(port =>
          runK6(program, port, {
            executor: 'constant-arrival-rate',
            rate,
            timeUnit: '1s',
            duration: `${seconds}s`,
            preAllocatedVUs: 300,
            maxVUs: 300,
          }),
        ),
      )
    const of = (read: (run: Summary) => number) => median(runs.map(read))
    const achieved = of(({ iterations }) => iterations / seconds)
    const cells = [
      [String(rate), 11],
      [achieved.toFixed(0), 10],
      [of(({ dropped }) => dropped).toFixed(0), 9],
      [of(({ latencyP50Ms }) => latencyP50Ms).toFixed(2), 13],
      [of(({ latencyP99Ms }) => latencyP99Ms).toFixed(2), 9],
    ] as const
    console.log(cells.map(([text, width]) => text.padStart(width)).join(''))
    figures.push({
      name: `k6 at ${rate} calls per second, achieved ÷ due`,
      value: achieved / rate,
      unit: '',
      aim: null,
    })
  }
  return figures
}

const onTarget = <T>(work: (port: string) => Promise<T>): Promise<T> => onFreshTarget(work, [], { core: targetCore })

/** Rejects if k6 fails, or if a check does. */
async function runK6(program: string, port: string, executor: object): Promise<Summary> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-k6-'))
  const summaryFile = join(folder, 'summary.json')
  const setting = (name: string, value: string) => ['--env', `${name}=${value}`]
  const settings = [
    ...setting('EXECUTOR', JSON.stringify(executor)),
    ...setting('TARGET', `http://127.0.0.1:${port}`),
    ...setting('SUMMARY', summaryFile),
  ]
  try {
    await runCommand(onCore(clientCore, [program, 'run', '--quiet', '--no-usage-report', ...settings, script]))
    const { metrics } = JSON.parse(readFileSync(summaryFile, 'utf8'))
    const summary: Summary = {
      iterations: metrics.iterations.values.count,
      failedChecks: metrics.checks.values.fails,
      dropped: metrics.dropped_iterations?.values.count ?? 0,
      latencyP50Ms: metrics.http_req_duration.values.med,
      latencyP99Ms: metrics.http_req_duration.values['p(99)'],
    }
    if (summary.failedChecks > 0) throw new Error(`${summary.failedChecks} checks of k6 failed`)
    return summary
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
