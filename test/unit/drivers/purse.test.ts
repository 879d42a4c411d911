import { expect, test } from 'vitest'
import { createPurse } from '../../../src/drivers/purse.ts'
import { randomStream } from '../../../src/lib/random.ts'

test('a purse holds what is left beside what is put aside', () => {
  const purse = createPurse(10n)
  expect(purse.reserve(6n)).toBe(true)
  expect(purse.reserve(5n)).toBe(false)
  purse.spend(2n)
  purse.release(6n)
  expect(purse.reserve(8n)).toBe(true)
  expect(purse.reserve(1n)).toBe(false)
})

test('a purse without a limit holds everything', () => {
  expect(createPurse(null).reserve(10n ** 30n)).toBe(true)
})

test('spending never exceeds the limit, in whatever order arrivals end', () => {
  for (let seed = 0; seed < 50; seed++) {
    const random = randomStream(seed, 'purse')
    const purse = createPurse(1_000n)
    const underWay: bigint[] = []
    let spent = 0n
    for (let step = 0; step < 500; step++) {
      const worst = BigInt(random.int(60))
      if (random.next() < 0.6 && purse.reserve(worst)) underWay.push(worst)
      const [ended] = random.next() < 0.5 ? underWay.splice(random.int(underWay.length), 1) : []
      if (ended === undefined) continue
      const actual = BigInt(random.int(Number(ended) + 1))
      purse.spend(actual)
      purse.release(ended)
      spent += actual
    }
    for (const rest of underWay) spent += rest
    expect(spent).toBeLessThanOrEqual(1_000n)
  }
})
