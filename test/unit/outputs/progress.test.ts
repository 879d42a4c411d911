import { describe, expect, test } from 'vitest'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import { mergeSnapshots } from '../../../src/judge/judge.ts'
import { mergeGauges } from '../../../src/judge/metrics/gauges.ts'
import type { LiveRun } from '../../../src/outputs/output.ts'
import { createProgress, createProgressWriter, type LogEntry } from '../../../src/outputs/progress.ts'
import { fieldsLine, progressBlock, progressFields } from '../../../src/outputs/progress-block.ts'
import { manualClock } from '../../../src/prove/manual-clock.ts'
import type { Report } from '../../../src/report/document.ts'
import { createScreen, type Size } from '../../support/terminal.ts'
import { aPlan } from '../judge/metrics/fixtures.ts'
import { plainPage, snapshotAt } from './progress-views.ts'

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

/** The block after an empty line. */
const blockAt = (ms: number, columns: number) => ['', ...progressBlock(snapshotAt('ramp', ms), plainPage(columns - 1))]

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
      report: () => null,
      workers: () => [],
      watch: () => {},
      inFlight: () => 7,
      stage: () => '(opening)',
      loadStartMs: () => null,
      machines: () => [],
      takeTraced: () => [],
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
