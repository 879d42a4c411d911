import { expect, test } from 'vitest'
import { type Lie, lie } from '../../src/service/lies/lie.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** Four images above the limit of each caller for a minute, and then the next minute. */
const scenario = `name: images
callers: { count: 2 }
calls: { image: { kind: resource, resource: image } }
stages:
  - { name: first, duration: 61s, shape: burst, size: 48, exceed-tier: true, mix: { image: 1 } }
  - { name: next, duration: 5s, shape: burst, size: 30, mix: { image: 1 } }
`

async function findings(...lies: readonly Lie[]): Promise<readonly string[]> {
  const { report } = await virtualRun({ scenario, lies })
  return report.findings.map(({ clause }) => clause)
}

test('a service that rejects images above their limit passes', async () => {
  const { report, observations } = await virtualRun({ scenario })
  expect(report.findings).toEqual([])
  expect(
    report.limits.filter(({ scope }) => scope === 'image').map(({ accepted, rejected }) => [accepted, rejected]),
  ).toEqual([
    [35, 4],
    [35, 4],
  ])
  expect(observations.filter(({ outcome }) => outcome.kind === 'answered' && outcome.status === 429)).toHaveLength(8)
})

test('a service that never rejects images fails', async () => {
  expect(await findings(lie('images-for-all', 'Images are not limited.', () => ({ admits: () => true })))).toContain(
    'limit.requests.enforced',
  )
})
