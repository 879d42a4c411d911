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
    expect(serviceCapacity({ distribution: 'constant' })).toBeNull()
  })

  test('is slots and how long each is taken; as many may wait as are carried out', () => {
    expect(serviceCapacity({ concurrency: 4, 'service-time': '20ms' })).toEqual({
      concurrency: 4,
      serviceTimeMs: 20,
      distribution: 'constant',
      queueLength: 4,
    })
  })

  test('is the same for a service that a run starts', () => {
    const plan = { concurrency: 3, serviceTimeMs: 12.5, distribution: 'exponential', queueLength: 0 } as const
    const [, concurrency, , serviceTime, , distribution, , queueLength] = capacityFlags(plan)
    const values = {
      concurrency: Number(concurrency),
      'service-time': serviceTime,
      distribution,
      queueLength: Number(queueLength),
    }
    expect(serviceCapacity(values)).toEqual(plan)
    expect(capacityFlags(null)).toEqual([])
  })

  test.each([
    [{ queueLength: 3 }, '--concurrency: got nothing'],
    [{ concurrency: 3 }, '--service-time: got nothing'],
    [{ concurrency: 3, 'service-time': '20' }, '--service-time: got "20"'],
    [{ concurrency: 3, 'service-time': '0ms' }, '--service-time: got "0ms"'],
    [{ concurrency: 0, 'service-time': '20ms' }, '--concurrency: got 0'],
    [{ concurrency: 1.5, 'service-time': '20ms' }, '--concurrency: got 1.5'],
    [{ concurrency: 1, 'service-time': '20ms', queueLength: -1 }, '--queue-length: got -1'],
  ])('%j is a mistake', (values, words) => {
    expect(mistakeIn(values)).toContain(words)
  })
})
