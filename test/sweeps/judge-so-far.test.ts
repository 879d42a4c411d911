import { describe, expect, test } from 'vitest'
import type { LiveRun, Output } from '../../src/outputs/output.ts'
import type { Report } from '../../src/report/document.ts'
import type { RunIo } from '../../src/run/run.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** A run, and its reports so far, one for each second of it, or less often. The last one is as of its end. */
async function watchedRun(lies: readonly string[], { workers = 1, everyMs = 1_000 } = {}) {
  const reports: Report[] = []
  const watch = (io: RunIo): Output => {
    let live: LiveRun | null = null
    let isOver = false
    const look = () => {
      if (isOver || live === null) return
      const { refresh, report } = live
      void refresh().then(() => {
        const now = report()
        if (now !== null && !isOver) reports.push(now)
        io.clock.at(io.clock.nowMs() + everyMs, look)
      })
    }
    return {
      start: run => {
        live = run
        run.watch(true)
        look()
      },
      finish: async () => {
        isOver = true
        const last = live?.report() ?? null
        if (last !== null) reports.push(last)
      },
      close: async () => {},
    }
  }
  const { report } = await virtualRun({
    scenario: 'scenarios/smoke.yaml',
    lies: lies.map(lieByName).filter(lie => lie !== undefined),
    workers,
    details: true,
    change: io => ({ outputs: [watch(io)] }),
  })
  return { report, reports }
}

const counts = ({ findings }: Report) => findings.map(({ clause, judge, count }) => [clause, judge, count])

const honest = memoize(() => watchedRun([]))

function memoize<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

describe('a run as it is now', () => {
  test('an honest service is accused of nothing at any second, and passes in the end', async () => {
    const { report, reports } = await honest()
    expect(report.verdict).toBe('pass')
    expect(reports.length).toBeGreaterThan(20)
    expect(reports.filter(({ verdict }) => verdict === 'fail')).toEqual([])
    expect(reports.flatMap(({ findings, billing }) => [...findings, ...billing.discrepancies])).toEqual([])
    // Early on, the requests that prove most are still missing.
    expect(reports[2]?.verdict).toBe('inconclusive')
  })

  test('a count that meets its threshold passes so far, and one that has to grow is inconclusive', async () => {
    const { reports } = await honest()
    const verdicts = new Map(reports[8]?.thresholds.map(({ expression, verdict }) => [expression, verdict]))
    expect(verdicts.get('violations == 0')).toBe('pass')
    expect(verdicts.get('incomplete == 0')).toBe('pass')
    expect(verdicts.get('status(429) of large > 0')).toBe('inconclusive')
  })

  test('a lie fails the run as soon as it shows, with evidence, and never again less than that', async () => {
    const { report, reports } = await watchedRun(['failed-item-in-full'], { everyMs: 2_000 })
    const first = reports.findIndex(({ verdict }) => verdict === 'fail')
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThan(5)
    expect(reports.slice(first).every(({ verdict }) => verdict === 'fail')).toBe(true)
    const [finding] = reports[first]?.findings ?? []
    expect(finding).toMatchObject({ clause: 'rpc.batch.error-price' })
    expect(finding?.examples[0]?.evidence[0]?.request?.path).toContain('/rpc/')
    const violations = reports.map(({ findings }) => findings.reduce((sum, { count }) => sum + count, 0))
    expect(violations).toEqual(violations.toSorted((a, b) => a - b))
    expect(counts(reports.at(-1) ?? report)).toEqual(counts(report))
  })

  test('its figures end as those of the report, also with several workers', async () => {
    const { report, reports } = await watchedRun([], { workers: 2, everyMs: 10_000 })
    const last = reports.at(-1)
    expect(last?.calls).toEqual(report.calls)
    expect(last?.billing).toEqual(report.billing)
    expect(last?.series?.due).toEqual(report.series?.due)
    expect(last?.series?.limits).toEqual(report.series?.limits)
    expect(last?.load.workers.map(({ callers, sent }) => [callers, sent])).toEqual(
      report.load.workers.map(({ callers, sent }) => [callers, sent]),
    )
  })

  test('looking at a run every second changes nothing of it', async () => {
    const { report } = await honest()
    const unwatched = await virtualRun({ scenario: 'scenarios/smoke.yaml' })
    expect(report).toEqual(unwatched.report)
  })
})
