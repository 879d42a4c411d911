import { describe, expect, test } from 'vitest'
import { capacityFlags, serviceCapacity } from '../../../src/cli/service.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'

const mistakeIn = (values: Readonly<Record<string, unknown>>): string => {
  try {
    serviceCapacity(values)
  } catch (cause) {
    if (cause instanceof UsageError) return cause.message
    throw cause
  }
  return 'none'
}

describe('the capacity of the reference service', () => {
  test('is none without a flag', () => {
    expect(serviceCapacity({ spread: 'constant' })).toBeNull()
  })

  test('is slots and how long each is taken; as many may wait as are carried out', () => {
    expect(serviceCapacity({ slots: 4, 'service-time': '20ms' })).toEqual({
      slots: 4,
      serviceTimeMs: 20,
      spread: 'constant',
      queue: 4,
    })
  })

  test('is the same for a service that a run starts', () => {
    const plan = { slots: 3, serviceTimeMs: 12.5, spread: 'exponential', queue: 0 } as const
    const [, slots, , serviceTime, , spread, , queue] = capacityFlags(plan)
    const values = { slots: Number(slots), 'service-time': serviceTime, spread, queue: Number(queue) }
    expect(serviceCapacity(values)).toEqual(plan)
    expect(capacityFlags(null)).toEqual([])
  })

  test.each([
    [{ queue: 3 }, '--slots: got nothing'],
    [{ slots: 3 }, '--service-time: got nothing'],
    [{ slots: 3, 'service-time': '20' }, '--service-time: got "20"'],
    [{ slots: 3, 'service-time': '0ms' }, '--service-time: got "0ms"'],
    [{ slots: 0, 'service-time': '20ms' }, '--slots: got 0'],
    [{ slots: 1.5, 'service-time': '20ms' }, '--slots: got 1.5'],
    [{ slots: 1, 'service-time': '20ms', queue: -1 }, '--queue: got -1'],
  ])('%j is a mistake', (values, words) => {
    expect(mistakeIn(values)).toContain(words)
  })
})
