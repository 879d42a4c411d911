import { describe, expect, test } from 'vitest'
import { createPacer, type PlainRequest, readRequests } from '../../../src/calibration/server.ts'
import { type StreamTexts, streamTexts } from '../../../src/calibration/server-answers.ts'
import { scanStamps } from '../../../src/calibration/token-stamps.ts'
import { type ManualClock, manualClock } from '../../../src/prove/manual-clock.ts'

type Written = { readonly atMs: number; readonly lateMs: number }

const texts = (tokens: number): StreamTexts =>
  streamTexts({ nowMs: 0, picoUsd: 0n, requestsLeft: 1, tokensLeft: 1, resetMs: 0, serial: 1 }, tokens)

/** Collects the written stamps, and whether the stream has ended. */
function collect(clock: ManualClock) {
  const stamps: Written[] = []
  let isEnded = false
  const write = (text: string) => {
    scanStamps((_, lateMs) => stamps.push({ atMs: clock.nowMs(), lateMs }))(Buffer.from(text))
    isEnded = text.endsWith('0\r\n\r\n')
    return true
  }
  return { stamps, write, isEnded: () => isEnded }
}

describe('createPacer', () => {
  test('writes the first token after one step, then one per step, and ends the stream', async () => {
    const clock = manualClock()
    const pacer = createPacer({ clock, perSecond: 50, tokensPerWrite: 1 })
    const [first, second] = [collect(clock), collect(clock)]
    pacer.begin(first.write, texts(3), 3)
    await clock.advanceTo(7)
    pacer.begin(second.write, texts(2), 2)
    await clock.advanceTo(59)
    expect(first.isEnded()).toBe(false)
    await clock.advanceTo(1_000)
    expect(first.stamps.map(({ atMs }) => atMs)).toEqual([20, 40, 60])
    expect(second.stamps.map(({ atMs }) => atMs)).toEqual([27, 47])
    expect([first.isEnded(), second.isEnded()]).toEqual([true, true])
  })

  test('lengthens the step for several tokens per write', async () => {
    const clock = manualClock()
    const { stamps, write } = collect(clock)
    createPacer({ clock, perSecond: 50, tokensPerWrite: 4 }).begin(write, texts(6), 6)
    await clock.advanceTo(1_000)
    expect(stamps.map(({ atMs }) => atMs)).toEqual([80, 80, 80, 80, 160, 160])
  })

  test('catches up when late, and states the lateness in the stamps', async () => {
    const clock = manualClock()
    // A machine with timers of 50 ms resolution.
    const coarse = { ...clock, at: (dueMs: number, wake: () => void) => clock.at(Math.ceil(dueMs / 50) * 50, wake) }
    const { stamps, write } = collect(clock)
    createPacer({ clock: coarse, perSecond: 50, tokensPerWrite: 1 }).begin(write, texts(4), 4)
    await clock.advanceTo(1_000)
    expect(stamps).toEqual([
      { atMs: 50, lateMs: 30 },
      { atMs: 50, lateMs: 10 },
      { atMs: 100, lateMs: 40 },
      { atMs: 100, lateMs: 20 },
    ])
  })

  test('stops a stream when write returns false', async () => {
    const clock = manualClock()
    let written = 0
    const write = () => {
      written++
      return false
    }
    createPacer({ clock, perSecond: 50, tokensPerWrite: 1 }).begin(write, texts(9), 9)
    await clock.advanceTo(1_000)
    expect(written).toBe(1)
  })
})

const two = Buffer.from('POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n{"a"GET /b HTTP/1.1\r\nhost: x\r\n\r\n')

function read(pieces: readonly Buffer[]) {
  const found: PlainRequest[] = []
  const push = readRequests(request => found.push(request))
  return { taken: pieces.every(push), found }
}

test('readRequests finds all requests of a connection, however the bytes are split', () => {
  const expected = [
    { method: 'POST', body: '{"a"' },
    { method: 'GET', body: '' },
  ]
  for (let at = 0; at <= two.length; at++)
    expect(read([two.subarray(0, at), two.subarray(at)])).toEqual({ taken: true, found: expected })
})

test.each([
  ['a body that is too long', 'POST /a HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n'],
  ['a head without an end', 'x'.repeat(1_100_000)],
])('readRequests rejects %s', (_, text) => {
  expect(read([Buffer.from(text)])).toEqual({ taken: false, found: [] })
})
