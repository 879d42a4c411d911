import { describe, expect, test } from 'vitest'
import { acquitted, judge, shortTimes, verdictOn } from './judged.ts'
import { options, randomVariant } from './service/variant.ts'

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
    const judged = await judge({ changes: { limiter }, scenario, profile: 'prices', settings: shortTimes })
    expect(verdictOn(judged)).toEqual(acquitted)
  })

  test.each(seeds.slice(0, 3))('combination %i', async seed => {
    const changes = randomVariant(100 + seed, 0.3)
    const judged = await judge({ changes, scenario: 'test/honest/windows.yaml', profile: 'none', settings: shortTimes })
    expect(verdictOn(judged), JSON.stringify(changes)).toEqual(acquitted)
  })
})
