import { describe, expect, test } from 'vitest'
import { todays } from '../support/nightly.ts'
import { objections, shortTimes } from './judged.ts'
import { options, randomVariant, type Variant } from './service/variant.ts'

const seeds = Array.from({ length: 600 }, (_, index) => index + 1)

/** Without a price list, the public base credits hold. */
const profileFor = (seed: number, { baseCredits }: Partial<Variant>) =>
  seed % 2 === 0 || baseCredits === 'own' ? 'prices' : 'none'

describe('no combination of readings is accused', () => {
  test.each(todays(seeds, 30))('combination %i', async seed => {
    const changes = randomVariant(seed, 0.3)
    const profile = profileFor(seed, changes)
    expect(
      await objections({ changes, scenario: 'test/honest/everyday.yaml', profile }),
      JSON.stringify(changes),
    ).toEqual([])
  })
})

describe('no limiter is accused when its windows end', () => {
  const scenario = 'test/honest/windows.yaml'

  test.each(options.limiter)('%s', async limiter => {
    expect(await objections({ changes: { limiter }, scenario, profile: 'prices', settings: shortTimes })).toEqual([])
  })

  // Each limiter in turn.
  const ofLimiters = options.limiter.flatMap(limiter => seeds.slice(0, 30).map(seed => ({ limiter, seed })))
  test.each(todays(ofLimiters, 20))('$limiter, combination $seed', async ({ limiter, seed }) => {
    const changes = { ...randomVariant(100 + seed, 0.3), limiter }
    const profile = profileFor(seed, changes)
    expect(await objections({ changes, scenario, profile, settings: shortTimes }), JSON.stringify(changes)).toEqual([])
  })
})
