import { runChild } from './support/child.ts'
import type { Bench } from './support/figure.ts'

type Memory = {
  readonly judged: number
  readonly cpuMs: number
  readonly samples: readonly { readonly judged: number; readonly rssMb: number; readonly heapMb: number }[]
  readonly faults: readonly string[]
}

/**
 * The memory growth of the judge over ten million observations, after the first million. The growth is the difference
 * of the resident set between the first sample and the highest, each after a garbage collection.
 */
export const benchMemory: Bench = async ({ short }) => {
  const [total, warmUp] = short ? [300_000, 100_000] : [11_000_000, 1_000_000]
  const memory = await runChild<Memory>('./programs/judge-many.js', [String(total), String(warmUp)], {
    nodeFlags: ['--expose-gc'],
  })
  if (memory.faults.length > 0)
    throw new Error(`a repeated honest run must have no findings, but has: ${memory.faults.join(', ')}`)
  console.log(
    `\nMemory over ${memory.judged} observations, ${(memory.cpuMs / memory.judged).toFixed(3)} ms of CPU per observation`,
  )
  console.log('  observations    RSS MB   heap MB')
  for (const { judged, rssMb, heapMb } of memory.samples)
    console.log(`  ${String(judged).padStart(12)}${rssMb.toFixed(1).padStart(10)}${heapMb.toFixed(1).padStart(10)}`)
  const first = memory.samples[0]?.rssMb ?? Number.NaN
  const growth = Math.max(...memory.samples.map(({ rssMb }) => rssMb)) - first
  return [
    {
      name: `RSS growth over ${(total - warmUp) / 1e6} million observations`,
      value: growth,
      unit: 'MB',
      aim: { kind: 'at-most', bound: 64 },
    },
  ]
}
