import { expect, test } from 'vitest'
import { lieByName } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = 'scenarios/races.yaml'

test('an honest service passes: of eight requests at once for four places, four are refused', async () => {
  const { report, observations } = await virtualRun({ scenario })
  expect(report.findings).toEqual([])
  expect(report.verdict).toBe('pass')
  const statuses = observations
    .filter(({ stage }) => stage === 'last-four')
    .map(({ outcome }) => (outcome.kind === 'answered' ? outcome.status : outcome.kind))
  expect(statuses.toSorted()).toEqual([200, 200, 200, 200, 429, 429, 429, 429])
})

test('a limit that is checked first and counted later is found at its edge', async () => {
  const lie = lieByName('limit-checked-then-counted')
  if (lie === undefined) throw new Error('no such lie')
  const { report } = await virtualRun({ scenario, lies: [lie] })
  expect(report.findings.map(({ clause }) => clause)).toEqual(['limit.requests.enforced'])
})
