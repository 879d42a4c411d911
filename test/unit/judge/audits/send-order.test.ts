import { describe, expect, test } from 'vitest'
import { createSendOrder } from '../../../../src/judge/audits/send-order.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { ReplayRole } from '../../../../src/observation/requests/traits.ts'
import { observed, singleDescriptor } from '../checks/observed.ts'

type Released = { readonly id: number; readonly watermarkMs: number }

function sequence(queueLimit?: number) {
  const released: Released[] = []
  const sendOrder = createSendOrder(({ id }, watermarkMs) => released.push({ id, watermarkMs }), queueLimit)
  return { ...sendOrder, released, requestIds: () => released.map(({ id }) => id) }
}

const at = (id: number, sentMs: number | null, role: ReplayRole['role'] = 'original', group = id): Observation =>
  observed({ ...singleDescriptor, replay: { group, role, concurrent: false } }, null, {
    id,
    sentMs,
    dueMs: sentMs ?? id,
  })

describe('the send order', () => {
  test('passes observations on in the order of their numbers, whatever order they end in', () => {
    const { add, requestIds } = sequence()
    for (const id of [2, 0, 1, 4, 3]) add(at(id, id * 10))
    expect(requestIds()).toEqual([0, 1, 2, 3, 4])
  })

  test('holds observations after a missing one until the end', () => {
    const { add, flush, requestIds } = sequence()
    for (const id of [0, 2, 3]) add(at(id, id * 10))
    expect(requestIds()).toEqual([0])
    flush()
    expect(requestIds()).toEqual([0, 2, 3])
  })

  test('its watermark follows the first requests of arrivals, not the later requests of a replay', () => {
    const { add, released } = sequence()
    add(at(0, 10))
    add(at(1, 500, 'duplicate', 0))
    add(at(2, 20))
    expect(released.map(({ watermarkMs }) => watermarkMs)).toEqual([10, 10, 20])
  })

  test('its watermark is no later than the sending of what is still to come, though a request waits to be signed', () => {
    const { add, released } = sequence()
    add({ ...at(0, 90), dueMs: 10 })
    add({ ...at(1, 30), dueMs: 20 })
    add({ ...at(2, 35, 'duplicate', 1), dueMs: 20 })
    add(at(3, 40))
    expect(released.map(({ watermarkMs }) => watermarkMs)).toEqual([10, 20, 20, 40])
  })

  test('counts an unsent request with its due time', () => {
    const { add, released } = sequence()
    add(at(0, 10))
    add({ ...at(1, null), dueMs: 30, outcome: { kind: 'dropped', reason: 'max-in-flight' } })
    expect(released.at(-1)).toEqual({ id: 1, watermarkMs: 30 })
  })

  test('passes on when too many wait, and its watermark stays at the due time before the missing one', () => {
    const { add, released } = sequence(3)
    for (const id of [0, 2, 3, 4, 5]) add(at(id, id * 10))
    expect(released).toEqual([
      { id: 0, watermarkMs: 0 },
      { id: 2, watermarkMs: 0 },
      { id: 3, watermarkMs: 0 },
      { id: 4, watermarkMs: 0 },
      { id: 5, watermarkMs: 0 },
    ])
    add(at(6, 60))
    add(at(1, 10))
    expect(released.slice(-2)).toEqual([
      { id: 6, watermarkMs: 0 },
      { id: 1, watermarkMs: 60 },
    ])
  })

  test('a missing number leaves the watermark at the first gap that is still open', () => {
    const { add, released } = sequence(2)
    for (const id of [0, 2, 3, 5, 6, 7]) add(at(id, id * 10))
    add(at(4, 40))
    expect(released.at(-1)).toEqual({ id: 4, watermarkMs: 0 })
    add(at(1, 10))
    expect(released.at(-1)).toEqual({ id: 1, watermarkMs: 70 })
  })

  test('with a small queue and slow requests, passes each on once and nothing sent before its watermark', () => {
    for (let seed = 0; seed < 30; seed++) {
      const random = randomStream(seed, 'sendOrder')
      const ends = Array.from({ length: 2000 }, (_, id) => ({
        id,
        endMs: id + (random.next() < 0.01 ? random.int(1500) : random.int(20)),
      }))
      const sent = new Map(ends.map(({ id }) => [id, id]))
      const { add, flush, released } = sequence(16)
      for (const { id } of ends.toSorted((a, b) => a.endMs - b.endMs)) add(at(id, sent.get(id) ?? 0))
      flush()
      expect(released.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([...sent.keys()])
      let watermarkMs = 0
      for (const each of released) {
        expect(sent.get(each.id)).toBeGreaterThanOrEqual(watermarkMs)
        watermarkMs = Math.max(watermarkMs, each.watermarkMs)
      }
    }
  })
})
