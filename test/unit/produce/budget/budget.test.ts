import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../../src/lib/random.ts'
import type { Spend } from '../../../../src/produce/budget/account-spend.ts'
import { type Budget, type BudgetTerms, createBudget, type Reservation } from '../../../../src/produce/budget/budget.ts'
import {
  createSharedBudget,
  releasePayment,
  reservePayment,
  spentOf,
} from '../../../../src/produce/budget/shared-budget.ts'

const maxCosts = new Map(
  Object.entries({ large: 6n, small: 1n }).map(([name, cost]) => [name, { arrival: cost, request: cost }]),
)
const terms = (limit: bigint, costs: BudgetTerms['maxCosts'] = maxCosts): BudgetTerms => ({
  limit,
  maxCosts: costs,
  settleMs: 1_000,
  resolution: 0n,
})
const noBalance = [null, null, null]
const cost = (amount: bigint, more: Partial<Spend> = {}): Spend => ({
  sentMs: 0,
  cost: amount,
  isUnknown: false,
  isUnanswered: false,
  balances: noBalance,
  ...more,
})
const unknown = (more: Partial<Spend> = {}) => cost(0n, { isUnknown: true, ...more })

/** Reserves, or fails the test. */
function reserved(budget: Budget, call: string, account = 'c0'): Reservation {
  const reservation = budget.reserve(call, account)
  if (reservation === null) throw new Error(`the budget does not cover ${call}`)
  return reservation
}

/** Sends a request that ends at once. */
function spend(budget: Budget, call: string, amount: Spend, account = 'c0', nowMs = 0): void {
  const reservation = reserved(budget, call, account)
  budget.charge(reservation, account, amount)
  budget.release(reservation, nowMs)
}

test('a budget covers what is neither charged nor reserved', () => {
  const budget = createBudget(terms(10n), createSharedBudget())
  const first = reserved(budget, 'large')
  expect(budget.reserve('large', 'c0')).toBeNull()
  budget.charge(first, 'c0', cost(2n))
  budget.release(first, 10)
  reserved(budget, 'large')
  reserved(budget, 'small')
  reserved(budget, 'small')
  expect(budget.reserve('small', 'c1')).toBeNull()
  expect(budget.isExceeded()).toBe(false)
})

test('an unknown charge counts as the maximum cost, and a higher claim as that', () => {
  const budget = createBudget(terms(10n), createSharedBudget())
  spend(budget, 'large', unknown())
  expect(budget.reserve('large', 'c0')).toBeNull()
  const other = createBudget(terms(10n), createSharedBudget())
  spend(other, 'large', unknown({ cost: 10n }))
  expect(other.reserve('small', 'c0')).toBeNull()
})

test('a call without a maximum cost is free, even if nothing is left', () => {
  expect(createBudget(terms(0n), createSharedBudget()).reserve('models', 'c0')).not.toBeNull()
})

test('spending never exceeds the limit, for any order in which arrivals end', () => {
  const costs = new Map(
    Array.from({ length: 60 }, (_, of) => [`${of}`, { arrival: BigInt(of), request: BigInt(of) }] as const),
  )
  for (let seed = 0; seed < 50; seed++) {
    const random = randomStream(seed, 'budget')
    const budget = createBudget(terms(1_000n, costs), createSharedBudget())
    const inFlight: { readonly max: number; readonly reservation: Reservation }[] = []
    let spent = 0
    for (let step = 0; step < 500; step++) {
      const max = random.int(60)
      const reservation = random.next() < 0.6 ? budget.reserve(`${max}`, `c${random.int(3)}`) : null
      if (reservation !== null) inFlight.push({ max, reservation })
      const [ended] = random.next() < 0.5 ? inFlight.splice(random.int(inFlight.length), 1) : []
      if (ended === undefined) continue
      const actual = random.int(ended.max + 1)
      budget.charge(ended.reservation, ended.reservation.account, cost(BigInt(actual)))
      budget.release(ended.reservation, step)
      spent += actual
    }
    for (const rest of inFlight) spent += rest.max
    expect(spent).toBeLessThanOrEqual(1_000)
  }
})

test('budgets that share a sum together cover as much as one of them', () => {
  const sum = createSharedBudget()
  const costs = new Map([['call', { arrival: 3n, request: 3n }]])
  const budgets = [0, 1, 2].map(() => createBudget(terms(10n, costs), sum))
  const taken = Array.from({ length: 9 }, (_, turn) => budgets[turn % 3]?.reserve('call', `c${turn % 3}`))
  const [first] = taken
  expect(taken.filter(reservation => reservation !== null)).toHaveLength(3)
  if (!first) throw new Error('the budget covers one call')
  budgets[0]?.charge(first, 'c0', cost(1n))
  budgets[0]?.release(first, 10)
  expect(budgets[2]?.reserve('call', 'c2')).not.toBeNull()
  expect(budgets[1]?.reserve('call', 'c1')).toBeNull()
})

test('a budget that was charged more than 64 bits hold never covers anything again', () => {
  const budget = createBudget(terms(10n), createSharedBudget())
  spend(budget, 'small', cost(2n ** 70n))
  expect(budget.isExceeded()).toBe(true)
  expect(budget.reserve('small', 'c0')).toBeNull()
})

test('a call that has cost more than its maximum reserves that much from then on', () => {
  const sum = createSharedBudget()
  const budget = createBudget(terms(100n), sum)
  spend(budget, 'small', cost(40n))
  expect(spentOf(sum)).toBe(40n)
  reserved(budget, 'small')
  expect(spentOf(sum)).toBe(80n)
  expect(budget.reserve('small', 'c0')).toBeNull()
})

test('an arrival of several requests reserves them all, and each unknown charge counts once', () => {
  const sum = createSharedBudget()
  const budget = createBudget(terms(100n, new Map([['replay', { arrival: 9n, request: 3n }]])), sum)
  const replay = reserved(budget, 'replay')
  expect(spentOf(sum)).toBe(9n)
  budget.charge(replay, 'c0', unknown())
  expect(spentOf(sum)).toBe(9n)
  budget.charge(replay, 'c1', cost(0n))
  budget.release(replay, 10)
  expect(spentOf(sum)).toBe(3n)
})

/** A target with one account. Requests end after `latencyMs`, one is sent every 100 ms, and each costs at most 6. */
function play(
  limit: bigint,
  target: {
    readonly takes: (request: number) => bigint
    readonly claims: (request: number) => bigint
    readonly balance?: boolean
    readonly latencyMs?: number
    readonly requests?: number
  },
) {
  const sum = createSharedBudget()
  const budget = createBudget(terms(limit), sum)
  const { latencyMs = 350, requests = 200, balance: showsBalance = true } = target
  let taken = 0n
  let sent = 0
  let stopped = false
  const inFlight: { readonly request: number; readonly sentMs: number; readonly reservation: Reservation }[] = []
  const opening: Spend = cost(0n, { sentMs: 0, balances: showsBalance ? [1_000n, 0n, null] : noBalance })
  spend(budget, 'models', opening)
  for (let nowMs = 100; nowMs < 100_000; nowMs += 50) {
    while (inFlight[0] !== undefined && inFlight[0].sentMs + latencyMs <= nowMs) {
      const { request, sentMs, reservation } = inFlight.shift() ?? { request: 0, sentMs: 0, reservation: null }
      if (reservation === null) break
      const shown = 1_000n - taken
      taken += target.takes(request)
      const balances = showsBalance ? [shown, 0n, null] : noBalance
      budget.charge(reservation, 'c0', cost(target.claims(request), { sentMs, balances }))
      if (budget.isExceeded()) stopped = true
      budget.release(reservation, nowMs)
      stopped ||= budget.isExceeded()
    }
    if (nowMs % 100 !== 0 || stopped || sent >= requests) continue
    const reservation = budget.reserve('large', 'c0')
    if (reservation === null) stopped = true
    else inFlight.push({ request: sent++, sentMs: nowMs, reservation })
  }
  return { taken, sent, stopped, counted: spentOf(sum) }
}

describe('the balance', () => {
  test.each([0, 90, 350, 2_000])(
    'never stops an honest run with a latency of %d ms, even if all costs are maximal',
    latencyMs => {
      const { taken, stopped, counted } = play(600n, { takes: () => 6n, claims: () => 6n, requests: 100, latencyMs })
      expect([taken, stopped, counted]).toEqual([600n, false, 600n])
    },
  )

  test('frees what cheap requests did not cost', () => {
    const { sent, stopped } = play(220n, { takes: () => 1n, claims: () => 1n, requests: 100 })
    expect([sent, stopped]).toEqual([100, false])
  })

  test.each([
    ['claims nothing', () => 0n],
    ['claims less than it takes', () => 1n],
    ['claims nothing at first', (request: number) => (request < 20 ? 0n : 6n)],
    ['claims something every other time', (request: number) => (request % 2 === 0 ? 6n : 0n)],
  ])('stops a target that takes the maximum and %s, at the limit', (_, claims) => {
    for (const latencyMs of [0, 350, 2_000])
      for (const limit of [30n, 100n, 333n, 600n]) {
        const { taken, stopped } = play(limit, { takes: () => 6n, claims, latencyMs })
        expect(stopped).toBe(true)
        expect(taken).toBeLessThanOrEqual(limit)
        // It still uses most of the budget: only what is in flight or not settled is missing.
        expect(taken).toBeGreaterThan(limit - 6n * BigInt(Math.ceil((latencyMs * 2 + 1_000) / 100) + 2))
      }
  })

  test('stops a target that takes more than the maximum within the requests in flight', () => {
    for (const claims of [() => 0n, () => 40n]) {
      const { taken, stopped, sent } = play(200n, { takes: () => 40n, claims })
      expect(stopped).toBe(true)
      // Four requests are in flight, and the balance shows a request only to the next one.
      expect(taken).toBeLessThanOrEqual(200n + 40n * 5n)
      expect(sent).toBeLessThanOrEqual(10)
    }
  })

  test('that is never shown leaves the claims', () => {
    const { taken, stopped } = play(300n, { takes: () => 3n, claims: () => 3n, balance: false, requests: 100 })
    // Of the limit, the reservations of four requests in flight are left.
    expect([taken, stopped]).toEqual([288n, true])
    expect(play(324n, { takes: () => 3n, claims: () => 3n, balance: false, requests: 100 }).stopped).toBe(false)
  })

  test('that rises above the first one does not give back what was spent', () => {
    const sum = createSharedBudget()
    const budget = createBudget(terms(100n), sum)
    const show = (sentMs: number, usd: bigint) =>
      spend(budget, 'models', cost(0n, { sentMs, balances: [usd, 0n, null] }))
    show(0, 50n)
    const large = reserved(budget, 'large')
    budget.charge(large, 'c0', cost(0n, { sentMs: 10 }))
    budget.release(large, 20)
    show(2_000, 44n)
    expect(spentOf(sum)).toBe(6n)
    show(3_000, 80n)
    expect(spentOf(sum)).toBe(6n)
    show(4_000, 78n)
    expect(spentOf(sum)).toBe(8n)
  })

  test('counts for each account, and only if the response shows all of it', () => {
    const sum = createSharedBudget()
    const budget = createBudget(terms(100n), sum)
    const show = (account: string, sentMs: number, balances: Spend['balances']) =>
      spend(budget, 'models', cost(0n, { sentMs, balances }), account)
    show('c0', 0, [50n, 5n, null])
    show('c1', 0, [70n, 0n, null])
    show('c0', 100, [40n, null, null])
    expect(spentOf(sum)).toBe(0n)
    show('c0', 200, [48n, 5n, null])
    show('c1', 200, [70n, 0n, null])
    expect(spentOf(sum)).toBe(2n)
    // An older balance, which arrives late.
    show('c0', 100, [30n, 5n, null])
    expect(spentOf(sum)).toBe(2n)
  })
})

test('a request that was never answered stays reserved, whatever balances show for ten minutes', () => {
  const sum = createSharedBudget()
  const budget = createBudget(terms(100n), sum)
  const show = (sentMs: number, usd: bigint) => spend(budget, 'models', cost(0n, { sentMs, balances: [usd, 0n, null] }))
  show(0, 50n)
  const large = reserved(budget, 'large')
  budget.charge(large, 'c0', unknown({ sentMs: 10, isUnanswered: true }))
  budget.release(large, 30_000)
  show(60_000, 50n)
  expect(spentOf(sum)).toBe(6n)
  show(700_000, 44n)
  expect(spentOf(sum)).toBe(6n)
})

describe('payments of wallets', () => {
  test('never exceed what all workers together may pay', () => {
    const sum = createSharedBudget()
    expect([5n, 5n, 1n].map(amount => reservePayment(sum, amount, 10n))).toEqual([true, true, false])
    releasePayment(sum, 5n)
    expect(reservePayment(sum, 4n, 10n)).toBe(true)
    expect(reservePayment(sum, 2n, 10n)).toBe(false)
    expect(reservePayment(sum, 2n, null)).toBe(true)
  })

  test('are counted apart from what the run has spent', () => {
    const sum = createSharedBudget()
    reservePayment(sum, 5n, null)
    expect(spentOf(sum)).toBe(0n)
  })
})
