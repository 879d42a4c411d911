import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { type LogLine, openLog, readLog, writeLog } from '../../../src/observation/log.ts'
import type { LogFooter, LogHeader } from '../../../src/observation/log-lines.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { manualClock } from '../../../src/prove/manual-clock.ts'

const directory = mkdtempSync(join(tmpdir(), 'turnpike-log-'))
afterAll(() => rmSync(directory, { recursive: true }))

let files = 0
const freshFile = () => join(directory, `${files++}.ndjson.gz`)

const began = { startedAtMs: 17, worker: 0, workers: 1 }
const head: LogHeader = { turnpike: 3, runId: 'r', version: '0.1.0', target: 'http://127.0.0.1:1', ...began }
const eventLoopDelayMs = { p99: 2, max: 9 }
const end: LogFooter = {
  ended: 'complete',
  durationMs: 1_234.5,
  startedMs: 7,
  eventLoopDelayMs,
  notRecorded: 0,
  loadStartMs: null,
  pushed: null,
}

const observation = (id: number, text = 'é\u2028\n"'): Observation => ({
  id,
  seq: id,
  stage: 'steady',
  call: 'rpc',
  caller: `c${id % 4}`,
  key: 0,
  accountTier: 'default',
  request: { kind: 'models' },
  dueMs: id * 10,
  sentMs: id * 10 + 0.125,
  headersMs: id * 10 + 5,
  endMs: id * 10 + 6,
  outcome: { kind: 'answered', status: 200 },
  response: { status: 200, headers: {}, bytes: 2, body: { kind: 'json', value: { text, id }, digest: null } },
})

async function linesOf(file: string): Promise<readonly LogLine[]> {
  const lines: LogLine[] = []
  for await (const line of readLog(file)) lines.push(line)
  return lines
}

const seqsOf = (lines: readonly LogLine[]) =>
  lines.flatMap(line => (line.kind === 'observation' ? [line.observation.id] : []))

/** Waits until a number of lines, including the header, has been flushed to disk. */
const onDisk = async (file: string, lines: number) => {
  for (let tries = 0; tries < 2_000; tries++) {
    if ((await linesOf(file)).length >= lines) return
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

/** A log with a number of observations, flushed at an interval, and its bytes. */
async function written(count: number, flushEvery: number): Promise<Buffer> {
  const file = freshFile()
  const clock = manualClock()
  const log = await openLog(file, head, clock)
  for (let id = 0; id < count; id++) {
    log.write(observation(id, `${Math.sin(id)}`.repeat(3)))
    if (id % flushEvery < flushEvery - 1) continue
    await clock.advanceTo(clock.nowMs() + 500)
    await onDisk(file, id + 2)
  }
  await log.end(end)
  return readFileSync(file)
}

describe('a log', () => {
  test('returns the written header, observations and end', async () => {
    const file = freshFile()
    const log = await openLog(file, head, manualClock())
    const observations = [0, 1, 2].map(id => observation(id))
    observations.forEach(log.write)
    await log.end(end)
    expect(await linesOf(file)).toEqual([
      { kind: 'head', head },
      ...observations.map(each => ({ kind: 'observation', observation: each })),
      { kind: 'end', end },
    ])
  })

  test('has its header on disk before the first observation', async () => {
    const file = freshFile()
    const log = await openLog(file, head, manualClock())
    await onDisk(file, 1)
    expect(await linesOf(file)).toEqual([{ kind: 'head', head }])
    await log.end(end)
  })

  test('has every observation on disk half a second after it was written, before it ends', async () => {
    const file = freshFile()
    const clock = manualClock()
    const log = await openLog(file, head, clock)
    // While the header is written, a flush waits, and takes what comes in the meantime.
    await onDisk(file, 1)
    log.write(observation(0))
    await clock.advanceTo(499)
    log.write(observation(1))
    expect(seqsOf(await linesOf(file))).toEqual([])
    await clock.advanceTo(500)
    log.write(observation(2))
    await onDisk(file, 3)
    expect(seqsOf(await linesOf(file))).toEqual([0, 1])
    await log.end(end)
  })

  test('does not wait half a second with more than 256 KiB', async () => {
    const file = freshFile()
    const log = await openLog(file, head, manualClock())
    for (let id = 0; id < 30; id++) log.write(observation(id, `${id}`.padEnd(10_000, 'x')))
    await onDisk(file, 27)
    expect(seqsOf(await linesOf(file)).length).toBeGreaterThanOrEqual(26)
    await log.end(end)
  })

  test('leaves no timer after it has ended', async () => {
    const clock = manualClock()
    const log = await openLog(freshFile(), head, clock)
    log.write(observation(0))
    await log.end(end)
    await expect(clock.run(new Promise(() => {}))).rejects.toThrow('no timer')
  })
})

test('a log cut at any byte yields complete lines only: all lines that were flushed before the cut', async () => {
  const bytes = await written(200, 20)
  const whole = seqsOf(await linesOf(fileWith(bytes)))
  expect(whole).toEqual(Array.from({ length: 200 }, (_, id) => id))
  const members = startsOfMembers(bytes)
  expect(members).toHaveLength(12)
  for (let cut = 0; cut < bytes.length; cut += 97) {
    const requestIds = seqsOf(await linesOf(fileWith(bytes.subarray(0, cut))))
    // The header is a gzip member of its own. Each later member holds 20 observations.
    const flushed = Math.max(0, members.filter(start => start <= cut).length - 2) * 20
    expect(requestIds).toEqual(whole.slice(0, requestIds.length))
    expect(requestIds.length).toBeGreaterThanOrEqual(flushed)
  }
})

function fileWith(bytes: Buffer): string {
  const file = freshFile()
  writeFileSync(file, bytes)
  return file
}

function startsOfMembers(bytes: Buffer): readonly number[] {
  const magic = Buffer.from([0x1f, 0x8b, 0x08, 0x00])
  const starts: number[] = []
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) starts.push(at)
  return starts
}

describe('a reader', () => {
  const good = gzipSync(`${JSON.stringify(head)}\n${JSON.stringify(observation(0))}\n`)

  test.each([
    ['zeros', Buffer.alloc(4_096)],
    ['a member with half a line in it', gzipSync('{"seq":1,"stage":"st')],
    ['a member with a line that is not an object', gzipSync('17\n')],
    ['the first bytes of a member', gzipSync('{"seq":1}').subarray(0, 9)],
  ])('ignores %s after the last complete line', async (_, tail) => {
    expect(seqsOf(await linesOf(fileWith(Buffer.concat([good, tail]))))).toEqual([0])
  })

  test.each([
    ['is followed by something else', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('not gzip at all')])],
    ['is damaged near its end', (bytes: Buffer) => Buffer.from(bytes).fill(7, bytes.length - 300, bytes.length - 200)],
  ])('yields the first lines of a log that %s', async (_, damage) => {
    const requestIds = seqsOf(await linesOf(fileWith(damage(await written(2_000, 100)))))
    expect(requestIds).toEqual(Array.from({ length: requestIds.length }, (__, id) => id))
    expect(requestIds.length).toBeGreaterThan(1_800)
  })

  test.each([1_060, 1_100, 1_150])('that reads slowly loses none of %i truncated lines', async count => {
    const bytes = await written(count, count)
    const requestIds: number[] = []
    for await (const line of readLog(fileWith(bytes.subarray(0, -10)))) {
      // Meanwhile the stream unpacks everything that fits, and reaches the cut.
      if (line.kind === 'head') await new Promise(resolve => setTimeout(resolve, 100))
      else if (line.kind === 'observation') requestIds.push(line.observation.id)
    }
    expect(requestIds).toHaveLength(count)
  })

  test('yields a complete line without its line feed', async () => {
    expect(
      seqsOf(await linesOf(fileWith(gzipSync(`${JSON.stringify(head)}\n${JSON.stringify(observation(7))}`)))),
    ).toEqual([7])
  })

  test.each([
    ['another format', { ...head, turnpike: 1 }, 'got a log of format 1, expected a log of format 2 or 3'],
    ['a row before its shape', [0, 1], 'got the unknown shape 0, expected a log that Turnpike wrote'],
    ['a line of no known kind', { leftOut: 3 }, 'got a line that is not an observation'],
  ])('reports a log with %s', async (_, line, message) => {
    const file = fileWith(gzipSync(`${JSON.stringify(line)}\n`))
    await expect(linesOf(file)).rejects.toThrow(`${file}: line 1: ${message}`)
  })

  test('reads a log of format 2, whose lines are whole', async () => {
    const lines = [{ ...head, turnpike: 2 }, observation(3), { skipped: 2 }, observation(4), end]
    const read = await linesOf(fileWith(gzipSync(lines.map(line => `${JSON.stringify(line)}\n`).join(''))))
    expect(read.map(({ kind }) => kind)).toEqual(['head', 'observation', 'gap', 'observation', 'end'])
    expect(seqsOf(read)).toEqual([3, 4])
  })

  test('finds nothing in an empty file', async () => {
    expect(await linesOf(fileWith(Buffer.alloc(0)))).toEqual([])
  })

  test('reports a missing file', async () => {
    await expect(linesOf(join(directory, 'absent'))).rejects.toThrow('got no regular file, expected a log file')
  })

  test('can be stopped early', async () => {
    for await (const line of readLog(fileWith(await written(50, 10)))) {
      expect(line.kind).toBe('head')
      break
    }
  })
})

/** A log whose disk fails at the append after `good` ones. */
async function failing(good: number): Promise<{ readonly failure: string | null; readonly lost: number }> {
  const clock = manualClock()
  let appends = 0
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const append = async () => {
    if (appends++ >= good) throw full
  }
  const log = writeLog({ append, close: async () => {} }, head, clock)
  for (let seq = 0; seq < 3; seq++) {
    log.write(observation(seq))
    await clock.advanceTo((seq + 1) * 1_000)
    while (appends < Math.min(seq + 2, good + 1)) await new Promise(resolve => setImmediate(resolve))
    await new Promise(resolve => setImmediate(resolve))
  }
  const lost = log.notRecorded()
  return { failure: await log.end(end), lost }
}

describe('the members of a log', () => {
  /** The characters of each append, on a disk that takes one member for each `step`. */
  async function onSlowDisk(observations: number, isSlow: boolean) {
    const appends: number[] = []
    let atOnce = 0
    let maxAtOnce = 0
    let proceed: () => void = () => {}
    const append = async (bytes: Buffer) => {
      appends.push(gunzipSync(bytes).toString().length)
      maxAtOnce = Math.max(maxAtOnce, ++atOnce)
      if (isSlow) await new Promise<void>(resolve => (proceed = resolve))
      atOnce--
    }
    const log = writeLog({ append, close: async () => {} }, head, manualClock())
    for (let id = 0; id < observations; id++) {
      log.write(observation(id, `${id}`.padEnd(8_200, 'x')))
      if (!isSlow) while (appends.length < 1 + Math.floor((id + 1) / 8)) await new Promise(setImmediate)
    }
    const ended = log.end(end)
    for (let isOver = false; !isOver; proceed()) {
      isOver = await Promise.race([ended.then(() => true), new Promise<false>(done => setImmediate(done, false))])
    }
    expect(await ended).toBeNull()
    expect(log.notRecorded()).toBe(0)
    return { appends, maxAtOnce }
  }

  test('are small while the disk keeps up, so that none holds a core for long', async () => {
    const { appends } = await onSlowDisk(80, false)
    expect(Math.max(...appends)).toBeLessThan(80_000)
    expect(appends).toHaveLength(12)
  })

  test('are larger while it does not, and are written one at a time', async () => {
    const { appends, maxAtOnce } = await onSlowDisk(1_200, true)
    expect(maxAtOnce).toBe(1)
    expect(Math.max(...appends)).toBeGreaterThan(4_000_000)
    expect(Math.max(...appends)).toBeLessThan(5_000_000)
    expect(appends.length).toBeLessThan(6)
  })
})

describe('a full disk', () => {
  test('is the reason at the end, and ends neither the process nor the run', async () => {
    const unhandled: unknown[] = []
    const listen = (cause: unknown) => unhandled.push(cause)
    process.on('unhandledRejection', listen)
    expect(await failing(0)).toEqual({ failure: 'ENOSPC: no space left on device', lost: 2 })
    process.off('unhandledRejection', listen)
    expect(unhandled).toEqual([])
  })

  test('loses what comes after it', async () => {
    expect((await failing(2)).lost).toBe(1)
    expect(await failing(9)).toEqual({ failure: null, lost: 0 })
  })
})

describe('a log', () => {
  test('that cannot be created has a reason at its end', async () => {
    const log = await openLog(join(directory, 'absent', 'log'), head, manualClock())
    log.write(observation(0))
    expect(await log.end(end)).toBe('ENOENT: no such file or directory')
  })

  test('replaces no file, follows no link, and is for its user only', async () => {
    const target = freshFile()
    const link = freshFile()
    symlinkSync(target, link)
    expect(await (await openLog(link, head, manualClock())).end(end)).toBe('EEXIST: file already exists')
    expect(() => statSync(target)).toThrow('ENOENT')
    const file = freshFile()
    expect(await (await openLog(file, head, manualClock())).end(end)).toBeNull()
    // Windows has rights of folders.
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
