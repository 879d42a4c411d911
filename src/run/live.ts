import { mergeSnapshots } from '../judge/judge.ts'
import { mergeGauges } from '../judge/metrics/gauges.ts'
import type { Clock } from '../lib/clock.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import type { LiveRun } from '../outputs/output.ts'
import type { Plan } from '../plan/plan.ts'
import type { WorkerHandle, WorkerSnapshot } from './messages.ts'

const maxAgeMs = 1_000

/** The last snapshot of a lost worker: its counts remain, but nothing is in flight. */
const lost = (snapshot: WorkerSnapshot | null): WorkerSnapshot | null => snapshot && { ...snapshot, inFlight: 0 }

/** The latest snapshots of all workers, merged to one view of the run. Polls the workers only on request. */
export function createLiveView(
  plan: Plan,
  workers: readonly Pick<WorkerHandle, 'snapshot'>[],
  clock: Clock,
): LiveRun & {
  /** Polls the workers now. */
  readonly poll: () => Promise<void>
  /** Sets the start time of the stages. */
  readonly setLoadStart: (atMs: number) => void
} {
  let known: readonly WorkerSnapshot[] = []
  const latest: (WorkerSnapshot | null)[] = workers.map(() => null)
  let loadStartMs: number | null = null
  let polledMs = Number.NEGATIVE_INFINITY
  let polled: Promise<unknown> = Promise.resolve()
  const poll = async (): Promise<void> => {
    await Promise.all(
      workers.map(async (worker, index) => {
        latest[index] = (await worker.snapshot()) ?? lost(latest[index] ?? null)
      }),
    )
    known = latest.filter(snapshot => snapshot !== null)
  }
  // A scrape reads family by family, and all families read the same snapshots.
  const view = memoizeLast((snapshots: typeof known) =>
    mergeSnapshots(
      plan,
      snapshots.map(({ judge }) => judge),
    ),
  )
  const gauges = memoizeLast((snapshots: typeof known) => mergeGauges(snapshots.map(snapshot => snapshot.gauges)))
  return {
    poll,
    setLoadStart: atMs => {
      loadStartMs = atMs
    },
    view: () => view(known),
    gauges: () => gauges(known),
    inFlight: () => known.reduce((sum, { inFlight }) => sum + inFlight, 0),
    stage: () => known[0]?.stage ?? '(opening)',
    loadStartMs: () => loadStartMs,
    refresh: async () => {
      if (clock.nowMs() >= polledMs + maxAgeMs) {
        polledMs = clock.nowMs()
        polled = poll()
      }
      await polled
    },
  }
}
