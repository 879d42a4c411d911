import { describe, expect, test } from 'vitest'
import { acquitted, judge, verdictOn } from './judged.ts'
import { options, randomVariant } from './service/variant.ts'

/** Windows of seconds, so that a run sees them end. */
const settings = { windowMs: 5000, failureWindowMs: 5000, blockMs: 5000, keptMs: 3000, tokensOfM: 600 }

const seeds = Array.from({ length: 20 }, (_, index) => index + 1)

describe.concurrent('no combination of readings is accused', () => {
  test.each(seeds)('combination %i', async seed => {
    const changes = randomVariant(seed, 0.3)
    const profile = seed % 2 === 0 ? 'prices' : 'none'
    const judged = await judge({ changes, scenario: 'test/honest/everyday.yaml', profile })
    expect(verdictOn(judged), JSON.stringify(changes)).toEqual(acquitted)
  })
})

describe.concurrent('no limiter is accused when its windows end', () => {
  test.each(options.limiter)('%s', async limiter => {
    const scenario = 'test/honest/windows.yaml'
    const judged = await judge({ changes: { limiter }, scenario, profile: 'prices', settings })
    expect(verdictOn(judged)).toEqual(acquitted)
  })

  test.each(seeds.slice(0, 3))('combination %i', async seed => {
    const changes = randomVariant(100 + seed, 0.3)
    const judged = await judge({ changes, scenario: 'test/honest/windows.yaml', profile: 'none', settings })
    expect(verdictOn(judged), JSON.stringify(changes)).toEqual(acquitted)
  })
})
