import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { LogLine } from '../../../src/observation/log.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { ReplayRole } from '../../../src/observation/requests/traits.ts'
import { readArrivals, readCompleteLog, readRecording } from '../../../src/storage/recorded-run.ts'
import { recordedRun } from '../../support/recorded-run.ts'
import { freshDirectory } from '../../support/turnpike.ts'
import { anObservation } from '../judge/metrics/fixtures.ts'

async function kindsIn(lines: readonly unknown[]): Promise<readonly string[]> {
  const file = join(mkdtempSync(join(tmpdir(), 'turnpike-test-')), 'observations.ndjson.gz')
  writeFileSync(file, gzipSync(lines.map(line => `${JSON.stringify(line)}\n`).join('')))
  const kinds: string[] = []
  for await (const { kind } of readCompleteLog([file])) kinds.push(kind)
  return kinds
}

const headOfFile = { turnpike: 2, runId: 'r', version: '0', target: 'http://t', startedAtMs: 0, worker: 0, workers: 1 }

const footer = {
  ended: 'complete',
  durationMs: 1,
  loadStartMs: null,
  startedMs: null,
  eventLoopDelayMs: null,
  notRecorded: 0,
  pushed: null,
}

test('a record is read to its last line, with or without a footer', async () => {
  expect(await kindsIn([headOfFile, anObservation(), footer])).toEqual(['head', 'observation', 'end'])
  expect(await kindsIn([headOfFile, anObservation()])).toEqual(['head', 'observation'])
})

test('a record with skipped observations is an error with their number', async () => {
  await expect(kindsIn([headOfFile, anObservation(), { skipped: 12 }])).rejects.toThrow(
    'got a record that leaves out 12 observations, because the disk was too slow, expected a record without gaps; run it again with a faster disk',
  )
})

const line = (changes: Partial<Observation>): LogLine => ({ kind: 'observation', observation: anObservation(changes) })
const opened = (endMs: number) => line({ stage: '(opening)', call: '(statement)', dueMs: 0, endMs })
const head: LogLine = {
  kind: 'head',
  head: { turnpike: 2, runId: 'r', version: '0', target: 'http://t', startedAtMs: 0, worker: 0, workers: 1 },
}
const end = (ended: 'complete' | 'interrupted', loadStartMs: number | null = null): LogLine => ({
  kind: 'end',
  end: { ended, durationMs: 1, loadStartMs, startedMs: null, eventLoopDelayMs: null, notRecorded: 0, pushed: null },
})

async function collect(lines: readonly LogLine[], max = 100) {
  const stages = ['first', 'second']
  const all = async function* () {
    yield* lines
  }
  const found = await readArrivals(all(), stage => stages.includes(stage), max)
  if (found === null) return null
  const { offsetsMs, calls, callers, callNames, callerNames, isComplete } = found
  const rows = [...offsetsMs].map((offsetMs, index) => [
    offsetMs,
    callNames[calls[index] ?? -1],
    callerNames[callers[index] ?? -1],
  ])
  return { rows, isComplete }
}

test('arrivals are in the order of due times, for any order of ends', async () => {
  const lines = [
    opened(40),
    line({ id: 2, stage: 'first', call: 'slow', caller: 'c1', dueMs: 140 }),
    line({ id: 1, stage: 'first', call: 'rpc', caller: 'c0', dueMs: 90.5 }),
    line({ id: 9, stage: 'second', call: 'rpc', caller: 'c1', dueMs: 140 }),
    line({ id: 0, stage: 'first', call: 'rpc', caller: 'c0', dueMs: 40 }),
  ]
  expect((await collect(lines))?.rows).toEqual([
    [0, 'rpc', 'c0'],
    [50.5, 'rpc', 'c0'],
    [100, 'slow', 'c1'],
    [100, 'rpc', 'c1'],
  ])
})

test('the load starts at the recorded time, or else after the last opening balance check', async () => {
  const lines = [opened(30), opened(75), opened(12), line({ stage: 'first', dueMs: 100 })]
  expect((await collect(lines))?.rows[0]?.[0]).toBe(25)
  expect((await collect([...lines, end('complete', 99.5), end('complete', 99.75)]))?.rows[0]?.[0]).toBe(0.5)
})

test('dropped and failed arrivals were due', async () => {
  const lines = [
    line({ id: 0, stage: 'first', dueMs: 1, outcome: { kind: 'dropped', reason: 'max-in-flight' }, sentMs: null }),
    line({ id: 1, stage: 'first', dueMs: 2, outcome: { kind: 'failed', reason: 'tls', detail: '' } }),
  ]
  expect((await collect(lines))?.rows).toHaveLength(2)
})

test('a replay with any number of requests is one arrival', async () => {
  const step = (id: number, role: ReplayRole['role'], dueMs: number) => {
    const replay = { group: 4, role, concurrent: false }
    const request = { kind: 'rpc', network: 'ethereum-mainnet', batch: false, items: [], replay } as const
    return line({ id, stage: 'first', call: 'replay', dueMs, request })
  }
  const lines = [step(8, 'duplicate', 30), step(4, 'original', 10), step(12, 'conflict', 50)]
  expect((await collect(lines))?.rows.map(([offsetMs]) => offsetMs)).toEqual([10])
})

test('balance checks and stages that are not selected are omitted', async () => {
  const lines = [opened(0), line({ stage: 'third', dueMs: 5 }), line({ stage: '(closing)', dueMs: 9 })]
  expect((await collect(lines))?.rows).toEqual([])
})

test('more arrivals than the maximum give null; exactly the maximum is allowed', async () => {
  const lines = Array.from({ length: 3_000 }, (_, id) => line({ id, stage: 'first', dueMs: 3_000 - id }))
  expect((await collect(lines, 3_000))?.rows).toHaveLength(3_000)
  expect(await collect(lines, 2_999)).toBeNull()
})

test('a stage that repeats more arrivals than a plan may contain says how to name fewer', async () => {
  const run = await recordedRun(join(freshDirectory(), 'run'), { scenario: 'test/e2e/short.yaml' })
  await expect(readRecording('again', { run, stage: null }, 3)).rejects.toThrow(
    `stage again: got more than 3 arrivals in run ${run}, expected at most 3, since a plan contains them all; name one stage of the run with the key "stage"`,
  )
})

test('a run is complete if all its logs ended as planned', async () => {
  const isComplete = async (...ends: readonly LogLine[]) =>
    (await collect([head, line({ stage: 'first', dueMs: 1 }), ...ends]))?.isComplete
  expect(await isComplete(end('complete'))).toBe(true)
  expect(await isComplete(end('interrupted'))).toBe(false)
  expect(await isComplete()).toBe(false)
  expect(await isComplete(end('complete'), head, end('complete'))).toBe(true)
  expect(await isComplete(head, end('complete'))).toBe(false)
})
