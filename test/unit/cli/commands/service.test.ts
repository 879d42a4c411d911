import { describe, expect, test } from 'vitest'
import { serviceCapacity } from '../../../../src/cli/commands/service.ts'
import { UsageError } from '../../../../src/lib/usage-error.ts'
import { capacityFlags } from '../../../../src/library/child-process.ts'

const mistakeIn = (values: Readonly<Record<string, unknown>>): string => {
  try {
    serviceCapacity(values)
  } catch (cause) {
    if (cause instanceof UsageError) return cause.message
    throw cause
  }
  return 'none'
}

describe('serviceCapacity', () => {
  test('is null without a flag', () => {
    expect(serviceCapacity({ distribution: 'constant' })).toBeNull()
  })

  test('has a queue as long as the concurrency by default', () => {
    expect(serviceCapacity({ concurrency: 4, 'service-time': '20ms' })).toEqual({
      concurrency: 4,
      serviceTimeMs: 20,
      distribution: 'constant',
      queueLength: 4,
    })
  })

  test('reads the flags that capacityFlags writes', () => {
    const plan = { concurrency: 3, serviceTimeMs: 12.5, distribution: 'exponential', queueLength: 0 } as const
    const [, concurrency, , serviceTime, , distribution, , queueLength] = capacityFlags(plan)
    const values = {
      concurrency: Number(concurrency),
      'service-time': serviceTime,
      distribution,
      'queue-length': Number(queueLength),
    }
    expect(serviceCapacity(values)).toEqual(plan)
    expect(capacityFlags(null)).toEqual([])
  })

  test.each([
    [{ 'queue-length': 3 }, '--concurrency: got nothing'],
    [{ concurrency: 3 }, '--service-time: got nothing'],
    [{ concurrency: 3, 'service-time': '20' }, '--service-time: got "20"'],
    [{ concurrency: 3, 'service-time': '0ms' }, '--service-time: got "0ms"'],
    [{ concurrency: 0, 'service-time': '20ms' }, '--concurrency: got 0'],
    [{ concurrency: 1.5, 'service-time': '20ms' }, '--concurrency: got 1.5'],
    [{ concurrency: 1, 'service-time': '20ms', 'queue-length': -1 }, '--queue-length: got -1'],
  ])('refuses %j', (values, words) => {
    expect(mistakeIn(values)).toContain(words)
  })
})
