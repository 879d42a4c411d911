import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CapacityResult } from '../../src/report/document.ts'
import { virtualRun } from '../support/virtual-run.ts'
import type { Bench } from './support/figure.ts'

/** The capacity of the reference service. */
type Size = {
  readonly concurrency: number
  readonly serviceMs: number
  readonly distribution: 'constant' | 'exponential'
}

const sizes: readonly Size[] = [
  { concurrency: 4, serviceMs: 50, distribution: 'constant' },
  { concurrency: 1, serviceMs: 25, distribution: 'constant' },
  { concurrency: 10, serviceMs: 200, distribution: 'constant' },
  { concurrency: 16, serviceMs: 100, distribution: 'constant' },
  { concurrency: 16, serviceMs: 200, distribution: 'exponential' },
]

/**
 * The error of capacity searches. The reference service has slots and a service time, so its capacity is known. Runs in
 * virtual time over sizes and seeds, and once in real time with the shipped program and scenario.
 */
export const benchCapacity: Bench = async ({ short }) => {
  const seeds = short ? [1] : [1, 2, 3]
  console.log(`\nSearched capacity of a service with known capacity, ${seeds.length} seeds each`)
  const errors: number[] = []
  for (const size of short ? sizes.slice(0, 2) : sizes) {
    const found = await Promise.all(seeds.map(seed => searchIn(size, seed)))
    const knee = kneeOf(size)
    errors.push(...found.map(perSecond => Math.abs(perSecond / knee - 1)))
    const name = `${size.concurrency} × ${size.serviceMs} ms, ${size.distribution}`
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

const kneeOf = ({ concurrency, serviceMs }: Size): number => (concurrency * 1000) / serviceMs

async function searchIn({ concurrency, serviceMs, distribution }: Size, seed: number): Promise<number> {
  const confirm = distribution === 'constant' ? '10s' : '60s'
  const { report } = await virtualRun({
    seed,
    scenario: `name: bench
callers: { count: 60 }
calls: { chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 4 } }
service: { concurrency: ${concurrency}, service-time: ${serviceMs}ms, distribution: ${distribution}, queue-length: 1000 }
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

/** A search without a result counts as an error of 100 %. */
const confirmed = (result: CapacityResult | undefined): number =>
  result?.status === 'found' ? (result.ratePerSecond ?? 0) : 0
