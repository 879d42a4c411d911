import { expect, test } from 'vitest'
import { randomStream } from '../../../../src/lib/random.ts'
import { createBudget, createSharedBudget } from '../../../../src/produce/drivers/budget.ts'

const maxCosts = new Map([
  ['large', 6n],
  ['small', 1n],
])

test('a budget covers what is neither charged nor reserved', () => {
  const budget = createBudget(10n, maxCosts, createSharedBudget())
  expect(budget.reserve('large')).toBe(true)
  expect(budget.reserve('large')).toBe(false)
  budget.charge('large', 2n)
  budget.release('large')
  expect(budget.reserve('large')).toBe(true)
  expect([budget.reserve('small'), budget.reserve('small'), budget.reserve('small')]).toEqual([true, true, false])
})

test('an unknown charge counts as the maximum cost', () => {
  const budget = createBudget(10n, maxCosts, createSharedBudget())
  budget.charge('large', null)
  expect(budget.reserve('large')).toBe(false)
})

test('a call without a maximum cost is free, even if nothing is left', () => {
  expect(createBudget(0n, maxCosts, createSharedBudget()).reserve('models')).toBe(true)
})

test('spending never exceeds the limit, for any order in which arrivals end', () => {
  const costs = new Map(Array.from({ length: 60 }, (_, cost) => [`${cost}`, BigInt(cost)]))
  for (let seed = 0; seed < 50; seed++) {
    const random = randomStream(seed, 'budget')
    const budget = createBudget(1_000n, costs, createSharedBudget())
    const inFlight: number[] = []
    let spent = 0
    for (let step = 0; step < 500; step++) {
      const cost = random.int(60)
      if (random.next() < 0.6 && budget.reserve(`${cost}`)) inFlight.push(cost)
      const [ended] = random.next() < 0.5 ? inFlight.splice(random.int(inFlight.length), 1) : []
      if (ended === undefined) continue
      const actual = random.int(ended + 1)
      budget.charge(`${ended}`, BigInt(actual))
      budget.release(`${ended}`)
      spent += actual
    }
    for (const rest of inFlight) spent += rest
    expect(spent).toBeLessThanOrEqual(1_000)
  }
})

test('budgets that share a sum together cover as much as one of them', () => {
  const sum = createSharedBudget()
  const budgets = [0, 1, 2].map(() => createBudget(10n, new Map([['call', 3n]]), sum))
  const taken = Array.from({ length: 9 }, (_, turn) => budgets[turn % 3]?.reserve('call'))
  expect(taken.filter(Boolean)).toHaveLength(3)
  budgets[0]?.charge('call', 1n)
  budgets[0]?.release('call')
  expect(budgets[2]?.reserve('call')).toBe(true)
  expect(budgets[1]?.reserve('call')).toBe(false)
})

test('a budget that was charged more than 64 bits hold never covers anything again', () => {
  const budget = createBudget(10n, new Map([['call', 1n]]), createSharedBudget())
  budget.charge('call', 2n ** 70n)
  expect(budget.reserve('call')).toBe(false)
})
