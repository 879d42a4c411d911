import { describe, expect, test } from 'vitest'
import type { CapacityResult } from '../../../src/judge/capacity/result.ts'
import { mergeSnapshots } from '../../../src/judge/judge.ts'
import { mergeGauges } from '../../../src/judge/metrics/gauges.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import type { LiveRun } from '../../../src/outputs/output.ts'
import {
  createProgress,
  createProgressWriter,
  type ProgressSnapshot,
  progressBlock,
  progressLine,
  snapshotProgress,
} from '../../../src/outputs/progress.ts'
import type { Load } from '../../../src/plan/plan.ts'
import type { Report } from '../../../src/report/document.ts'

import { manualClock } from '../../support/manual-clock.ts'
import { aPlan, aStage, dropped, failed, respondedWith, streamed } from '../judge/metrics/fixtures.ts'
import { aSearch, aTrial } from '../report/capacity-results.ts'

const ramp: Load = { model: 'open', shape: { kind: 'ramp', fromPerSecond: 0, toPerSecond: 20 }, mix: [['chat', 1]] }
const closed: Load = { model: 'closed', users: 2, thinkMs: 0, mix: [['chat', 1]] }
const terms = { fromPerSecond: 20, toPerSecond: 90, goodRatio: 0.9, precision: 0.05, mix: { chat: 1 } }
const times = { trialMs: 1_000, confirmMs: 1_000, confirmSamples: 29, callerPerSecond: null }
const search: Load = {
  model: 'capacity',
  search: { ...terms, ...times },
  spacing: 'even',
  coolDownMs: 0,
  mix: [['chat', 1]],
}
const plan = aPlan({
  stages: [
    aStage('(opening)', 5000),
    aStage('ramp', 10_000, { load: ramp }),
    aStage('users', 30_000, { load: closed, startMs: 10_000 }),
    aStage('search', 0, { load: search, startMs: 40_000 }),
  ],
})

const snapshotAt = (
  stage: string,
  loadElapsedMs: number,
  capacity = [aSearch({ stage: 'other' })],
): ProgressSnapshot => {
  const metrics = createMetrics(plan)
  for (let i = 0; i < 60; i++) metrics.add(streamed({}, { stage: 'ramp' }))
  for (const o of [respondedWith(429, { stage: 'ramp' }), failed({ stage: 'ramp' }), dropped({ stage: 'ramp' })])
    metrics.add(o)
  metrics.add(respondedWith(200, { stage: '(opening)' }))
  const run = { plan, metrics, stage, loadElapsedMs, capacity }
  return snapshotProgress({ ...run, inFlight: 3, violations: 2, claimedUsd: '0.0077' })
}

describe('progress: a snapshot', () => {
  test('has the position in the stage and the run, and the offered rate', () => {
    expect(snapshotAt('ramp', 5000)).toEqual({
      scenario: 'fixture',
      stage: {
        name: 'ramp',
        planned: {
          position: 1,
          of: 3,
          elapsedMs: 5000,
          durationMs: 10_000,
          offeredPerSecond: 10,
          achievedPerSecond: 12.2,
        },
      },
      elapsedMs: 5000,
      totalMs: 40_000,
      inFlight: 3,
      sent: 62,
      failed: 1,
      dropped: 1,
      statuses: { '200': 60, '429': 1 },
      latencyP95Ms: 100,
      ttftP95Ms: 20,
      violations: 2,
      claimedUsd: '0.0077',
    })
  })
  test('has no offered rate if responses set the pace', () => {
    expect(snapshotAt('users', 10_000).stage.planned).toMatchObject({ position: 2, offeredPerSecond: null })
  })
  test('has in a search the rate of the latest trial; none before the first trial, and 0 after the search', () => {
    const offered = (changes: Partial<CapacityResult>) =>
      snapshotAt('search', 41_000, [aSearch({ ratePerSecond: null, ...changes })]).stage.planned?.offeredPerSecond
    expect(offered({ trials: [aTrial(), aTrial({ offeredPerSecond: 80 })] })).toBe(80)
    expect(offered({ trials: [] })).toBeNull()
    expect(offered({ ratePerSecond: 78 })).toBe(0)
  })
  test('is outside the stages during balance checks', () => {
    expect(snapshotAt('(closing)', 99_000)).toMatchObject({ stage: { planned: null }, elapsedMs: 40_000 })
  })
})

describe('progress: the output', () => {
  test('a block for a terminal', async () => {
    const block = progressBlock(snapshotAt('ramp', 5000), 100)
    await expect(`${block.join('\n')}\n`).toMatchFileSnapshot('../../golden/progress.txt')
  })
  test.each([20, 59, 80])('no line of the block is wider than %i columns', columns => {
    for (const line of progressBlock(snapshotAt('ramp', 5000), columns))
      expect(line.length).toBeLessThanOrEqual(columns)
  })
  test('a line for a pipe', () => {
    expect(progressLine(snapshotAt('ramp', 5000))).toBe(
      'elapsed_s=5 remaining_s=35 stage=ramp offered_per_s=10 answered_per_s=12.2 in_flight=3 sent=62 failed=1 dropped=1 ' +
        'status_200=60 status_429=1 latency_p95_ms=100 ttft_p95_ms=20 violations=2 spent_usd=0.0077',
    )
  })
  test('a line omits keys without a value, and quotes values with spaces', () => {
    const line = progressLine({
      ...snapshotAt('users', 0),
      stage: { name: 'a "long" name', planned: null },
      latencyP95Ms: null,
    })
    expect(line).toContain('stage="a \\"long\\" name" in_flight=3')
    expect(line).not.toContain('latency')
  })
})

/** The screen of a terminal after some output. Supports only the escape sequences of the writer. */
const screenOf = (written: string): { readonly lines: readonly string[]; readonly cursor: boolean } => {
  const lines: string[] = ['']
  let cursor = true
  for (const part of written.replaceAll('\u001b', '␛').match(/␛\[\??\d+[a-zA-Z]|\n|\r|[^␛\n\r]+/g) ?? []) {
    const up = /^␛\[(\d+)A$/.exec(part)
    if (part === '␛[?25l') cursor = false
    else if (part === '␛[?25h') cursor = true
    else if (up !== null) lines.splice(lines.length - 1 - Number(up[1]), Number(up[1]))
    else if (part === '\n') lines.push('')
    else if (part !== '\r' && part !== '␛[0J') lines[lines.length - 1] += part
  }
  return { lines: lines.slice(0, -1), cursor }
}

const written = (interactive: boolean, columns = 100) => {
  const clock = manualClock()
  const writes: string[] = []
  const writer = createProgressWriter({
    stream: { write: text => writes.push(text) },
    interactive,
    columns: () => columns,
    clock,
    snapshot: () => snapshotAt('ramp', clock.nowMs()),
  })
  return { clock, writes, writer, screen: () => screenOf(writes.join('')) }
}

describe('progress writer: in a terminal', () => {
  test('redraws one block in place', async () => {
    const { clock, screen } = written(true)
    expect(screen()).toEqual({ lines: progressBlock(snapshotAt('ramp', 0), 99), cursor: false })
    await clock.advanceTo(2000)
    expect(screen().lines).toEqual(progressBlock(snapshotAt('ramp', 2000), 99))
  })
  test('draws at most eight times a second', async () => {
    const { clock, writes } = written(true)
    const before = writes.length
    await clock.advanceTo(1000)
    expect(writes.length - before).toBeGreaterThanOrEqual(2)
    expect(writes.length - before).toBeLessThanOrEqual(8)
  })
  test('log lines are above the block, in order', async () => {
    const { clock, writer, screen } = written(true)
    writer.log('one')
    await clock.advanceTo(1000)
    writer.log('two')
    expect(screen().lines).toEqual(['one', 'two', ...progressBlock(snapshotAt('ramp', 1000), 99)])
  })
  test('leaves only the log, and restores the cursor', async () => {
    const { clock, writes, writer, screen } = written(true)
    writer.log('one')
    writer.stop()
    expect(screen()).toEqual({ lines: ['one'], cursor: true })
    const { length } = writes
    writer.stop()
    await clock.advanceTo(5000)
    expect(writes.length).toBe(length)
    writer.log('two')
    expect(screen()).toEqual({ lines: ['one', 'two'], cursor: true })
  })
  test('never writes to the last column', () => {
    const { screen } = written(true, 30)
    for (const line of screen().lines) expect(line.length).toBeLessThanOrEqual(29)
  })
})

describe('progress writer: in a pipe', () => {
  test('writes a plain line every five seconds, without escape sequences', async () => {
    const { clock, writes, writer } = written(false)
    await clock.advanceTo(4999)
    expect(writes).toEqual([])
    await clock.advanceTo(10_000)
    expect(writes).toEqual([5000, 10_000].map(ms => `${progressLine(snapshotAt('ramp', ms))}\n`))
    writer.log('one')
    writer.stop()
    await clock.advanceTo(30_000)
    expect(writes.slice(2)).toEqual(['one\n'])
    expect(writes.join('')).not.toContain('\u001b')
  })
})

describe('progress as an output', () => {
  function shown() {
    const clock = manualClock()
    const lines: string[] = []
    let refreshes = 0
    const stream = { write: (text: string) => lines.push(text.trimEnd()) }
    const progress = createProgress(aPlan(), { stream, interactive: false, columns: () => 80, clock })
    const live: LiveRun = {
      view: () => mergeSnapshots(aPlan(), []),
      gauges: () => mergeGauges([]),
      inFlight: () => 7,
      stage: () => '(opening)',
      loadStartMs: () => null,
      refresh: async () => {
        refreshes++
      },
    }
    return { clock, lines, progress, live, refreshes: () => refreshes }
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
