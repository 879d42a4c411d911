import { describe, expect, test } from 'vitest'
import { acquitted, judge, shortTimes, verdictOn } from './judged.ts'
import { options, randomVariant, type Variant } from './service/variant.ts'

/** More of them by hand: `TURNPIKE_COMBINATIONS=200`. */
const combinations = Number(process.env.TURNPIKE_COMBINATIONS ?? 20)
const seeds = Array.from({ length: combinations }, (_, index) => index + 1)

/** Without a price list, the public base credits hold. */
const profileFor = (seed: number, { baseCredits }: Partial<Variant>) =>
  seed % 2 === 0 || baseCredits === 'own' ? 'prices' : 'none'

describe.concurrent('no combination of readings is accused', () => {
  test.each(seeds)('combination %i', async seed => {
    const changes = randomVariant(seed, 0.3)
    const profile = profileFor(seed, changes)
    const judged = await judge({ changes, scenario: 'test/honest/everyday.yaml', profile })
    expect(verdictOn(judged), JSON.stringify(changes)).toEqual(acquitted)
  })
})

describe.concurrent('no limiter is accused when its windows end', () => {
  const scenario = 'test/honest/windows.yaml'

  test.each(options.limiter)('%s', async limiter => {
    const judged = await judge({ changes: { limiter }, scenario, profile: 'prices', settings: shortTimes })
    expect(verdictOn(judged)).toEqual(acquitted)
  })

  // Each limiter in turn.
  const ofLimiters = options.limiter.flatMap(limiter =>
    seeds.slice(0, combinations / 20).map(seed => ({ limiter, seed })),
  )
  test.each(ofLimiters)('$limiter, combination $seed', async ({ limiter, seed }) => {
    const changes = { ...randomVariant(100 + seed, 0.3), limiter }
    const profile = profileFor(seed, changes)
    const judged = await judge({ changes, scenario, profile, settings: shortTimes })
    expect(verdictOn(judged), JSON.stringify(changes)).toEqual(acquitted)
  })
})
