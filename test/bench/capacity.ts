import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CapacityResult } from '../../src/report/document.ts'
import { virtualRun } from '../support/virtual-run.ts'
import type { Bench } from './figure.ts'

/** What the reference service can do at once, and for how long a rate has to hold where its times vary. */
type Size = { readonly slots: number; readonly serviceMs: number; readonly spread: 'constant' | 'exponential' }

const sizes: readonly Size[] = [
  { slots: 4, serviceMs: 50, spread: 'constant' },
  { slots: 1, serviceMs: 25, spread: 'constant' },
  { slots: 10, serviceMs: 200, spread: 'constant' },
  { slots: 16, serviceMs: 100, spread: 'constant' },
  { slots: 16, serviceMs: 200, spread: 'exponential' },
]

/**
 * How far from the truth a search ends. The reference service has slots and a service time, so its capacity is known. In
 * virtual time, over sizes and seeds; and once in real time, by the program and the scenario that are shipped.
 */
export const benchCapacity: Bench = async ({ short }) => {
  const seeds = short ? [1] : [1, 2, 3]
  console.log(`\nCapacity that a search finds of a service whose capacity is known, ${seeds.length} seeds each`)
  const errors: number[] = []
  for (const size of short ? sizes.slice(0, 2) : sizes) {
    const found = await Promise.all(seeds.map(seed => searchIn(size, seed)))
    const knee = kneeOf(size)
    errors.push(...found.map(perSecond => Math.abs(perSecond / knee - 1)))
    const name = `${size.slots} × ${size.serviceMs} ms, ${size.spread}`
    console.log(`  ${name.padEnd(26)}${knee.toFixed(0)}/s: ${found.map(rate => rate.toFixed(1)).join('  ')}`)
  }
  const real = searchForReal()
  console.log(`  scenarios/capacity.yaml   80/s: ${real.toFixed(1)}, in real time`)
  const aim = { kind: 'at-most', bound: 0.05 } as const
  return [
    { name: 'worst error of the knee', value: Math.max(...errors), unit: '', aim },
    { name: 'error of the knee in real time', value: Math.abs(real / 80 - 1), unit: '', aim },
  ]
}

const kneeOf = ({ slots, serviceMs }: Size): number => (slots * 1000) / serviceMs

async function searchIn({ slots, serviceMs, spread }: Size, seed: number): Promise<number> {
  const confirm = spread === 'constant' ? '10s' : '60s'
  const { report } = await virtualRun({
    seed,
    scenario: `name: bench
callers: { count: 60 }
calls: { chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 4 } }
service: { concurrency: ${slots}, service-time: ${serviceMs}ms, distribution: ${spread}, queue-length: 1000 }
stages: [{ name: search, shape: capacity, duration: 10m, from: 10/s, to: 90% of tier, good-ratio: 99%, confirm: ${confirm}, mix: { chat: 1 } }]
slo: { chat: { latency: 5s } }
`,
  })
  return confirmed(report.capacity[0])
}

function searchForReal(): number {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))
  try {
    const args = ['dist/main.js', 'run', 'scenarios/capacity.yaml', '--quiet', '--out', folder]
    spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    const { capacity, reasons } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))
    if (capacity[0]?.status !== 'found') console.log(`  ${reasons.join(' ')}`)
    return confirmed(capacity[0])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A search that found nothing is as wrong as can be. */
const confirmed = (result: CapacityResult | undefined): number =>
  result?.status === 'found' ? (result.ratePerSecond ?? 0) : 0
