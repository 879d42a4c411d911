import { expect, test } from 'vitest'
import { createPurse, newPurseSum } from '../../../src/drivers/purse.ts'
import { randomStream } from '../../../src/lib/random.ts'

const worst = new Map([
  ['large', 6n],
  ['small', 1n],
])

test('a purse holds what is left beside what is put aside', () => {
  const purse = createPurse(10n, worst)
  expect(purse.reserve('large')).toBe(true)
  expect(purse.reserve('large')).toBe(false)
  purse.spend('large', 2n)
  purse.release('large')
  expect(purse.reserve('large')).toBe(true)
  expect([purse.reserve('small'), purse.reserve('small'), purse.reserve('small')]).toEqual([true, true, false])
})

test('what did not say its cost has cost the worst', () => {
  const purse = createPurse(10n, worst)
  purse.spend('large', null)
  expect(purse.reserve('large')).toBe(false)
})

test('what has no worst case is free, and a purse without a limit holds everything', () => {
  expect(createPurse(0n, worst).reserve('models')).toBe(true)
  expect(createPurse(null, new Map([['dear', 10n ** 30n]])).reserve('dear')).toBe(true)
})

test('spending never exceeds the limit, in whatever order arrivals end', () => {
  const costs = new Map(Array.from({ length: 60 }, (_, cost) => [`${cost}`, BigInt(cost)]))
  for (let seed = 0; seed < 50; seed++) {
    const random = randomStream(seed, 'purse')
    const purse = createPurse(1_000n, costs)
    const underWay: number[] = []
    let spent = 0
    for (let step = 0; step < 500; step++) {
      const cost = random.int(60)
      if (random.next() < 0.6 && purse.reserve(`${cost}`)) underWay.push(cost)
      const [ended] = random.next() < 0.5 ? underWay.splice(random.int(underWay.length), 1) : []
      if (ended === undefined) continue
      const actual = random.int(ended + 1)
      purse.spend(`${ended}`, BigInt(actual))
      purse.release(`${ended}`)
      spent += actual
    }
    for (const rest of underWay) spent += rest
    expect(spent).toBeLessThanOrEqual(1_000)
  }
})

test('purses that share a sum hold together what one of them would', () => {
  const sum = newPurseSum()
  const purses = [0, 1, 2].map(() => createPurse(10n, new Map([['call', 3n]]), sum))
  const taken = Array.from({ length: 9 }, (_, turn) => purses[turn % 3]?.reserve('call'))
  expect(taken.filter(Boolean)).toHaveLength(3)
  purses[0]?.spend('call', 1n)
  purses[0]?.release('call')
  expect(purses[2]?.reserve('call')).toBe(true)
  expect(purses[1]?.reserve('call')).toBe(false)
})

test('a purse that was charged more than any number holds is empty for good', () => {
  const purse = createPurse(10n, new Map([['call', 1n]]))
  purse.spend('call', 2n ** 70n)
  expect(purse.reserve('call')).toBe(false)
})
