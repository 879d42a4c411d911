import { privateKeyToAddress } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { memoryTransport } from '../../../src/prove/memory-run.ts'
import { type Account, walletHolder } from '../../../src/service/account.ts'
import { defaultLatency } from '../../../src/service/capacity.ts'
import { type Lie, type LieOverrides, lie } from '../../../src/service/lies/lie.ts'
import { createService } from '../../../src/service/service.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const load = `
name: load
seed: 3
callers: { count: 2 }
calls:
  cheap: { kind: rpc, network-family: evm, methods: { eth_blockNumber: 3, eth_call: 1 } }
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 30, max-completion-tokens: 8 }
  repeat: { kind: replay, of: cheap, duplicates: 1, other-caller-ratio: 0.3 }
stages:
  - { name: steady, duration: 20s, shape: poisson, rate: 3/s, mix: { cheap: 3, chat: 1, repeat: 1 } }
budget: { usd: 1 }
thresholds:
  - { expect: violations == 0, why: The rules are documented. }
  - { expect: discrepancies == 0, why: Charges must be right. }
  - { expect: unexpected-429 == 0, why: Callers are within their limits. }
  - { expect: failed == 0, why: A failure is an outage. }
`

type Case = {
  readonly keys: string
  readonly scenario?: string
  readonly overrides?: LieOverrides
  readonly lies?: readonly Lie[]
  readonly workers?: number
  /** The private key of a wallet. */
  readonly walletKey?: string
  /** What responses show, if it is less than documented. */
  readonly contract?: Contract
}

async function reportOf({
  keys,
  scenario = load,
  overrides,
  lies = [],
  workers = 1,
  contract = documentedContract,
  walletKey = '',
}: Case) {
  const told = overrides === undefined ? lies : [lie('of-the-test', 'A lie of the test.', overrides), ...lies]
  const connect = (clock: Clock) =>
    memoryTransport(
      createService({
        ...{ contract, clock, seed: 1, lies: told, timing: defaultLatency },
        ...{ openingBalanceUsd: '10', openingBalanceDiem: '0' },
      }),
      clock,
    )
  const accounts = keys.split(',')
  const { report } = await virtualRun({
    scenario: scenario.replace('count: 2', `count: ${accounts.length}`),
    ...(!scenario.includes('\n') && { keys: accounts.map(() => 1) }),
    target: { connect, environment: { TURNPIKE_KEYS: keys, TURNPIKE_WALLET_KEYS: walletKey }, isNamed: true },
    ...{ workers, contract },
  })
  return {
    verdict: report.verdict,
    clauses: [...new Set(report.findings.map(({ clause }) => clause as string))],
    shared: report.reasons.filter(reason => /^c.* seem to share/.test(reason)),
    report,
  }
}

const one = 'ref_default_ada,ref_default_ada_2'
const two = 'ref_default_ada,ref_default_bob'

/** All accounts have the windows of the first one. */
const oneLimit: LieOverrides = honest => {
  let first: Account['windows'] | null = null
  return {
    limitsOf: (draw, account) => {
      first ??= account.windows
      Object.assign(account, { windows: first })
      return honest.limitsOf(draw, account)
    },
  }
}

const withoutBalances: Contract = {
  ...documentedContract,
  billing: { ...documentedContract.billing, balanceHeaders: false },
}

describe('an honest service is not accused if callers share', () => {
  const bySeparateKeys: LieOverrides = honest => ({
    scope: (scope, state) => `${honest.scope(scope, state)} ${state.request.headers.authorization}`,
  })
  test.each<[string, Case, string]>([
    ['an account', { keys: one }, 'c0 and c1 seem to share one account'],
    [
      'an account, on two workers',
      { keys: one, workers: 2, scenario: load.replace(/ {2}repeat.*\n/, '').replace(', repeat: 1', '') },
      'c0 and c1 seem to share one account',
    ],
    ['an account of three keys', { keys: `${one},ref_default_ada_3` }, 'c0, c1 and c2 seem to share one account'],
    ['an account, beside another caller', { keys: `ref_default_bob,${one}` }, 'c1 and c2 seem to share one account'],
    ['their limits', { keys: two, overrides: oneLimit }, 'c0 and c1 seem to share the limits of one account'],
    [
      'the limits of an organization that shows no balances',
      { keys: two, overrides: oneLimit, contract: withoutBalances, scenario: load.replace(/.*discrepancies.*\n/, '') },
      'c0 and c1 seem to share the limits of one account',
    ],
    ['a balance', { keys: one, overrides: bySeparateKeys }, 'c0 and c1 seem to share one account'],
  ])('%s', async (_, run, expected) => {
    const { verdict, clauses, shared } = await reportOf(run)
    expect(clauses).toEqual([])
    expect(verdict).toBe('inconclusive')
    expect(shared).toEqual([expect.stringContaining(expected)])
  })

  test('an account with a key and a wallet', async () => {
    const walletKey = '11'.repeat(32)
    const address = privateKeyToAddress(`0x${walletKey}`).toLowerCase()
    const { clauses, shared } = await reportOf({
      keys: 'ref_default_ada',
      walletKey,
      scenario: load.replace('count: 2', 'count: 1, wallets: 1, chain: base').replace(', other-caller-ratio: 0.3', ''),
      overrides: () => ({ accountHolder: () => walletHolder(address) }),
    })
    // The service of this test also shows the balance of the wallet to the key.
    expect(clauses).toEqual(['header.balance-remaining'])
    expect(shared).toEqual([expect.stringContaining('c0 and w0 seem to share one account')])
  })

  test('two accounts of two keys each', async () => {
    const keys = 'ref_default_ada,ref_default_bob,ref_default_ada_2,ref_default_bob_2'
    const { verdict, clauses, shared } = await reportOf({ keys })
    expect(clauses).toEqual([])
    expect(verdict).toBe('inconclusive')
    expect(shared.map(text => text.split(' seem')[0])).toEqual(['c0 and c2', 'c1 and c3'])
  })
})

test.each(['smoke', 'billing', 'abuse-block'])('an honest service is not accused by the scenario %s', async name => {
  const { verdict, shared } = await reportOf({ keys: one, scenario: `scenarios/${name}.yaml` })
  expect(verdict).toBe('inconclusive')
  expect(shared).toHaveLength(1)
})

test('accounts of their own are judged as before', async () => {
  const { verdict, shared } = await reportOf({ keys: two })
  expect(verdict).toBe('pass')
  expect(shared).toEqual([])
})

describe('a service that breaks a rule is still accused', () => {
  const toOther = (every: number): LieOverrides => {
    return honest => {
      const known = new Set<Account>()
      let charges = 0
      return {
        charge: (account, charge) => {
          known.add(account)
          const other = [...known].find(each => each !== account) ?? account
          honest.charge(++charges % every === 0 ? other : account, charge)
        },
      }
    }
  }
  const chargedTwice: LieOverrides = honest => ({
    charge: (account, charge) => honest.charge(account, { ...charge, pico: charge.pico * 2n }),
  })
  const countedTwice: LieOverrides = honest => ({
    admits: (window, limit) => {
      const admitted = honest.admits(window, limit)
      // The first request of a window shows that Turnpike knows all of it.
      if (admitted && window.requests > 0) window.requests++
      return admitted
    },
  })
  const sometimesOneLimit: LieOverrides = honest => {
    let first: Account['windows'] | null = null
    let requests = 0
    const own = new Map<Account, Account['windows']>()
    return {
      limitsOf: (draw, account) => {
        const windows = own.get(account) ?? account.windows
        own.set(account, windows)
        first ??= windows
        Object.assign(account, { windows: ++requests % 3 === 0 ? first : windows })
        return honest.limitsOf(draw, account)
      },
    }
  }
  const accused = async (run: Case) => {
    const { verdict, clauses, shared } = await reportOf(run)
    expect(verdict).toBe('fail')
    expect(shared).toEqual([])
    return clauses
  }

  test.each([1, 2, 3, 10])('that charges each charge number %i to another account', async every =>
    expect(await accused({ keys: two, overrides: toOther(every) })).toContain('billing.conservation'),
  )
  test.each([2, 5])('that charges each charge number %i twice', async every => {
    const overrides: LieOverrides = honest => {
      let charges = 0
      return {
        charge: (account, { currency, pico }) =>
          honest.charge(account, { currency, pico: ++charges % every === 0 ? pico * 2n : pico }),
      }
    }
    expect(await accused({ keys: two, overrides })).toContain('billing.conservation')
  })
  test('that blocks callers early', async () => {
    const overrides: LieOverrides = () => ({ toleratesFailures: failures => failures < 11 })
    const keys = Array.from({ length: 6 }, (_, at) => `ref_default_of${at}`).join(',')
    expect(await accused({ keys, overrides, scenario: 'scenarios/abuse-block.yaml' })).toContain('abuse.not-early')
  })
  test('that charges twice', async () =>
    expect(await accused({ keys: two, overrides: chargedTwice })).toContain('billing.conservation'))
  test('that counts twice', async () =>
    expect(await accused({ keys: two, overrides: countedTwice })).toContain('limit.requests.remaining'))
  test('that charges and counts twice', async () => {
    const lies = [lie('counted-twice', 'Every request counts twice.', countedTwice)]
    const clauses = await accused({ keys: two, overrides: chargedTwice, lies })
    expect(clauses).toEqual(expect.arrayContaining(['billing.conservation', 'limit.requests.remaining']))
  })
  test('that charges twice in bursts of both callers', async () => {
    const scenario = load
      .replace('shape: poisson, rate: 3/s', 'shape: burst, size: 2')
      .replace('cheap: 3, chat: 1, repeat: 1', 'cheap: 1')
    expect(await accused({ keys: two, overrides: chargedTwice, scenario })).toContain('billing.conservation')
  })
  test('that counts some requests for the other caller', async () =>
    expect(await accused({ keys: two, overrides: sometimesOneLimit })).toContain('limit.requests.remaining'))
  test.each<[string, LieOverrides]>([
    ['counts twice', countedTwice],
    ['counts some requests for the other caller', sometimesOneLimit],
  ])('that shows no balances and %s', async (_, overrides) => {
    const scenario = load.replace(/.*discrepancies.*\n/, '')
    const clauses = await accused({ keys: two, overrides, contract: withoutBalances, scenario })
    expect(clauses).toContain('limit.requests.remaining')
  })
  test('whose callers have limits of their own, as the scenario says', async () => {
    const scenario = load.replace('count: 2', 'count: 2, shared: false')
    expect(await accused({ keys: two, overrides: oneLimit, scenario })).toContain('limit.requests.remaining')
  })
  test('in something else than the account that callers share', async () => {
    const { verdict, clauses, shared } = await reportOf({
      keys: one,
      overrides: honest => ({ costPicoUsd: (...input) => (honest.costPicoUsd(...input) * 112n) / 100n }),
    })
    expect(verdict).toBe('fail')
    expect(clauses).toEqual(['rpc.cost.amount'])
    expect(shared).toHaveLength(1)
  })
})
