import { describe, expect, test } from 'vitest'
import type { CapacityResult } from '../../src/judge/results.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { Observation } from '../../src/observation/observation.ts'
import type { LiveRun, Output } from '../../src/outputs/output.ts'
import type { StartWorker } from '../../src/run/messages.ts'
import type { RunIo } from '../../src/run/run.ts'
import { type VirtualRun, virtualSearch } from '../support/virtual-run.ts'

/** The service sustains 50 requests per second. */
const scenario = (changes: Readonly<Record<string, string>> = {}) => {
  const parts = {
    callers: '{ count: 16 }',
    service: '{ concurrency: 2, service-time: 40ms, queue-length: 30 }',
    search: 'duration: 90s, from: 20/s, to: 90/s, good-ratio: 99%, confirm: 6s',
    after: '',
    slo: '1s',
    ...changes,
  }
  return `name: search
callers: ${parts.callers}
calls: { chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 4 } }
service: ${parts.service}
stages:
  - { name: search, shape: capacity, ${parts.search}, mix: { chat: 1 } }
${parts.after}
slo: { chat: { latency: ${parts.slo} } }
`
}

async function searchIn(text: string, options: Omit<VirtualRun, 'scenario'> = {}) {
  const run = await virtualSearch({ scenario: text, ...options })
  return { ...run, trials: trialsIn(run.observations, run.result) }
}

/** The observations of each trial, by due time. */
const trialsIn = (observations: readonly Observation[], { trials }: CapacityResult) =>
  trials.map((_, index) => observations.filter(o => o.trial === index).toSorted((a, b) => a.dueMs - b.dueMs))

const workerOf = ({ caller }: Observation, workers: number) => Number(caller.slice(1)) % workers

/** The due times of a trial from its start, and the callers. */
const schedule = (trial: readonly Observation[] | undefined) =>
  (trial ?? []).map(({ dueMs, caller }) => [(dueMs - (trial?.[0]?.dueMs ?? 0)).toFixed(3), caller])

/** Every message between the run and a worker takes this long; messages of one direction stay in order. */
const delayed =
  (clock: Clock, ms: number) =>
  (start: StartWorker): StartWorker =>
  (job, events) => {
    const later = (deliver: () => void) => void clock.at(clock.nowMs() + ms, deliver)
    const worker = start(job, { ...events, onSearch: report => later(() => events.onSearch(report)) })
    return { ...worker, search: order => later(() => worker.search(order)) }
  }

/** Keeps what the live view of a run shows of its searches at the end. */
function lastViews(seen: (readonly CapacityResult[] | undefined)[]): Output {
  let live: LiveRun | null = null
  return {
    start: started => {
      live = started
    },
    finish: async () => {
      seen.push(live?.view().capacity(false))
    },
    close: async () => {},
  }
}

const after = (ms: number, { clock }: RunIo): AbortSignal => {
  const controller = new AbortController()
  clock.at(ms, () => controller.abort())
  return controller.signal
}

describe('a search on several workers', () => {
  const single = searchIn(scenario())
  const seen: (readonly CapacityResult[] | undefined)[] = []
  const ofTwo = searchIn(
    scenario({ after: '  - { name: after, shape: constant, duration: 2s, rate: 10/s, mix: { chat: 1 } }' }),
    { workers: 2, change: () => ({ outputs: [lastViews(seen)] }) },
  )
  const ofFour = searchIn(scenario(), { workers: 4 })
  const ofThreeAfar = searchIn(scenario(), {
    workers: 3,
    change: io => ({ startWorker: delayed(io.clock, 8)(io.startWorker) }),
  })

  test.for([ofTwo, ofFour])('finds the capacity that one finds', async running => {
    const { result, report } = await running
    const alone = (await single).result
    expect([alone.status, result.status]).toEqual(['found', 'found'])
    for (const rate of [alone.ratePerSecond, result.ratePerSecond])
      expect(Math.abs((rate ?? 0) / 50 - 1)).toBeLessThan(0.05)
    expect(report.load.workers.every(({ sent }) => sent > 100)).toBe(true)
    expect(report.verdict).toBe('pass')
  })

  test('sends the arrivals of each trial that one worker sends, on time, from one start', async () => {
    const { trials, result } = await ofFour
    const alone = await single
    for (const index of [0, 1]) expect(schedule(trials[index])).toEqual(schedule(alone.trials[index]))
    expect(result.trials[1]).toMatchObject({ arrivals: 120, outcome: 'sustained' })
    for (const o of trials.flat()) expect(o.sentMs).toBe(o.dueMs)
    // Of a trial that ended early, the arrivals until then.
    for (const [index, trial] of trials.entries()) {
      const gapMs = 1000 / (result.trials[index]?.offeredPerSecond ?? 0)
      const offsetsMs = trial.map(({ dueMs }) => dueMs - (trial[0]?.dueMs ?? 0))
      expect(offsetsMs).toEqual(offsetsMs.map((_, n) => expect.closeTo(n * gapMs, 2)))
    }
  })

  test('starts a trial when the last request of the last worker has ended, 100 ms after the decision', async () => {
    const { trials } = await ofTwo
    const endMs = Math.max(...(trials[0] ?? []).map(each => each.endMs ?? 0))
    expect(trials[1]?.[0]?.dueMs).toBe(endMs + 100)
  })

  test('works over a channel with a latency', async () => {
    const { result, trials } = await ofThreeAfar
    expect(result.status).toBe('found')
    expect(Math.abs((result.ratePerSecond ?? 0) / 50 - 1)).toBeLessThan(0.05)
    for (const o of trials.flat()) expect(o.sentMs).toBe(o.dueMs)
  })

  test('ends a trial early for all workers', async () => {
    const { result, trials } = await ofThreeAfar
    const early = result.trials.findIndex(({ arrivals, planned }) => arrivals < planned)
    expect(result.trials[early]?.outcome).not.toBe('sustained')
    const lastMs = [0, 1, 2].map(worker =>
      Math.max(...(trials[early] ?? []).filter(o => workerOf(o, 3) === worker).map(({ dueMs }) => dueMs)),
    )
    // No worker sends more than its next arrival after the last one of the others.
    const gapMs = 1000 / (result.trials[early]?.offeredPerSecond ?? 0)
    expect(Math.max(...lastMs) - Math.min(...lastMs)).toBeLessThanOrEqual(3 * gapMs)
  })

  test('is the same in live views as in the report', async () => {
    const { report } = await ofTwo
    expect(seen).toEqual([report.capacity])
  })

  test('is followed by the next stage, at its time', async () => {
    const { report, observations } = await ofTwo
    expect(report.run.ended).toBe('complete')
    const due = observations.filter(({ stage }) => stage === 'after').map(({ dueMs }) => dueMs)
    const startMs = Math.min(...observations.filter(o => o.trial === 0).map(({ dueMs }) => dueMs)) - 100
    expect(due.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => startMs + 90_000 + n * 100))
  })
})

const lateInOne = (clock: Clock, worker: number): Clock =>
  worker === 2 ? { ...clock, atPrecisely: (dueMs, wake) => clock.at(dueMs + 300, wake) } : clock

test('a search finds the capacity although one of its workers sends late, if no response misses the SLO for it', async () => {
  const { result } = await searchIn(scenario(), { workers: 4, clockOf: lateInOne })
  expect(result.status).toBe('found')
  expect(result.ratePerSecond).toBeGreaterThan(47)
  expect(result.ratePerSecond).toBeLessThan(53)
})

describe('a search on several workers finds no capacity', () => {
  test('if one of them sends so late that responses miss the SLO', async () => {
    const { result } = await searchIn(scenario({ slo: '250ms' }), { workers: 4, clockOf: lateInOne })
    expect(result).toMatchObject({ status: 'harness-limited', ratePerSecond: null })
    expect(result.trials.map(({ outcome }) => outcome)).toEqual(['harness-late', 'harness-late'])
  })

  test('if a caller of one of them comes close to a block, which ends the trial for all', async () => {
    const { result, report, trials } = await searchIn(
      scenario({
        callers: '{ count: 2 }',
        service: '{ concurrency: 1, service-time: 400ms, queue-length: 1 }',
        search: 'duration: 110s, from: 2/s, to: 8/s, good-ratio: 60%, confirm: 40s, trial: 40s',
        slo: '5s',
      }),
      { workers: 2 },
    )
    expect(report.load.blocked).toBe(0)
    expect(result).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(result.trials.at(-1)?.outcome).toBe('failure-limit')
    const last = trials.at(-1) ?? []
    const heldBack = last.filter(({ outcome }) => outcome.kind === 'dropped')
    expect(heldBack).toHaveLength(1)
    // Only what was due until then.
    expect(last.at(-1)?.dueMs).toBe(heldBack[0]?.dueMs)
  })

  test('if the run is interrupted during a trial', async () => {
    const { result, report, observations } = await searchIn(scenario(), {
      workers: 2,
      change: io => ({ stop: after(6_000, io) }),
    })
    expect(report.run.ended).toBe('interrupted')
    expect(result).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(result.trials.at(-1)?.outcome).toBe('unfinished')
    expect(Math.max(...observations.filter(o => o.trial !== undefined).map(({ dueMs }) => dueMs))).toBeLessThan(6_001)
    expect(observations.filter(({ stage }) => stage === '(closing)')).toHaveLength(16)
  })

  test('if a worker is lost during a trial', async () => {
    /** The second worker is lost after 6 s, and reports nothing any more. */
    const losing =
      (clock: Clock) =>
      (start: StartWorker): StartWorker =>
      (job, events) => {
        if (job.shard.worker !== 1) return start(job, events)
        let isLost = false
        const worker = start(job, { ...events, onSearch: report => (isLost ? undefined : events.onSearch(report)) })
        const lost = new Promise<null>(resolve =>
          clock.at(6_000, () => {
            isLost = true
            void worker.terminate()
            events.onLost('a test reason')
            resolve(null)
          }),
        )
        const drive = (loadStartMs: number) => Promise.race([worker.drive(loadStartMs), lost])
        return { ...worker, drive, close: async () => null, finish: async () => null, snapshot: async () => null }
      }
    const { result, report } = await searchIn(scenario(), {
      workers: 3,
      change: io => ({ startWorker: losing(io.clock)(io.startWorker) }),
    })
    expect([report.verdict, report.run.ended]).toEqual(['inconclusive', 'worker-lost'])
    expect(result).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    // Nothing was recorded, so no trial has all its requests.
    expect(result.trials.map(({ outcome }) => outcome)).toEqual(['unfinished'])
    expect(report.run.durationMs).toBeLessThan(10_000)
  })

  test('if a worker never reports: the search ends with its stage', async () => {
    const silent =
      (start: StartWorker): StartWorker =>
      (job, events) =>
        start(job, job.shard.worker === 0 ? { ...events, onSearch: () => {} } : events)
    const { result, report, trials } = await searchIn(scenario(), {
      workers: 2,
      change: io => ({ startWorker: silent(io.startWorker) }),
    })
    expect(report.run.ended).toBe('complete')
    expect([result.status, trials.length]).toEqual(['inconclusive', 0])
    expect(report.run.durationMs).toBeGreaterThan(90_000)
  })
})
