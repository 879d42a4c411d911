import { compareSides } from '../../src/diff/compare-sides.ts'
import type { Margins } from '../../src/diff/margins.ts'
import { pairWorkers } from '../../src/diff/run-diff.ts'
import { manualClock } from '../../src/prove/manual-clock.ts'
import { type VirtualRun, virtualRun } from './virtual-run.ts'

/** A diff of two services in virtual time. Each has a seed of its own, so that equal services answer at different speeds. */
export async function diffVirtually(
  { margins = {}, ...both }: VirtualRun & { readonly margins?: Margins },
  old: Partial<VirtualRun> = {},
  fresh: Partial<VirtualRun> = {},
) {
  const clock = manualClock()
  const stop = new AbortController()
  const { pair } = pairWorkers(() => stop.abort())
  const works: Promise<unknown>[] = []
  let begin = () => {}
  const bothStarted = new Promise<void>(resolve => {
    begin = resolve
  })
  const drive = async <T>(work: Promise<T>): Promise<T> => {
    works.push(work)
    if (works.length === 2) begin()
    await bothStarted
    return await work
  }
  const sideOf = (own: Partial<VirtualRun>, side: 0 | 1) =>
    virtualRun({
      ...both,
      serviceSeed: 2 * (both.seed ?? 1) + side,
      ...own,
      beside: { clock, drive, turns: { side, turnMs: 250, lagMs: 1 } },
      change: ({ startWorker }) => ({ startWorker: pair(startWorker), stop: stop.signal }),
    })
  const runs = Promise.all([sideOf(old, 0), sideOf(fresh, 1)])
  await Promise.race([bothStarted, runs])
  await clock.run(Promise.all(works))
  const [before, now] = await runs
  return { diff: compareSides(before, now, margins), old: before, new: now }
}
