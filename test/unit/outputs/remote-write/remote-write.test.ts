import { describe, expect, test } from 'vitest'
import type { SeriesSample } from '../../../../src/outputs/remote-write/encoder.ts'
import type { PushResult } from '../../../../src/outputs/remote-write/receiver.ts'
import { startRemoteWriteLoop } from '../../../../src/outputs/remote-write/remote-write.ts'
import { createSendQueue } from '../../../../src/outputs/remote-write/send-queue.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import { type ReadSeries, readWriteRequest } from '../../../support/read-write-request.ts'

const never = new AbortController().signal
const wallMs = Date.UTC(2026, 0, 15, 12)

/** A run whose only series counts its reads. */
function begin({ response = (): PushResult => ({ kind: 'accepted' }), read = (n: number) => n, replyMs = 0 } = {}) {
  const clock = manualClock(wallMs)
  const taken: ReadSeries[] = []
  const notes: string[] = []
  let reads = 0
  const note = (line: string) => void notes.push(line)
  const post = async (body: Uint8Array) => {
    await new Promise<void>(resolve => clock.at(clock.nowMs() + replyMs, resolve))
    const reply = response()
    if (reply.kind === 'accepted') taken.push(...readWriteRequest(body))
    return reply
  }
  const queue = createSendQueue({ clock, post, note })
  const samples = async (): Promise<readonly (readonly SeriesSample[])[]> => [
    [{ name: 'n', labels: {}, value: read(++reads) }],
  ]
  const identity = { job: 'turnpike', instance: 'r1' }
  const loop = startRemoteWriteLoop({ clock, queue, samples, processSamples: async () => [], identity, note })
  const values = () =>
    taken.flatMap(({ samples }) => samples.map(({ value, isStale, atMs }) => [isStale ? 'end' : value, atMs - wallMs]))
  return { clock, queue, loop, notes, values, taken }
}

describe('the metrics of a run', () => {
  test('are written every two seconds, once more at the end, and then marked as stale', async () => {
    const { clock, loop, values, taken } = begin()
    await clock.advanceTo(5_000)
    const last: SeriesSample = { name: 'turnpike_last_run_verdict', labels: { verdict: 'pass' }, value: 1 }
    await clock.run(loop.finish([[last]], never))
    expect(values()).toEqual([
      [1, 0],
      [2, 2_000],
      [3, 4_000],
      [4, 5_000],
      [1, 5_000],
      ['end', 5_001],
      ['end', 5_001],
    ])
    expect(taken.at(-1)?.labels).toContainEqual(['__name__', 'turnpike_last_run_verdict'])
    await clock.advanceTo(60_000)
    expect(values()).toHaveLength(7)
  })

  test('are written on time, and in order, while a receiver is down or slow', async () => {
    let isUp = false
    const { clock, loop, values, notes } = begin({
      response: () => (isUp ? { kind: 'accepted' } : { kind: 'later', reason: 'connect-refused', afterMs: null }),
      replyMs: 700,
    })
    await clock.advanceTo(9_000)
    expect(values()).toEqual([])
    isUp = true
    await clock.run(loop.finish([], never))
    expect(values().slice(0, -1)).toEqual([
      [1, 0],
      [2, 2_000],
      [3, 4_000],
      [4, 6_000],
      [5, 8_000],
      [6, 9_000],
    ])
    expect(values().at(-1)).toEqual(['end', 9_001])
    expect(notes).toEqual(['connect-refused; trying again', 'taken again'])
  })

  test('are lost after a time limit if the receiver never responds', async () => {
    const { clock, loop, queue } = begin({
      response: () => ({ kind: 'later', reason: 'status 503', afterMs: 3_600_000 }),
    })
    await clock.advanceTo(3_000)
    const over = new AbortController()
    clock.at(13_000, () => over.abort())
    await clock.run(loop.finish([], over.signal))
    expect(clock.nowMs()).toBe(13_000)
    expect(queue.tally()).toMatchObject({ takenSamples: 0, lostSamples: 4 })
  })

  test('cause a note if they cannot be read, and the run continues', async () => {
    const { clock, loop, values, notes } = begin({
      read: n => {
        if (n === 2) throw new Error('broken')
        return n
      },
    })
    await clock.advanceTo(5_000)
    await clock.run(loop.finish([], never))
    expect(notes).toEqual(['one write was skipped: Error: broken'])
    expect(values().map(([value]) => value)).toEqual([1, 3, 4, 'end'])
  })

  test('are not sent after a stop', async () => {
    const { clock, loop, values } = begin()
    await clock.advanceTo(1_000)
    loop.stop()
    await clock.advanceTo(60_000)
    expect(values()).toEqual([[1, 0]])
  })
})
