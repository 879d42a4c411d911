import { describe, expect, test } from 'vitest'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenario = `name: test
callers: { count: 4 }
calls: { batch: { kind: rpc-batch, network: ethereum-mainnet, size: 4, failing-items: 1 } }
stages: [{ name: load, duration: 60s, shape: constant, rate: 4/s, mix: { batch: 1 } }]
`
const lies = [lieByName('failed-item-in-full')].filter(lie => lie !== undefined)

describe.each([1, 3])('--fail-fast with %i workers', workers => {
  test('ends the run within a second of a violation, with the closing balance checks', async () => {
    const { report, observations } = await virtualRun({ scenario, lies, workers, failFast: true })
    expect([report.verdict, report.run.ended]).toEqual(['fail', 'violation-found'])
    expect(report.reasons).toContainEqual(
      expect.stringMatching(/^The run ended at the first violation, after .* s \(--fail-fast\)\.$/),
    )
    const load = observations.filter(({ stage }) => stage === 'load')
    const [first] = load
    expect((load.at(-1)?.sentMs ?? 0) - (first?.endMs ?? 0)).toBeLessThan(1_000)
    expect(observations.filter(({ stage }) => stage === '(closing)')).toHaveLength(4)
    expect(report.billing.billedUsd).not.toBeNull()
  })

  test('lets an honest run end by itself', async () => {
    const { report } = await virtualRun({ scenario, workers, failFast: true })
    expect([report.verdict, report.run.ended]).toEqual(['pass', 'complete'])
  })
})

test('without it, the run goes on', async () => {
  const { report } = await virtualRun({ scenario, lies })
  expect([report.verdict, report.run.ended]).toEqual(['fail', 'complete'])
})

test('a violation that --only does not select does not end the run', async () => {
  const { report } = await virtualRun({ scenario, lies, failFast: true, only: ['rpc.batch.correlation'] })
  expect([report.verdict, report.run.ended]).toEqual(['pass', 'complete'])
})
