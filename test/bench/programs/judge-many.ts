import { setTimeout } from 'node:timers/promises'
import { documentedContract } from '../../../src/contract/documented.ts'
import { createJudge } from '../../../src/judge/judge.ts'
import { judgeRun } from '../../../src/judge/judge-run.ts'
import { recordRun } from '../support/repeated-run.ts'

/**
 * Judges many observations and sends its memory samples by IPC. Arguments: the number of observations, and the number
 * before the first memory sample.
 */
const [total, warmUp] = process.argv.slice(2).map(Number) as [number, number]
const sampleCount = 10

const { plan, head, size, turn: observationsOf } = await recordRun()
const judge = createJudge(plan, documentedContract, head)
const samples: { readonly judged: number; readonly rssMb: number; readonly heapMb: number }[] = []
/**
 * A garbage collection releases pages with a delay, and some only with the next collection. Repeat until the resident
 * set stops shrinking.
 */
const settleMs = 200
const maxSettles = 25
const takeSample = async (judged: number) => {
  let lowest = Number.POSITIVE_INFINITY
  for (let settle = 0, unchanged = 0; settle < maxSettles && unchanged < 3; settle++) {
    gc?.()
    await setTimeout(settleMs)
    const { rss } = process.memoryUsage()
    unchanged = rss < lowest - 1e6 ? 0 : unchanged + 1
    lowest = Math.min(lowest, rss)
  }
  samples.push({ judged, rssMb: lowest / 1e6, heapMb: process.memoryUsage().heapUsed / 1e6 })
}

let judged = 0
let cpuMs = 0
for (let turn = 0; judged < total; turn++) {
  const began = process.cpuUsage()
  for (const observation of observationsOf(turn)) judge.add(observation)
  const { user, system } = process.cpuUsage(began)
  cpuMs += (user + system) / 1e3
  judged += size
  if (judged >= warmUp + (samples.length * (total - warmUp)) / sampleCount) await takeSample(judged)
}
const end = {
  ended: 'complete',
  durationMs: cpuMs,
  startedMs: 0,
  eventLoopDelayMs: null,
  notRecorded: 0,
  loadStartMs: null,
  pushed: null,
} as const
const { findings, billing } = judgeRun({ plan, contract: documentedContract, head }, [
  { snapshot: judge.finish(true), end },
])
process.send?.({
  judged,
  cpuMs,
  samples,
  faults: [
    ...findings.map(({ clause, message }) => `${clause}: ${message}`),
    ...billing.discrepancies.map(({ kind, examples }) => `${kind}: ${examples[0]?.message}`),
  ],
})
process.once('disconnect', () => process.exit())
