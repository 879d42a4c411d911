import { setTimeout } from 'node:timers/promises'
import { documented } from '../../../src/contract/documented.ts'
import { createJudge } from '../../../src/judge/judge.ts'
import { judgeRun } from '../../../src/judge/judge-run.ts'
import { recordRun } from '../retold-run.ts'

/**
 * Judges very many observations and says by IPC what that did to its memory. Arguments: how many, and how many of them
 * come before the first look at the memory.
 */
const [total, warmUp] = process.argv.slice(2).map(Number) as [number, number]
const looks = 10

const { plan, head, size, tell } = await recordRun()
const judge = createJudge(plan, documented, head)
const samples: { readonly judged: number; readonly rssMb: number; readonly heapMb: number }[] = []
/** Pages that a collection has emptied are given back a little later, and some only by the next one: until no more come. */
const settleMs = 200
const mostSettles = 25
const look = async (judged: number) => {
  let lowest = Number.POSITIVE_INFINITY
  for (let settle = 0, still = 0; settle < mostSettles && still < 3; settle++) {
    gc?.()
    await setTimeout(settleMs)
    const { rss } = process.memoryUsage()
    still = rss < lowest - 1e6 ? 0 : still + 1
    lowest = Math.min(lowest, rss)
  }
  samples.push({ judged, rssMb: lowest / 1e6, heapMb: process.memoryUsage().heapUsed / 1e6 })
}

let judged = 0
let cpuMs = 0
for (let turn = 0; judged < total; turn++) {
  const began = process.cpuUsage()
  for (const observation of tell(turn)) judge.add(observation)
  const { user, system } = process.cpuUsage(began)
  cpuMs += (user + system) / 1e3
  judged += size
  if (judged >= warmUp + (samples.length * (total - warmUp)) / looks) await look(judged)
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
const { findings, billing } = judgeRun({ plan, contract: documented, head }, [{ facts: judge.finish(true), end }])
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
