import { describe, expect, test } from 'vitest'
import type { CapacityResult } from '../../../src/metrics/capacity-result.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import { judgeThresholds } from '../../../src/metrics/thresholds.ts'
import { parseThreshold } from '../../../src/scenario/threshold.ts'
import { aSearch } from '../report/capacity-results.ts'
import { aPlan } from './fixtures.ts'

function judge(expression: string, result: Partial<CapacityResult>) {
  const parsed = parseThreshold(expression, ['chat', 'rpc'], ['search'])
  if (!('measure' in parsed)) throw new Error(JSON.stringify(parsed))
  const totals = { violations: 0, discrepancies: 0, unexpected429: 0, credits: 0n, picoUsd: 0n, eventLoopDelayMs: null }
  const [judged] = judgeThresholds([{ expression, why: '', ...parsed }], createMetrics(aPlan()), {
    ...totals,
    capacity: [aSearch(result)],
    complete: true,
    elapsedMs: 60_000,
  })
  return [judged?.verdict, judged?.value]
}

const found = { status: 'found', perSecond: 80 } as const
const unreached = { status: 'not-reached', perSecond: 180 } as const
const below = { status: 'below-lowest', perSecond: null, fromPerSecond: 40 } as const

describe('a threshold on a capacity', () => {
  test('is about what was confirmed', () => {
    expect(judge('capacity in search >= 80/s', found)).toEqual(['pass', 80])
    expect(judge('capacity in search > 80/s', found)).toEqual(['fail', 80])
  })

  test('of one call is about its share of the mix', () => {
    expect(judge('capacity of chat in search >= 60/s', found)).toEqual(['pass', 60])
    expect(judge('capacity of rpc in search >= 60/s', found)).toEqual(['fail', 20])
  })

  test('is decided by the highest rate that was tried where that alone decides it', () => {
    expect(judge('capacity in search >= 150/s', unreached)).toEqual(['pass', 180])
    expect(judge('capacity in search < 150/s', unreached)).toEqual(['fail', 180])
    expect(judge('capacity in search >= 200/s', unreached)).toEqual(['inconclusive', 180])
  })

  test('fails where not even the lowest rate held and that is less than it asks for', () => {
    expect(judge('capacity in search >= 40/s', below)).toEqual(['fail', 0])
    expect(judge('capacity of chat in search >= 30/s', below)).toEqual(['fail', 0])
    expect(judge('capacity in search >= 39/s', below)).toEqual(['inconclusive', 0])
  })

  test.each(['limited-by-tier', 'harness-limited', 'inconclusive'] as const)(
    'is open after a search that was %s',
    status => {
      expect(judge('capacity in search >= 1/s', { status, perSecond: null })).toEqual(['inconclusive', null])
    },
  )
})
