import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenario = (mustJudge: string) => `
name: question
callers: { count: 1 }
calls:
  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
stages:
  - { name: once, duration: 5s, shape: sequence, calls: [rpc, rpc] }
must-judge: ${mustJudge}
`

describe('must-judge', () => {
  test('is met if each of its clauses was judged', async () => {
    const { report, plan } = await virtualRun({ scenario: scenario('[rpc.credits.amount, header.date]') })
    expect(plan.mustJudge).toEqual(['header.date', 'rpc.credits.amount'])
    expect(report.verdict).toBe('pass')
  })
  test('makes a run inconclusive that did not exercise one of them, and says what would', async () => {
    const { report } = await virtualRun({ scenario: scenario('[limit.resources, header.date]') })
    expect(report).toMatchObject({
      verdict: 'inconclusive',
      reasons: [
        'The scenario must judge limit.resources, and limit.resources was not judged: no call of this run requests such a resource (kind: resource).',
      ],
    })
  })
  test('makes a run inconclusive whose profile does not promise one of them', async () => {
    const contract = { ...documentedContract, name: 'mine', promises: { only: null, except: ['rpc.credits.*'] } }
    const { report } = await virtualRun({ scenario: scenario('[rpc.credits.amount]'), contract })
    expect(report.reasons).toEqual([
      'The scenario must judge rpc.credits.amount, and the profile "mine" does not promise rpc.credits.amount: add it to "promises" of the profile if the target should be judged by it.',
    ])
  })
  test('makes a run inconclusive whose balances are rounded to more than it spent', async () => {
    const billing = { ...documentedContract.billing, balanceResolutionUsd: '0.01' }
    const contract = { ...documentedContract, billing }
    const { report } = await virtualRun({ scenario: scenario('[billing.conservation]'), contract })
    expect(report.reasons).toEqual([
      'The scenario must judge billing.conservation, and balances are too coarse for it: $0.000025 of all charges, $0.000025, are of callers whose balances may be off by as much, because they are rounded or because the cost of some requests is unknown. Send more requests, or more expensive ones, with fewer callers.',
    ])
  })
  test.each([
    [4, 1, 'pass'],
    [1, 4, 'inconclusive'],
  ])(
    'weighs the callers: %i calls of one whose balance is exact, %i of one with an unknown cost',
    async (exact, open, verdict) => {
      const calls = (count: number, ...more: readonly string[]) => [...Array(count).fill('rpc'), ...more].join(', ')
      const { report } = await virtualRun({
        scenario: `
name: question
callers: { count: 2 }
calls:
  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  image: { kind: resource, resource: image }
stages:
  - { name: exact, duration: 5s, shape: sequence, callers: 1, calls: [${calls(exact)}] }
  - { name: open, duration: 5s, shape: sequence, first-caller: 1, callers: 1, calls: [${calls(open, 'image')}] }
must-judge: [billing.conservation]
`,
      })
      expect([report.verdict, report.reasons.some(reason => reason.includes('too coarse'))]).toEqual([
        verdict,
        verdict !== 'pass',
      ])
    },
  )
  test('is left out if --only names a part of the scenario', async () => {
    const { report } = await virtualRun({ scenario: scenario('[limit.resources]'), only: ['rpc'] })
    expect(report.verdict).toBe('pass')
  })
  test('takes patterns and sections, and refuses what no clause matches with a suggestion', () => {
    const parsed = (list: string) => parseScenario(scenario(list), 'q.yaml', documentedContract).mustJudge
    expect(parsed('["rpc.credits.*"]')).toEqual(['rpc.credits.header', 'rpc.credits.amount'])
    expect(parsed('["§8"]')).toContain('limit.requests.limit')
    expect(() => parsed('[limit.resource]')).toThrow(/limit\.resource".*did you mean "limit\.resources"/s)
  })
})

const shipped = [
  'resources',
  'billing',
  'idempotency',
  'abuse-block',
  'rate-limit',
  'rpc-only',
  'partner-tiers',
  'smoke',
]

test.each(shipped)('an honest service exercises all that %s must judge', async name => {
  const { report, plan } = await virtualRun({ scenario: `scenarios/${name}.yaml` })
  expect(plan.mustJudge).not.toEqual([])
  expect(report).toMatchObject({ verdict: 'pass' })
})

test('a limit of resources that differs from the document is a finding, since the list of limits states no other', async () => {
  const { resourceLimits } = documentedContract
  const other = { ...resourceLimits.default, image: 21 }
  const serviceContract = { ...documentedContract, resourceLimits: { ...resourceLimits, default: other } }
  const { report } = await virtualRun({ scenario: 'scenarios/resources.yaml', serviceContract })
  expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([
    'limit.resources: the stated limit of image is 21, expected 20 (default), since the list of limits states no other',
  ])
  expect(report.verdict).toBe('fail')
})
