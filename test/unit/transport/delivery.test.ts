import { expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/lib/clock.ts'
import { createDelivery } from '../../../src/transport/delivery.ts'
import { undiciTransport } from '../../../src/transport/undici-transport.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { answering, ok, plainRequest } from './loopback.ts'

test('nothing is handed over before all that comes in the same instant has been read', async () => {
  const clock = manualClock()
  const deliver = createDelivery(clock)
  const seen: string[] = []
  for (let answer = 0; answer < 3; answer++) {
    seen.push(`read ${answer}`)
    deliver(() => seen.push(`handed ${answer}`))
  }
  await clock.advanceTo(0)
  expect(seen).toEqual(['read 0', 'read 1', 'read 2', 'handed 0', 'handed 1', 'handed 2'])
})

test('many are handed over in parts and in order, so that sockets are read in between', async () => {
  const clock = manualClock()
  const deliver = createDelivery(clock)
  const handed: number[] = []
  const found: number[] = []
  for (let answer = 0; answer < 40; answer++) deliver(() => handed.push(answer))
  const look = () => {
    found.push(handed.length)
    if (handed.length < 40) clock.at(0, look)
  }
  clock.at(0, look)
  await clock.advanceTo(0)
  expect(handed).toEqual(Array.from({ length: 40 }, (_, answer) => answer))
  expect(found).toEqual([16, 32, 40])
})

test('what is handed over may bring forth more', async () => {
  const clock = manualClock()
  const deliver = createDelivery(clock)
  const handed: number[] = []
  const next = (answer: number) => {
    handed.push(answer)
    if (answer < 50) deliver(() => next(answer + 1))
  }
  deliver(() => next(0))
  await clock.advanceTo(0)
  expect(handed).toHaveLength(51)
})

test('the transport stamps an answer when it has come, and hands it over afterwards', async () => {
  const wakes: (() => void)[] = []
  let called = () => {}
  const isRead = new Promise<void>(resolve => {
    called = resolve
  })
  const clock: Clock = {
    ...systemClock(),
    atPrecisely: (_, wake) => {
      wakes.push(wake)
      called()
      return () => {}
    },
  }
  const { url } = await answering(ok('{}'))
  const { send, close } = undiciTransport({ baseUrl: url, clock, maxConnections: 1 })
  onTestFinished(close)
  let handedMs = 0
  const handed = send(plainRequest, new AbortController().signal).then(({ endMs }) => {
    handedMs = clock.nowMs()
    return endMs
  })
  await isRead
  expect(handedMs).toBe(0)
  for (const wake of wakes) wake()
  expect(await handed).toBeLessThan(handedMs)
})
