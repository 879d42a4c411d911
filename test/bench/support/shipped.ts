import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { calibrationContract } from '../../../src/calibration/server-answers.ts'
import type { Report } from '../../../src/report/document.ts'
import { clientCore, onCore, runCommand } from './child.ts'

/** What the shipped command runs, and where. */
export type ShippedRun = {
  readonly scenario: string
  /** A profile without limits that a bench would reach. */
  readonly profile: string
  readonly port: string
  readonly flags?: readonly string[]
  /** null: all cores. Default: the core of a client. */
  readonly core?: number | null
  /** The verdicts that the bench has a use for. Default: pass. */
  readonly verdicts?: readonly Report['verdict'][]
  /** Called when the process has started. */
  readonly onStart?: (processId: number) => void
}

/** Of a run with a verdict: pass, fail and inconclusive. */
const verdictCodes = [0, 1, 3]

/** The results of the stage `load`, and the report. */
export type Shipped = {
  readonly load: Report['calls'][number]
  readonly report: Report
  readonly judgements: number
  /** CPU time of all threads during the load, in microseconds per call; NaN where the system has no `/proc`. */
  readonly cpuUs: number
}

/**
 * Runs `turnpike run` of `dist`, which records as by default, and reads its report. Rejects if the verdict is another.
 * `read` gets the directory of the run before it is deleted.
 */
export async function runShipped<T = null>(
  run: ShippedRun,
  read: (directory: string) => T | Promise<T> = () => null as T,
): Promise<Shipped & { readonly read: T }> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))
  try {
    const scenario = join(folder, 'scenario.yaml')
    const profile = join(folder, 'profile.yaml')
    const out = join(folder, 'run')
    writeFileSync(scenario, run.scenario)
    writeFileSync(profile, run.profile)
    const target = `http://127.0.0.1:${run.port}/api/v1`
    const flags = ['--quiet', '--target', target, '--profile', profile, '--out', out, ...(run.flags ?? [])]
    const command = [process.execPath, 'dist/main.js', 'run', scenario, ...flags]
    const { core = clientCore } = run
    const samples: CpuSample[] = []
    let timer: NodeJS.Timeout | undefined
    const onStart = (processId: number) => {
      run.onStart?.(processId)
      timer = setInterval(() => samples.push({ atMs: Date.now(), cpuMs: cpuOf(processId) }), sampleMs)
    }
    const output = await runCommand(core === null ? command : onCore(core, command), {
      goodCodes: verdictCodes,
      onStart,
    }).finally(() => clearInterval(timer))
    const report: Report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
    const load = report.calls.find(({ stage }) => stage === 'load')
    if (!(run.verdicts ?? ['pass']).includes(report.verdict) || load === undefined)
      throw new Error(`the run did not pass:\n${output}`)
    const { notRecorded } = report.load
    if (notRecorded > 0) console.log(`  (not recorded, because the disk was too slow: ${notRecorded} of ${load.count})`)
    const judgements = report.clauses.reduce((sum, { judged }) => sum + judged, 0)
    return { load, report, judgements, cpuUs: cpuPerCall(samples, report, load), read: await read(out) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const sampleMs = 100
type CpuSample = { readonly atMs: number; readonly cpuMs: number }

function cpuPerCall(samples: readonly CpuSample[], { run, load: { workers } }: Report, load: Shipped['load']): number {
  const perSecond = load.achievedPerSecond ?? Number.NaN
  const startedMs = Date.parse(run.startedAt) + (workers[0]?.startedMs ?? Number.NaN)
  const endMs = startedMs + (1_000 * load.count) / perSecond
  const during = samples.filter(({ atMs, cpuMs }) => atMs >= startedMs && atMs <= endMs && !Number.isNaN(cpuMs))
  const [first, last] = [during[0], during.at(-1)]
  if (first === undefined || last === undefined) return Number.NaN
  return (1e6 * (last.cpuMs - first.cpuMs)) / ((last.atMs - first.atMs) * perSecond)
}

/** Linux counts CPU time in hundredths of a second. */
const tickMs = 10

/** The CPU time of all threads of a process, in milliseconds; NaN: it has ended, or the system has no `/proc`. */
function cpuOf(processId: number): number {
  try {
    // After the name, which may contain spaces: the 12th and 13th field are user and system time.
    const [, rest = ''] = readFileSync(`/proc/${processId}/stat`, 'utf8').split(/\) (?!.*\) )/)
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * tickMs
  } catch {
    return Number.NaN
  }
}

/** One RPC call per arrival, as `shape` says. */
export const rpcScenario = (shape: string, seconds: number): string => `
name: bench
callers: { count: 1 }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, ${shape}, mix: { rpc: 1 } }]
bounds: { max-in-flight: 4096 }
thresholds: [{ expect: violations == 0, why: The target meets every clause. }]
`

export const rpcProfile = 'name: bench\nrpc: { requestsPerMinute: 1000000000 }\nlimits: { windowMs: 3600000 }\n'

/** The contract of the calibration server as a profile. */
export const streamProfile = JSON.stringify({
  name: 'bench',
  accounts: calibrationContract.accounts,
  limits: {
    windowMs: calibrationContract.limits.windowMs,
    tokensReset: calibrationContract.limits.tokensReset,
  },
})
