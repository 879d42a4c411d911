import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { writeLog } from '../../../src/observation/log.ts'
import type { LogFooter, LogHeader } from '../../../src/observation/log-lines.ts'
import { createRowReader } from '../../../src/observation/log-rows.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { manualClock } from '../../../src/prove/manual-clock.ts'

const alone = { worker: 0, workers: 1 }
const head: LogHeader = {
  turnpike: 3,
  runId: 'r',
  version: '0.1.0',
  target: 'http://127.0.0.1:1',
  startedAtMs: 17,
  ...alone,
}
const end: LogFooter = {
  ended: 'complete',
  durationMs: 9,
  startedMs: null,
  eventLoopDelayMs: null,
  notRecorded: 2,
  loadStartMs: null,
  pushed: null,
}

const observation = (id: number): Observation => ({
  id,
  stage: 'steady',
  call: 'list',
  caller: 'c0',
  key: 0,
  seq: id,
  accountTier: 'default',
  request: { kind: 'models' },
  dueMs: id,
  sentMs: id,
  headersMs: null,
  endMs: id + 1,
  outcome: { kind: 'failed', reason: 'connection-lost', detail: `${id}`.padEnd(1_000, 'x') },
  response: null,
})

/** Room for three observations of this size. The last one exceeds it. */
const maxWaiting = 3_000

/** A file that writes nothing until it is released, and then everything. */
function stuckFile() {
  const taken: Buffer[] = []
  let isStuck = true
  let release = () => {}
  const free = new Promise<void>(resolve => {
    release = resolve
  })
  let reportData = () => {}
  const hasData = new Promise<void>(resolve => {
    reportData = resolve
  })
  return {
    file: {
      append: async (bytes: Buffer) => {
        reportData()
        if (isStuck) await free
        taken.push(bytes)
      },
      close: async () => {},
    },
    /** Resolves when the disk receives data for the first time. */
    hasData,
    free: () => {
      isStuck = false
      release()
    },
    lines: () => linesOf(taken),
  }
}

function linesOf(members: readonly Buffer[]): readonly unknown[] {
  const readRow = createRowReader()
  const lines = members
    .flatMap(bytes => gunzipSync(bytes).toString().trimEnd().split('\n'))
    .map(line => JSON.parse(line))
  return lines
    .map(line => (Array.isArray(line) || 'shape' in line ? readRow(line) : line))
    .filter(line => line !== null)
}

describe('a disk that is too slow', () => {
  test('never blocks: observations above the limit are skipped and counted', async () => {
    const { file, hasData } = stuckFile()
    const log = writeLog(file, head, manualClock(), maxWaiting)
    await hasData
    for (let id = 0; id < 1_000; id++) log.write(observation(id))
    expect(log.notRecorded()).toBe(997)
  })

  test('receives observations again as soon as there is room, after a line with the number of skipped ones', async () => {
    const { file, free, lines } = stuckFile()
    const clock = manualClock()
    const log = writeLog(file, head, clock, maxWaiting)
    for (let id = 0; id < 5; id++) log.write(observation(id))
    await clock.advanceTo(500)
    free()
    while (lines().length < 4) await new Promise(resolve => setImmediate(resolve))
    log.write(observation(5))
    await log.end(end)
    expect(lines()).toEqual([head, ...[0, 1, 2].map(observation), { skipped: 2 }, observation(5), end])
  })

  test('is reported at the end if the last observations were skipped', async () => {
    const { file, free, lines } = stuckFile()
    const log = writeLog(file, head, manualClock(), maxWaiting)
    for (let id = 0; id < 5; id++) log.write(observation(id))
    free()
    await log.end(end)
    expect(lines().slice(-2)).toEqual([{ skipped: 2 }, end])
  })

  test('that is fast enough receives everything, however much', async () => {
    const { file, free, lines } = stuckFile()
    free()
    const clock = manualClock()
    const log = writeLog(file, head, clock, maxWaiting)
    for (let id = 0; id < 40; id++) {
      log.write(observation(id))
      await clock.advanceTo(clock.nowMs() + 500)
      while (lines().length < id + 2) await new Promise(resolve => setImmediate(resolve))
    }
    await log.end(end)
    expect(log.notRecorded()).toBe(0)
    expect(lines()).toHaveLength(42)
  })
})
