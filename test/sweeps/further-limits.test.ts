import { describe, expect, test } from 'vitest'
import { type Contract, contractSchema, type LimiterAlgorithm, limiterAlgorithms } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { furtherLies } from '../../src/service/lies/further-limits.ts'
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
      input: { counts: 'input-tokens', amount: 14_000, windowMs: 60_000, algorithm, headers: {}, unused: 'returned' },
      output: { counts: 'output-tokens', amount: 6_000, windowMs: 60_000, algorithm, headers: {}, unused: 'returned' },
    } satisfies Further,
  })

const ietf = (algorithm: LimiterAlgorithm | null) =>
  contractOf({
    dialect: 'ietf',
    algorithm,
    further: {
      burst: { counts: 'requests', amount: 20, windowMs: 10_000, algorithm, headers: {}, unused: null },
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
