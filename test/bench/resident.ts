import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { noteUnpinned, onFreshTarget, targetCore } from './support/child.ts'
import type { Bench } from './support/figure.ts'
import { rpcProfile, rpcScenario, runShipped } from './support/shipped.ts'

const connections = 64
const sampleMs = 250

type Sample = { readonly atMs: number; readonly rssMb: number }

/**
 * The resident set of the shipped command at the end of a closed load of a million calls, as the kernel counts it: the
 * whole process with its worker. Beside it is that of Node.js without work.
 */
export const benchResident: Bench = async ({ short }) => {
  const calls = short ? 20_000 : 1_000_000
  console.log(
    `\nResident set of the shipped command after ${calls.toLocaleString('en')} calls, ${connections} connections`,
  )
  if (!existsSync('/proc/self/status')) {
    console.log('  skipped: this system has no /proc')
    return []
  }
  noteUnpinned()
  const { rate } = await closedRun(2)
  // With a reserve, since the rate of two seconds is not that of a minute.
  const seconds = Math.ceil((1.5 * calls) / rate)
  const { count, samples, loadEndMs } = await closedRun(seconds)
  if (count < calls) throw new Error(`${count} calls in ${seconds} s are fewer than ${calls}`)
  const inLoad = samples.filter(({ atMs }) => atMs <= loadEndMs)
  const end = inLoad.at(-1)?.rssMb ?? Number.NaN
  const peak = Math.max(...samples.map(({ rssMb }) => rssMb))
  console.log(`  after ${count.toLocaleString('en')} calls in ${seconds} s: ${end.toFixed(0)} MB`)
  const tenths = Array.from({ length: 9 }, (_, tenth) => inLoad[Math.floor(((tenth + 1) * inLoad.length) / 10)])
  console.log(`  after each tenth of the time: ${tenths.map(sample => sample?.rssMb.toFixed(0)).join(' ')} MB`)
  console.log(`  highest, with the report: ${peak.toFixed(0)} MB`)
  const idle = await idleMb('setTimeout(() => {}, 60_000)')
  const idleThread = await idleMb(
    "new (require('node:worker_threads').Worker)('setTimeout(() => {}, 60_000)', { eval: true })",
  )
  console.log(`  Node.js alone: ${idle.toFixed(0)} MB, with an idle thread ${idleThread.toFixed(0)} MB`)
  const name = `RSS of one worker after ${short ? '20,000' : 'a million'} calls, ${connections} connections`
  return [
    { name, value: end, unit: 'MB', aim: { kind: 'at-most', bound: 150 } },
    { name: 'RSS of Node.js with an idle thread', value: idleThread, unit: 'MB', aim: null },
  ]
}

async function closedRun(seconds: number) {
  const scenario = rpcScenario(`shape: closed, users: ${connections}`, seconds)
  const samples: Sample[] = []
  let timer: NodeJS.Timeout | undefined
  const onStart = (processId: number) => {
    timer = setInterval(() => {
      const rssMb = rssOf(processId)
      if (rssMb !== null) samples.push({ atMs: Date.now(), rssMb })
    }, sampleMs)
  }
  try {
    const run = (port: string) => runShipped({ scenario, profile: rpcProfile, port, onStart })
    const { load, report } = await onFreshTarget(run, [], { core: targetCore })
    const startedMs = report.load.workers[0]?.startedMs ?? Number.NaN
    const loadEndMs = Date.parse(report.run.startedAt) + startedMs + seconds * 1_000
    return { rate: load.achievedPerSecond ?? Number.NaN, count: load.count, samples, loadEndMs }
  } finally {
    clearInterval(timer)
  }
}

/** In megabytes; null: the process has ended. */
function rssOf(processId: number): number | null {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8')) ?? []
    return kib === undefined ? null : (Number(kib) * 1_024) / 1e6
  } catch {
    return null
  }
}

async function idleMb(script: string): Promise<number> {
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' })
  try {
    await setTimeout(1_000)
    return rssOf(child.pid ?? 0) ?? Number.NaN
  } finally {
    child.kill()
  }
}
