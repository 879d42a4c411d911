import { mergeSnapshots } from '../judge/judge.ts'
import type { JudgeJob } from '../judge/judge-run.ts'
import { sumCounts } from '../judge/merge.ts'
import { mergeGauges } from '../judge/metrics/gauges.ts'
import type { TracedRequest } from '../judge/traced-requests.ts'
import type { Clock } from '../lib/clock.ts'
import { memoizeLast } from '../lib/memoize.ts'
import type { LiveMachine, LiveRun } from '../outputs/output.ts'
import { makeReportSoFar } from './make-report.ts'
import type { WorkerSnapshot } from './messages.ts'

const maxAgeMs = 1_000
/** Requests that wait to be taken; without a taker, the oldest go. */
const maxWaiting = 2_048
/** Ids that are remembered, so that no request is taken twice. */
const maxRemembered = 100_000

/** Where the snapshots of a worker come from. */
export type SnapshotSource = {
  /** null: the worker is lost. */
  readonly snapshot: (withDetails: boolean) => Promise<WorkerSnapshot | null>
  /** Of a worker on another machine; null: not known yet. */
  readonly name?: () => string | null
}

/** The last known state of a worker. A lost worker keeps its counts, but has no requests in flight. */
type Known = WorkerSnapshot & { readonly worker: number; readonly name: string | null; readonly isLost: boolean }

/**
 * The latest snapshots of all workers, merged to one view of the run. Polls the workers only on request. `machines`: the
 * workers on other machines, as of the last poll.
 */
export function createLiveView(
  job: JudgeJob,
  workers: readonly SnapshotSource[],
  clock: Clock,
  machines: () => readonly LiveMachine[] = () => [],
): LiveRun & {
  /** Polls the workers now. */
  readonly poll: () => Promise<void>
  /** Adds requests to take, besides those that the workers chose. */
  readonly addTraced: (requests: readonly TracedRequest[]) => void
  /** Arrivals in flight, by call. */
  readonly inFlightByCall: () => ReadonlyMap<string, number>
  /** Sets the start time of the stages. */
  readonly setLoadStart: (atMs: number) => void
} {
  let known: readonly Known[] = []
  const latest: (Known | null)[] = workers.map(() => null)
  /** The number of requests for traces that each worker had chosen at its last poll. */
  const taken = workers.map(() => 0)
  const remembered = new Set<number>()
  let waiting: readonly TracedRequest[] = []
  let loadStartMs: number | null = null
  let isWatched = false
  let polledMs = Number.NEGATIVE_INFINITY
  let polled: Promise<unknown> = Promise.resolve()
  const poll = async (): Promise<void> => {
    await Promise.all(
      workers.map(async ({ snapshot, name }, index) => {
        const now = await snapshot(isWatched)
        const before = latest[index] ?? null
        if (now !== null) latest[index] = { ...now, worker: index + 1, name: name?.() ?? null, isLost: false }
        else if (before !== null) latest[index] = { ...before, inFlight: 0, inFlightByCall: new Map(), isLost: true }
      }),
    )
    known = latest.filter(snapshot => snapshot !== null)
    for (const [index, snapshot] of latest.entries()) {
      const { count, last } = snapshot?.traced ?? { count: 0, last: [] }
      const added = count - (taken[index] ?? 0)
      taken[index] = count
      if (added > 0) addTraced(last.slice(-added))
    }
  }
  const addTraced = (requests: readonly TracedRequest[]): void => {
    const added = requests.filter(({ id }) => !remembered.has(id))
    for (const { id } of added) remembered.add(id)
    for (const id of remembered) {
      if (remembered.size <= maxRemembered) break
      remembered.delete(id)
    }
    waiting = [...waiting, ...added].slice(-maxWaiting)
  }
  // A scrape reads family by family, and all families read the same snapshots.
  const view = memoizeLast((snapshots: typeof known) =>
    mergeSnapshots(
      job.plan,
      snapshots.map(({ judge }) => judge),
    ),
  )
  const gauges = memoizeLast((snapshots: typeof known) => mergeGauges(snapshots.map(snapshot => snapshot.gauges)))
  const report = memoizeLast((snapshots: typeof known) => {
    const detailed = snapshots.flatMap(({ judge, worker, details, eventLoopDelayMs, isLost }) =>
      details === null
        ? []
        : [{ worker, of: workers.length, metrics: judge.metrics, details, eventLoopDelayMs, isLost }],
    )
    return detailed.length === 0 ? null : makeReportSoFar(job, view(snapshots), detailed, clock.nowMs())
  })
  return {
    poll,
    addTraced,
    takeTraced: () => {
      const all = waiting
      waiting = []
      return all
    },
    setLoadStart: atMs => {
      loadStartMs = atMs
    },
    view: () => view(known),
    gauges: () => gauges(known),
    inFlight: () => known.reduce((sum, { inFlight }) => sum + inFlight, 0),
    inFlightByCall: () => known.reduce((sum, each) => sumCounts(sum, each.inFlightByCall), new Map<string, number>()),
    stage: () => known[0]?.stage ?? '(opening)',
    loadStartMs: () => loadStartMs,
    machines,
    report: () => report(known),
    workers: () =>
      known.map(({ worker, name, isLost, stage, inFlight }) => ({ worker, name, isLost, stage, inFlight })),
    watch: watched => {
      if (watched && !isWatched) polledMs = Number.NEGATIVE_INFINITY
      isWatched = watched
    },
    refresh: async () => {
      if (clock.nowMs() >= polledMs + maxAgeMs) {
        polledMs = clock.nowMs()
        polled = poll()
      }
      await polled
    },
  }
}
