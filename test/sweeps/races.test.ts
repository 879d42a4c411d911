import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = 'scenarios/races.yaml'
const lie = (name: string) => {
  const found = lieByName(name)
  if (found === undefined) throw new Error('no such lie')
  return [found]
}
type Run = Awaited<ReturnType<typeof virtualRun>>
const statusesIn = ({ observations }: Run, name: string) =>
  observations
    .filter(({ stage }) => stage === name)
    .map(({ outcome }) => (outcome.kind === 'answered' ? outcome.status : outcome.kind))
    .toSorted()

test('an honest service passes: of eight requests at once for four places, four are refused', async () => {
  const run = await virtualRun({ scenario })
  expect(run.report.findings).toEqual([])
  expect(run.report.verdict).toBe('pass')
  expect(statusesIn(run, 'last-four')).toEqual([200, 200, 200, 200, 429, 429, 429, 429])
})

test('a limit that is checked first and counted later is found at its edge', async () => {
  const { report } = await virtualRun({ scenario, lies: lie('limit-checked-then-counted') })
  expect(report.findings.map(({ clause }) => clause)).toEqual(['limit.requests.enforced'])
})

describe('at the edge of a balance', () => {
  const contract = { ...documentedContract, billing: { ...documentedContract.billing, atOnce: 'serial' as const } }
  const nearlyEmpty = { scenario, openingBalanceUsd: '0.02', contract }

  test('an honest service serves what the balance pays for', async () => {
    const run = await virtualRun(nearlyEmpty)
    expect(run.report.findings).toEqual([])
    const judged = run.report.clauses.filter(({ id }) => ['billing.overdraft', 'billing.covered'].includes(id))
    expect(judged.map(({ verdict }) => verdict)).toEqual(['pass', 'pass'])
    expect(statusesIn(run, 'last-money').filter(status => status === 200)).toHaveLength(12)
    expect(run.report.verdict).toBe('pass')
  })

  test('without a promise, a service that checks first and charges later is not accused', async () => {
    const lies = lie('balance-checked-then-charged')
    const { report } = await virtualRun({ ...nearlyEmpty, contract: documentedContract, lies })
    expect(report.findings).toEqual([])
    expect(report.clauses.find(({ id }) => id === 'billing.overdraft')?.because?.text).toContain('billing.atOnce')
  })

  test.each([
    ['balance-checked-then-charged', 'billing.overdraft', /^the balance is -0\.\d+ USD, expected at least -0\.00125, /],
    [
      'refund-lost',
      'billing.covered',
      /^a request of at most 0\.00125 USD gets a 402, but the balance is 0\.01\d+ USD/,
    ],
    ['settled-twice-at-once', 'billing.conservation', /^billed-twice: |^wrong-amount: |^balance-drift: /],
  ])('%s', async (name, clause, message) => {
    const { report } = await virtualRun({ ...nearlyEmpty, lies: lie(name) })
    const finding = report.findings.find(found => found.clause === clause)
    expect(finding?.message).toMatch(message)
    expect(report.findings.map(found => found.clause)).toEqual([clause])
  })
})
