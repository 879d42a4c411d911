import { describe, expect, test } from 'vitest'
import { contractSchema } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { knownLie } from '../../src/service/lies/lies.ts'
import { speaking } from '../support/learn-foreign.ts'
import { virtualRun } from '../support/virtual-run.ts'

const refusingWith = (status: number) =>
  contractSchema.parse({ ...documentedContract, limits: { ...documentedContract.limits, status } })

const clausesOf = ({ report }: Awaited<ReturnType<typeof virtualRun>>) => [
  ...new Set(report.findings.map(({ clause }) => clause)),
]

describe('a limit that refuses with another status than 429', () => {
  test.each(
    [503, 403].flatMap(status =>
      ['smoke', 'rate-limit', 'races', 'idempotency', 'abuse-block'].map(name => [status, name] as const),
    ),
  )('is judged as one with 429: %i in %s', async (status, name) => {
    const run = await virtualRun({ scenario: `scenarios/${name}.yaml`, contract: refusingWith(status) })
    expect([clausesOf(run), run.report.verdict], run.report.reasons.join('; ')).toEqual([[], 'pass'])
  })

  test.each([
    ['no-request-limit', 'limit.requests.enforced'],
    ['total-one-too-many', 'chat.usage.sum'],
  ])('and its liars are named: %s', async (name, clause) => {
    const run = await virtualRun({
      ...{ scenario: 'scenarios/rate-limit.yaml', contract: refusingWith(503), lies: [knownLie(name)] },
    })
    expect(clausesOf(run)).toContain(clause)
  })

  test.each(['kong', 'azure'] as const)('and states its wait as its dialect has it: %s', async dialect => {
    const run = await virtualRun({
      scenario: 'scenarios/rate-limit.yaml',
      contract: speaking(dialect, { status: 503 }),
    })
    expect(clausesOf(run), JSON.stringify(run.report.findings.map(({ message }) => message))).toEqual([])
  })

  test('is accused by a document that has 429', async () => {
    const run = await virtualRun({
      ...{ scenario: 'scenarios/rate-limit.yaml', contract: documentedContract, serviceContract: refusingWith(503) },
    })
    expect(clausesOf(run)).toContain('limit.requests.enforced')
  })
})
