import { describe, expect, test } from 'vitest'
import { createServerClock } from '../../../src/audits/server-clock.ts'
import { randomStream } from '../../../src/lib/random.ts'
import { answerOf, startedAtMs } from '../checks/observed.ts'

const stamped = (sentMs: number, headersMs: number, unixMs: number | null) => ({
  sentMs,
  headersMs,
  answer: answerOf(200, {}, { date: unixMs === null ? 'soon' : new Date(unixMs).toUTCString() }),
})

describe("the target's clock", () => {
  test('is anything within ten seconds as long as no Date was seen', () => {
    const { add, offset } = createServerClock(startedAtMs)
    add(stamped(0, 10, null))
    expect(offset()).toEqual({ least: -10_000, most: 10_000 })
  })

  test('is bounded by the sending of a request and the arrival of its headers', () => {
    const { add, offset } = createServerClock(startedAtMs)
    add(stamped(400, 600, startedAtMs + 3000))
    expect(offset()).toEqual({ least: 2400, most: 4100 })
  })

  test('is within its bounds whatever the offset, and they narrow to the latency and the grain of the stamps', () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = randomStream(seed, 'clock')
      const ahead = random.int(6001) - 3000
      const { add, offset } = createServerClock(startedAtMs)
      for (let sentMs = 0; sentMs < 20_000; sentMs += 97) {
        const [there, back] = [random.int(80), random.int(80)]
        const stampMs = Math.floor((startedAtMs + sentMs + there + ahead) / 1000) * 1000
        add(stamped(sentMs, sentMs + there + back, stampMs))
        expect(offset().least).toBeLessThanOrEqual(ahead)
        expect(offset().most).toBeGreaterThanOrEqual(ahead)
      }
      expect(offset().most - offset().least).toBeLessThan(900)
    }
  })

  test('may drift by two seconds in eight hours', () => {
    const { add, offset } = createServerClock(startedAtMs)
    for (let sentMs = 0; sentMs < 8 * 3_600_000; sentMs += 9_970) {
      const ahead = (sentMs / (8 * 3_600_000)) * 2000
      add(stamped(sentMs, sentMs + 50, Math.floor((startedAtMs + sentMs + 20 + ahead) / 1000) * 1000))
      expect(offset().least).toBeLessThanOrEqual(ahead)
      expect(offset().most).toBeGreaterThanOrEqual(ahead)
    }
  })

  test('may be stepped by three seconds: then it stands as before or as after the step', () => {
    const { add, offset } = createServerClock(startedAtMs)
    for (let sentMs = 0; sentMs < 20_000; sentMs += 170) {
      const ahead = sentMs < 10_000 ? 0 : 3000
      add(stamped(sentMs, sentMs + 30, Math.floor((startedAtMs + sentMs + 15 + ahead) / 1000) * 1000))
    }
    expect(offset().least).toBeLessThanOrEqual(0)
    expect(offset().most).toBeGreaterThanOrEqual(3000)
  })
})
