import { describe, expect, test } from 'vitest'
import { sleepUntil } from '../../../../src/lib/clock.ts'
import type { PushResult } from '../../../../src/outputs/remote-write/receiver.ts'
import { createSendQueue, type WriteBatch } from '../../../../src/outputs/remote-write/send-queue.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'

const batch = (text: string, samples = 1): WriteBatch => ({ body: Buffer.from(text), samples })
const accepted: PushResult = { kind: 'accepted' }
const later = (afterMs: number | null = null): PushResult => ({ kind: 'later', reason: 'status 503', afterMs })
const refused: PushResult = { kind: 'refused', reason: 'status 400: out of order' }

/** A queue whose receiver gives these responses in order, and then repeats the last one; each takes 10 ms. */
function open(replies: readonly PushResult[], maxBytes?: number) {
  const clock = manualClock()
  const posted: (readonly [text: string, atMs: number])[] = []
  const notes: string[] = []
  const queue = createSendQueue({
    clock,
    note: line => notes.push(line),
    post: async (body, signal) => {
      const reply = replies[Math.min(posted.length, replies.length - 1)] ?? accepted
      posted.push([Buffer.from(body).toString(), clock.nowMs()])
      await sleepUntil(clock, clock.nowMs() + 10, signal)
      return reply
    },
    ...(maxBytes === undefined ? {} : { maxBytes }),
  })
  return { clock, posted, notes, queue }
}

const never = new AbortController().signal

describe('send queue', () => {
  test('sends batches in order, without blocking put', async () => {
    const { clock, posted, notes, queue } = open([accepted])
    for (const text of ['a', 'b', 'c']) queue.put(batch(text))
    await clock.run(queue.flush(never))
    expect(posted).toEqual([
      ['a', 0],
      ['b', 10],
      ['c', 20],
    ])
    expect(queue.tally()).toEqual({ takenSamples: 3, lostSamples: 0, failures: 0 })
    expect(notes).toEqual([])
  })

  test('counts what an accepting receiver rejects as lost, notes it once, and does not retry', async () => {
    const partial: PushResult = { kind: 'partial', rejected: 2, reason: '2 rejected: too old' }
    const { clock, posted, notes, queue } = open([partial, partial, { ...partial, rejected: 99 }])
    for (const text of ['a', 'b', 'c']) queue.put(batch(text, 5))
    await clock.run(queue.flush(never))
    expect(posted.map(([text]) => text)).toEqual(['a', 'b', 'c'])
    expect(queue.tally()).toEqual({ takenSamples: 6, lostSamples: 9, failures: 0 })
    expect(notes).toEqual(['2 rejected: too old'])
  })

  test('retries a failed batch first, with increasing pauses', async () => {
    const { clock, posted, notes, queue } = open([later(), later(), later(), accepted])
    queue.put(batch('a'))
    queue.put(batch('b'))
    await clock.run(queue.flush(never))
    expect(posted).toEqual([
      ['a', 0],
      ['a', 260],
      ['a', 770],
      ['a', 1780],
      ['b', 1790],
    ])
    expect(queue.tally()).toEqual({ takenSamples: 2, lostSamples: 0, failures: 3 })
    expect(notes).toEqual(['status 503; trying again', 'taken again'])
  })

  test('retries an unavailable receiver at most every five seconds', async () => {
    const { clock, posted, queue } = open([later()])
    queue.put(batch('a'))
    await clock.advanceTo(60_000)
    expect(posted.length).toBeLessThan(20)
    expect((posted.at(-1)?.[1] ?? 0) - (posted.at(-2)?.[1] ?? 0)).toBe(5_010)
  })

  test('follows Retry-After, up to one minute', async () => {
    const { clock, posted, queue } = open([later(7_000), later(3_600_000), accepted])
    queue.put(batch('a'))
    await clock.run(queue.flush(never))
    expect(posted.map(([, atMs]) => atMs)).toEqual([0, 7_010, 67_020])
  })

  test('drops refused batches, notes this once, and continues', async () => {
    const { clock, posted, notes, queue } = open([refused, accepted, refused, accepted])
    for (const text of ['a', 'b', 'c', 'd']) queue.put(batch(text, 10))
    await clock.run(queue.flush(never))
    expect(posted.map(([text]) => text)).toEqual(['a', 'b', 'c', 'd'])
    expect(queue.tally()).toEqual({ takenSamples: 20, lostSamples: 20, failures: 2 })
    expect(notes).toEqual(['status 400: out of order; what is refused is not sent again'])
  })

  test('is bounded: the oldest batches are dropped, and the newest are sent later', async () => {
    const { clock, posted, queue } = open([later(), accepted], 3)
    for (const text of ['a', 'b', 'c', 'd', 'e']) queue.put(batch(text))
    await clock.run(queue.flush(never))
    expect(posted.map(([text]) => text)).toEqual(['a', 'a', 'c', 'd', 'e'])
    expect(queue.tally()).toEqual({ takenSamples: 4, lostSamples: 1, failures: 1 })
  })

  test('gives up on an abort, and counts the rest as lost', async () => {
    const { clock, posted, queue } = open([later()])
    for (const text of ['a', 'b', 'c']) queue.put(batch(text, 5))
    const over = new AbortController()
    clock.at(1_000, () => over.abort())
    await clock.run(queue.flush(over.signal))
    expect(clock.nowMs()).toBe(1_000)
    expect(posted.every(([text]) => text === 'a')).toBe(true)
    expect(queue.tally()).toMatchObject({ takenSamples: 0, lostSamples: 15 })
  })

  test('does not wait for a missing response after an abort', async () => {
    const clock = manualClock()
    const post = (_: Uint8Array, signal: AbortSignal) =>
      new Promise<PushResult>(resolve => signal.addEventListener('abort', () => resolve(later())))
    const queue = createSendQueue({ clock, post, note: () => {} })
    queue.put(batch('a'))
    const over = new AbortController()
    clock.at(1_000, () => over.abort())
    await clock.run(queue.flush(over.signal))
    expect(queue.tally()).toMatchObject({ takenSamples: 0, lostSamples: 1 })
  })
})
