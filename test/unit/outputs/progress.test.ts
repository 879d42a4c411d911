import { describe, expect, test } from 'vitest'
import type { CapacityResult } from '../../../src/judge/capacity/result.ts'
import { createFindingLog } from '../../../src/judge/checks/findings.ts'
import { mergeSnapshots } from '../../../src/judge/judge.ts'
import { mergeGauges } from '../../../src/judge/metrics/gauges.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import type { LiveRun } from '../../../src/outputs/output.ts'
import { createProgress, createProgressWriter, type LogEntry } from '../../../src/outputs/progress.ts'
import { eventsBetween, fieldsLine, progressBlock, progressFields } from '../../../src/outputs/progress-block.ts'
import {
  createRecentRate,
  type ProgressSnapshot,
  progressAt,
  readProgress,
} from '../../../src/outputs/progress-snapshot.ts'
import type { Load } from '../../../src/plan/plan.ts'
import type { Report } from '../../../src/report/document.ts'

import { manualClock } from '../../support/manual-clock.ts'
import { createScreen, type Size } from '../../support/terminal.ts'
import { aPlan, aStage, dropped, failed, respondedWith, streamed } from '../judge/metrics/fixtures.ts'
import { aSearch, aTrial } from '../report/capacity-results.ts'

const ramp: Load = { model: 'open', shape: { kind: 'ramp', fromPerSecond: 0, toPerSecond: 20 }, mix: [['chat', 1]] }
const closed: Load = { model: 'closed', users: 2, thinkMs: 0, mix: [['chat', 1]] }
const terms = { fromPerSecond: 20, toPerSecond: 90, goodRatio: 0.9, precision: 0.05, mix: { chat: 1 } }
const times = { trialMs: 1_000, confirmMs: 1_000, confirmSamples: 29 }
const search: Load = {
  model: 'capacity',
  search: { ...terms, ...times },
  spacing: 'even',
  coolDownMs: 0,
  mix: [['chat', 1]],
}
const plan = aPlan({
  budgetUsd: '0.05',
  stages: [
    aStage('(opening)', 5000),
    aStage('ramp', 10_000, { load: ramp }),
    aStage('users', 30_000, { load: closed, startMs: 10_000 }),
    aStage('search', 20_000, { load: search, startMs: 40_000 }),
  ],
})

const violated = createFindingLog()
const price = violated.reporterFor('rpc-credits')
for (const id of [3, 4])
  price.fail('rpc.batch.error-price', 'got 40 credits for 1 item of 20 credits and 1 failed item, expected 25', [id])

const readingAt = (stage: string, { capacity = [] as readonly CapacityResult[], log = violated } = {}) => {
  const metrics = createMetrics(plan)
  for (let i = 0; i < 60; i++) metrics.add(streamed({}, { stage: 'ramp' }))
  for (const o of [respondedWith(429, { stage: 'ramp' }), failed({ stage: 'ramp' }), dropped({ stage: 'ramp' })])
    metrics.add(o)
  metrics.add(respondedWith(200, { stage: '(opening)' }))
  const view = { metrics, tallies: log.tallies(), findings: log.findings(), claimedUsd: '0.0077', capacity }
  return readProgress({ ...view, stage, inFlight: 3, achievedPerSecond: 12.2 })
}

const snapshotAt = (stage: string, elapsedMs: number, known: Parameters<typeof readingAt>[1] = {}): ProgressSnapshot =>
  progressAt(plan, readingAt(stage, known), elapsedMs)

const trials = [
  aTrial({ offeredPerSecond: 40 }),
  aTrial({ offeredPerSecond: 80 }),
  aTrial({ offeredPerSecond: 160, outcome: 'slo-missed', arrivals: 115, planned: 480, goodRatio: 0.852 }),
  aTrial({ purpose: 'narrow', offeredPerSecond: 120, outcome: 'harness-late' }),
  aTrial({ purpose: 'confirm', offeredPerSecond: 80, outcome: 'unfinished', arrivals: 319, planned: 788 }),
]
const searching = aSearch({ status: 'inconclusive', ratePerSecond: null, trials })

const plainPage = (columns: number) => ({ columns, color: false })

describe('progress: a snapshot', () => {
  test('has the position in the stage and the run, what is due, what came back, and the budget', () => {
    expect(snapshotAt('ramp', 5000)).toMatchObject({
      scenario: 'fixture',
      // The mean of the last five seconds, while the rate rises from 0/s to 10/s.
      stage: {
        name: 'ramp',
        planned: { position: 1, of: 3, elapsedMs: 5000, durationMs: 10_000, offeredPerSecond: expect.closeTo(5, 9) },
      },
      elapsedMs: 5000,
      totalMs: 60_000,
      isAtMost: true,
      inFlight: 3,
      sent: 62,
      failed: 1,
      dropped: 1,
      statuses: { '200': 60, '429': 1 },
      latencyMs: { p50: 100, p95: 100, p99: null },
      ttftMs: { p50: 20, p95: 20, p99: null },
      achievedPerSecond: 12.2,
      claimedUsd: '0.0077',
      budgetUsd: '0.05',
    })
  })
  test('times the current stage, and outside of the stages the run', () => {
    expect(snapshotAt('users', 12_000).latencyMs).toEqual({ p50: null, p95: null, p99: null })
    expect(snapshotAt('(closing)', 99_000).latencyMs.p50).toBe(100)
  })
  test('counts the requests of an arrival that sends several', () => {
    const replay = { kind: 'replay', of: plan.calls.rpc, duplicates: 2, otherKeyRatio: 0, conflictRatio: 0 }
    const rest = { otherCallerRatio: 0, repeatAfterMs: null, concurrent: false }
    const load: Load = { model: 'open', shape: { kind: 'constant', perSecond: 4 }, mix: [['again', 1]] }
    const repeating = { ...plan, calls: { again: { ...replay, ...rest } }, stages: [aStage('steady', 9000, { load })] }
    const { stage } = progressAt(repeating as typeof plan, readingAt('steady'), 8000)
    expect(stage.planned?.offeredPerSecond).toBeCloseTo(12, 9)
  })
  test('has no offered rate if responses set the pace', () => {
    expect(snapshotAt('users', 10_000).stage.planned).toMatchObject({ position: 2, offeredPerSecond: null })
  })
  test('has in a search the current trial, the highest held rate, and the lowest missed one', () => {
    const { stage, search, finishedTrials } = snapshotAt('search', 41_000, { capacity: [searching] })
    expect(stage.planned?.offeredPerSecond).toBe(80)
    expect(search).toEqual({
      trial: { position: 5, purpose: 'confirm', offeredPerSecond: 80, doneRatio: 319 / 788 },
      heldPerSecond: 80,
      missedPerSecond: 160,
    })
    expect(finishedTrials).toEqual([
      'raise 40/s held',
      'raise 80/s held',
      'raise 160/s missed: too many bad responses, 17 of 115',
      'narrow 120/s undecided: sent too late',
    ])
    expect(snapshotAt('(closing)', 60_000, { capacity: [aSearch()] }).finishedTrials.at(-1)).toBe(
      'confirm 78.7/s confirmed',
    )
  })
  test('has no rate in a search before its first response', () => {
    const { stage, search } = snapshotAt('search', 40_000, { capacity: [aSearch({ trials: [] })] })
    expect([stage.planned?.offeredPerSecond, search?.trial]).toEqual([null, null])
  })
  test('is outside the stages during balance checks', () => {
    expect(snapshotAt('(closing)', 99_000)).toMatchObject({ stage: { planned: null }, elapsedMs: 60_000 })
  })
})

test('the achieved rate is that of the last five seconds, and starts again in each stage', () => {
  const recent = createRecentRate()
  expect(recent.perSecond()).toBeNull()
  // 10/s for ten seconds, then 2/s.
  for (let second = 0; second <= 10; second++) recent.add(second * 1000, 'steady', second * 10)
  expect(recent.perSecond()).toBe(10)
  for (let second = 11; second <= 15; second++) recent.add(second * 1000, 'steady', 100 + (second - 10) * 2)
  expect(recent.perSecond()).toBe(2)
  recent.add(16_000, 'spike', 3)
  expect(recent.perSecond()).toBeNull()
  recent.add(16_500, 'spike', 23)
  expect(recent.perSecond()).toBe(40)
})

describe('progress: the words', () => {
  test('a block for a terminal, wide and narrow, and in a search; and lines for a log', async () => {
    const calm = snapshotAt('ramp', 5000, { log: createFindingLog() })
    const inSearch = snapshotAt('search', 52_000, { capacity: [searching] })
    const parts = {
      '100 columns': progressBlock(calm, plainPage(100)),
      '40 columns': progressBlock(calm, plainPage(40)),
      'events of a search with a violation': eventsBetween(null, inSearch, plainPage(80)).map(({ text }) => text),
      'a search with a violation, 80 columns': progressBlock(inSearch, plainPage(80)),
      'opening and closing': [
        ...progressBlock(snapshotAt('(opening)', 0), plainPage(80)).slice(0, 3),
        ...progressBlock(snapshotAt('(closing)', 60_000), plainPage(80)).slice(0, 3),
      ],
      'lines of a log': [calm, inSearch].map(snapshot => fieldsLine(progressFields(snapshot))),
    }
    const text = Object.entries(parts).map(([name, lines]) => `${name}\n${lines.map(line => `|${line}\n`).join('')}`)
    await expect(text.join('\n')).toMatchFileSnapshot('../../golden/progress.txt')
  })

  test('no line of the block is wider than the terminal, and none is cut from 40 columns on', () => {
    for (const snapshot of [snapshotAt('ramp', 5000), snapshotAt('search', 52_000, { capacity: [searching] })])
      for (let columns = 1; columns <= 200; columns++)
        for (const line of progressBlock(snapshot, plainPage(columns))) {
          expect([...line].length).toBeLessThanOrEqual(columns)
          if (columns >= 40) expect(line).not.toContain('…')
        }
  })

  test('a block keeps its height while its numbers change', () => {
    const heights = (columns: number) =>
      [0, 999, 5_000, 9_999].map(ms => progressBlock(snapshotAt('ramp', ms), plainPage(columns)).length)
    for (const columns of [40, 80, 120]) expect(new Set(heights(columns)).size).toBe(1)
  })

  test('styles are used only with color', () => {
    const colored = progressBlock(snapshotAt('ramp', 5000), { columns: 80, color: true }).join('\n')
    expect(colored).toContain('\u001b[31mrpc.batch.error-price × 2')
    expect(progressBlock(snapshotAt('ramp', 5000), plainPage(80)).join('\n')).not.toContain('\u001b')
  })

  test('a long list of clauses is cut and counted', () => {
    const many = Array.from({ length: 9 }, (_, index) => ({ clause: `c${index}`, section: '1', count: 1, message: '' }))
    const block = progressBlock({ ...snapshotAt('ramp', 5000), violations: many }, plainPage(200)).join('\n')
    expect(block).toMatch(/c5 × 1 +and 3 more/)
    expect(block).not.toContain('c6')
  })

  test('each clause and each trial is an event once, on one line, however hostile', () => {
    const log = createFindingLog()
    log.reporterFor('headers').fail('header.date', `evil\n\u001b[2J${'x'.repeat(500)}`, [1])
    const before = snapshotAt('search', 41_000, { capacity: [{ ...searching, trials: trials.slice(0, 2) }], log })
    const [event] = eventsBetween(null, before, plainPage(80))
    expect(event?.text).toMatch(/^ 41\.0 s {2}fail {3}header\.date \(§[\d.]+\): evil \\x1b\[2Jx+…$/)
    expect(event?.text.length).toBeLessThan(300)
    expect(event?.fields).toMatchObject({ event: 'violation', clause: 'header.date', elapsed_s: 41 })
    log.reporterFor('headers').fail('header.date', 'again', [2])
    const now = snapshotAt('search', 42_000, { capacity: [{ ...searching, trials: trials.slice(0, 3) }], log })
    expect(eventsBetween(before, now, plainPage(80)).map(({ text }) => text)).toEqual([
      ' 42.0 s  trial  raise 80/s held',
    ])
    expect(eventsBetween(now, now, plainPage(80))).toEqual([])
  })

  test('a line omits keys without a value, and quotes values with spaces', () => {
    const stage = { name: 'a "long" name', planned: null }
    const line = fieldsLine(progressFields({ ...snapshotAt('users', 0), stage }))
    expect(line).toContain('stage="a \\"long\\" name" achieved_per_s=12.2 in_flight=3')
    expect(line).not.toContain('latency')
  })
})

function written(interactive: boolean, size: Size = { columns: 100, rows: 40 }) {
  const clock = manualClock()
  const writes: string[] = []
  const entries: (LogEntry | undefined)[] = []
  let now = size
  const screen = createScreen(size)
  let read = 0
  const writer = createProgressWriter({
    stream: {
      write: (text, entry) => {
        writes.push(text)
        entries.push(entry)
      },
    },
    interactive,
    size: () => now,
    color: true,
    clock,
    snapshot: () => snapshotAt('ramp', clock.nowMs()),
  })
  return {
    clock,
    writes,
    entries,
    writer,
    resize: async (next: Size) => {
      for (; read < writes.length; read++) await screen.write(writes[read] ?? '')
      now = next
      screen.resize(next)
    },
    lines: async () => {
      for (; read < writes.length; read++) await screen.write(writes[read] ?? '')
      return screen.lines()
    },
    cursorIsShown: screen.cursorIsShown,
  }
}

const blockAt = (ms: number, columns: number) => progressBlock(snapshotAt('ramp', ms), plainPage(columns - 1))

describe('progress writer: in a terminal', () => {
  test('redraws one block in place', async () => {
    const { clock, lines, cursorIsShown } = written(true)
    expect(await lines()).toEqual(blockAt(0, 100))
    expect(cursorIsShown()).toBe(false)
    await clock.advanceTo(2000)
    expect(await lines()).toEqual(blockAt(2000, 100))
  })
  test('writes nothing while nothing has changed, and at most four times a second', async () => {
    const { clock, writes } = written(true)
    await clock.advanceTo(30_000)
    const before = writes.length
    await clock.advanceTo(40_000)
    expect(writes.length - before).toBeLessThanOrEqual(40)
    expect(writes.length - before).toBeGreaterThanOrEqual(10)
    // The stage is over at 60 s, and so is the run.
    await clock.advanceTo(61_000)
    const after = writes.length
    await clock.advanceTo(70_000)
    expect(writes.length).toBe(after)
  })
  test.each([40, 80, 120])('log lines are above the block of %i columns, in order', async columns => {
    const { clock, writer, lines } = written(true, { columns, rows: 40 })
    writer.log('one')
    await clock.advanceTo(1000)
    writer.log('two')
    expect(await lines()).toEqual(['one', 'two', ...blockAt(1000, columns)])
  })
  test.each([
    [120, 80],
    [120, 40],
    [80, 31],
    [40, 120],
    [80, 200],
  ])('leaves no garbage when %i columns become %i', async (from, to) => {
    const { clock, writer, lines, resize } = written(true, { columns: from, rows: 60 })
    writer.log('one')
    await clock.advanceTo(1000)
    await resize({ columns: to, rows: 60 })
    await clock.advanceTo(1250)
    expect(await lines()).toEqual(['one', ...blockAt(1250, to)])
    await resize({ columns: from, rows: 60 })
    await clock.advanceTo(2000)
    writer.log('two')
    expect(await lines()).toEqual(['one', 'two', ...blockAt(2000, from)])
    writer.stop()
    expect(await lines()).toEqual(['one', 'two'])
  })
  test('draws less if the terminal has fewer rows, so that it can erase all of it', async () => {
    const { clock, writer, lines } = written(true, { columns: 80, rows: 5 })
    writer.log('one')
    await clock.advanceTo(10_000)
    expect(await lines()).toEqual(['one', ...blockAt(10_000, 80).slice(0, 4)])
  })
  test('leaves only the log, and restores the cursor', async () => {
    const { clock, writes, writer, lines, cursorIsShown } = written(true)
    writer.log('one')
    writer.stop()
    expect(await lines()).toEqual(['one'])
    expect(cursorIsShown()).toBe(true)
    const { length } = writes
    writer.stop()
    await clock.advanceTo(5000)
    expect(writes.length).toBe(length)
    writer.log('two')
    expect(await lines()).toEqual(['one', 'two'])
  })
})

describe('progress writer: in a pipe', () => {
  test('writes a plain line every five seconds, without escape sequences, and the same as fields', async () => {
    const { clock, writes, entries, writer } = written(false)
    await clock.advanceTo(4999)
    expect(writes).toEqual([])
    await clock.advanceTo(10_000)
    const fields = [5000, 10_000].map(ms => progressFields(snapshotAt('ramp', ms)))
    expect(writes).toEqual(fields.map(each => `${fieldsLine(each)}\n`))
    expect(entries).toEqual(fields.map(each => ({ message: 'progress', fields: each })))
    writer.log('  one', { event: 'trial' })
    writer.stop()
    await clock.advanceTo(30_000)
    expect(writes.slice(2)).toEqual(['  one\n'])
    expect(entries.slice(2)).toEqual([{ message: 'one', fields: { event: 'trial' } }])
    expect(writes.join('')).not.toContain('\u001b')
  })
})

describe('progress as an output', () => {
  function shown() {
    const clock = manualClock()
    const lines: string[] = []
    let refreshes = 0
    let log = createFindingLog()
    const stream = { write: (text: string) => lines.push(text.trimEnd()) }
    const size = () => ({ columns: 80, rows: 24 })
    const progress = createProgress(aPlan(), { stream, interactive: false, size, color: false, clock })
    const live: LiveRun = {
      view: () => ({ ...mergeSnapshots(aPlan(), []), findingLog: log }),
      gauges: () => mergeGauges([]),
      inFlight: () => 7,
      stage: () => '(opening)',
      loadStartMs: () => null,
      refresh: async () => {
        refreshes++
      },
    }
    const violate = () => {
      log = createFindingLog()
      log.reporterFor('headers').fail('header.date', 'got none', [1])
    }
    return { clock, lines, progress, live, violate, refreshes: () => refreshes }
  }

  test('writes log lines before it starts, while it runs, and after it has finished', async () => {
    const { clock, lines, progress, live } = shown()
    progress.log('before')
    progress.start(live)
    await clock.advanceTo(5_000)
    progress.log('meanwhile')
    await progress.finish({} as Report, new AbortController().signal)
    progress.log('afterwards')
    await clock.advanceTo(60_000)
    expect(lines).toEqual(['before', expect.stringContaining('in_flight=7'), 'meanwhile', 'afterwards'])
  })

  test('writes a clause that is violated within a second, once; also in the last moment', async () => {
    const first = shown()
    first.progress.start(first.live)
    await first.clock.advanceTo(1_500)
    first.violate()
    await first.clock.advanceTo(4_000)
    expect(first.lines).toEqual([expect.stringMatching(/fail {3}header\.date .*: got none$/)])
    const late = shown()
    late.progress.start(late.live)
    late.violate()
    await late.progress.finish({} as Report, new AbortController().signal)
    expect(late.lines).toHaveLength(1)
  })

  test('refreshes the run once per second, until it is closed', async () => {
    const { clock, progress, live, refreshes } = shown()
    progress.start(live)
    await clock.advanceTo(3_500)
    expect(refreshes()).toBe(3)
    await progress.close()
    await clock.advanceTo(60_000)
    expect(refreshes()).toBe(3)
  })
})
