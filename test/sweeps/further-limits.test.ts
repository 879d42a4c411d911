import { describe, expect, test } from 'vitest'
import { type Contract, contractSchema, type LimiterAlgorithm, limiterAlgorithms } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import { always } from '../../src/service/lies/decisions.ts'
import { furtherLies } from '../../src/service/lies/further-limits.ts'
import type { LieRow } from '../../src/service/lies/lie.ts'
import { virtualRun } from '../support/virtual-run.ts'

const tokens = `name: tokens
callers: { count: 1 }
calls:
  chat: { kind: chat, model-tier: XS, stream: false, prompt-tokens: 400, max-completion-tokens: 60 }
stages:
  - { name: first, duration: 20s, shape: constant, rate: 2/s, exceed-tier: true, mix: { chat: 1 } }
  - { name: idle, duration: 90s, shape: constant, rate: 0.05/s, exceed-tier: true, mix: { chat: 1 } }
  - { name: again, duration: 20s, shape: constant, rate: 5/s, exceed-tier: true, mix: { chat: 1 } }`

type Further = Contract['limits']['further']

const contractOf = (limits: Partial<Contract['limits']>): Contract =>
  contractSchema.parse({ ...documentedContract, limits: { ...documentedContract.limits, scope: 'account', ...limits } })

const anthropic = (algorithm: LimiterAlgorithm | null) =>
  contractOf({
    dialect: 'anthropic',
    algorithm,
    further: {
      input: {
        counts: 'input-tokens',
        amount: 14_000,
        windowMs: 60_000,
        algorithm,
        headers: {},
        units: null,
        unused: 'returned',
      },
      output: {
        counts: 'output-tokens',
        amount: 6_000,
        windowMs: 60_000,
        algorithm,
        headers: {},
        units: null,
        unused: 'returned',
      },
    } satisfies Further,
  })

const ietf = (algorithm: LimiterAlgorithm | null) =>
  contractOf({
    dialect: 'ietf',
    algorithm,
    further: {
      burst: { counts: 'requests', amount: 20, windowMs: 10_000, algorithm, headers: {}, units: null, unused: null },
    } satisfies Further,
  })

const profiles = { anthropic, ietf }

describe.each(Object.entries(profiles))('%s', (_, profile) => {
  test.each([null, ...limiterAlgorithms])('%s: an honest service is accused of nothing', async algorithm => {
    const { report } = await virtualRun({ scenario: tokens, contract: profile(algorithm) })
    expect(report.findings).toEqual([])
    expect(report.clauses.filter(({ id, judged }) => id.startsWith('limit.') && judged > 0).length).toBeGreaterThan(5)
  })
})

describe('each lie about a further limit is named', () => {
  const listed = Object.entries(furtherLies).flatMap(([clause, rows]) =>
    Object.entries(rows).map(([name, row]) => ({ clause, name, row })),
  )
  test.each(listed)('$clause: $name', async ({ clause, name, row }) => {
    const profile = name.startsWith('burst') ? ietf : anthropic
    for (const algorithm of ['fixed-window', 'sliding-log', 'token-bucket'] as const) {
      const { report } = await virtualRun({ scenario: tokens, contract: profile(algorithm), lies: [{ name, ...row }] })
      const failed = [...new Set(report.findings.map(finding => finding.clause as string))]
      expect(failed, algorithm).toContain(clause)
      const undeclared = failed.filter(other => other !== clause && !row.alsoViolates.some(also => also === other))
      expect(undeclared, algorithm).toEqual([])
    }
  })
})

const calls = `name: units
callers: { count: 1 }
calls:
  single: { kind: rpc, methods: { eth_call: 1, eth_chainId: 1 } }
  batch: { kind: rpc-batch, methods: { eth_call: 1, eth_getBalance: 1 }, size: 5, failing-items: 1 }
stages:
  - { name: begin, duration: 1s, shape: sequence, calls: [single] }
  - { name: quiet, duration: 25s, shape: pause }
  - { name: within, duration: 2s, shape: sequence, calls: [4 x batch] }
  - { name: quiet-again, duration: 25s, shape: pause }
  - { name: above, duration: 35s, shape: constant, rate: 8/s, mix: { single: 3, batch: 1 } }`

const node = loadProfile('scenarios/profiles/json-rpc-node.yaml')
const amount = 600

/** A node that counts compute units, and states nothing. */
const unitsOf = (algorithm: LimiterAlgorithm | null, admitted = amount): Contract =>
  contractSchema.parse({
    ...node,
    promises: { ...node.promises, only: [...(node.promises.only ?? []), 'limit.requests.*'] },
    limits: {
      ...node.limits,
      ...{ dialect: 'none', scope: 'account' },
      further: {
        compute: {
          ...{ counts: 'requests', amount: admitted, windowMs: 10_000, algorithm, headers: {}, unused: null },
          units: { eth_call: 26, eth_getBalance: 19, default: 10 },
        },
      } satisfies Further,
    },
  })

const failedUnits = async (algorithm: LimiterAlgorithm | null, serviceContract: Contract, row?: LieRow) => {
  const lies = row === undefined ? [] : [{ name: 'units', ...row }]
  const { report } = await virtualRun({ scenario: calls, contract: unitsOf(algorithm), serviceContract, lies })
  return report
}

describe.each([null, ...limiterAlgorithms])('units of RPC methods, %s', algorithm => {
  test('an honest limiter is accused of nothing', async () => {
    const report = await failedUnits(algorithm, unitsOf(algorithm))
    expect(report.findings).toEqual([])
    const judged = (clause: string) => report.clauses.find(({ id }) => id === clause)?.judged
    expect(judged('limit.requests.enforced')).toBeGreaterThan(0)
    expect(judged('limit.requests.not-early')).toBeGreaterThan(0)
  })

  test('one that refuses none, and one that refuses early, are named', async () => {
    const free = await failedUnits(algorithm, unitsOf(algorithm, 100 * amount))
    expect(free.findings.map(({ clause }) => clause)).toEqual(['limit.requests.enforced'])
    expect(free.findings[0]?.message).toMatch(
      /^\d+ of 600 units of rpc.* \(compute\) were used when a request was accepted/,
    )
    const early = await failedUnits(algorithm, unitsOf(algorithm, 0.55 * amount))
    expect(early.findings.map(({ clause }) => clause)).toEqual(['limit.requests.not-early'])
    expect(early.findings[0]?.message).toMatch(/^a 429 came after at most \d+ of 600 units of rpc/)
  })
})

test.each(['fixed-window', 'sliding-log', 'token-bucket'] as const)(
  'a limiter that counts a batch as one call is named, %s',
  async algorithm => {
    const row = always('A batch counts as one call.', { furtherUse: used => Math.min(used, 26) })
    const { findings } = await failedUnits(algorithm, unitsOf(algorithm), row)
    expect(findings.map(({ clause }) => clause)).toEqual(['limit.requests.enforced'])
  },
)
