import { describe, expect, test } from 'vitest'
import type { MemoryNetwork } from '../../../src/prove/memory-run.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenarioOf = (stage: string, thresholds = '{ expect: dropped == 0, why: test }') => `name: far
callers: { count: 2 }
calls:
  rpc: { kind: rpc, network-family: evm, methods: { eth_blockNumber: 1 } }
stages:
  - { name: probes, ${stage}, shape: sequence, callers: 1, calls: [13 x rpc] }
  - { name: after, duration: 1s, shape: constant, rate: 5/s, exceed-tier: true, first-caller: 1, callers: 1, mix: { rpc: 1 } }
thresholds:
  - ${thresholds}
`

/** Breaks the connections of the requests at these positions. */
function breaking(positions: readonly number[], delayMs = 0.5): MemoryNetwork {
  let position = 0
  return { delayMs: () => delayMs, isReset: () => positions.includes(position++) }
}

const far: MemoryNetwork = { delayMs: () => 90 }

describe('a sequence at a far service', () => {
  test('takes as long as it needs, and the next stage begins when it is done', async () => {
    const { report, observations } = await virtualRun({ scenario: scenarioOf('duration: 1s'), network: far })
    expect([report.verdict, report.load.dropped]).toEqual(['pass', 0])
    const of = (stage: string) => observations.filter(each => each.stage === stage)
    const [firstMs = 0] = of('probes').map(({ dueMs }) => dueMs)
    const doneMs = Math.max(...of('probes').map(({ endMs }) => endMs ?? 0))
    expect(of('probes')).toHaveLength(13)
    expect(doneMs - firstMs).toBeGreaterThan(13 * 180)
    expect(Math.min(...of('after').map(({ dueMs }) => dueMs))).toBe(doneMs)
  })

  test('lasts its duration at a near one, so pauses keep their length', async () => {
    const { observations } = await virtualRun({ scenario: scenarioOf('duration: 4s') })
    const [firstMs = 0] = observations.filter(({ stage }) => stage === 'probes').map(({ dueMs }) => dueMs)
    const [afterMs = 0] = observations.filter(({ stage }) => stage === 'after').map(({ dueMs }) => dueMs)
    expect(afterMs - firstMs).toBe(4_000)
  })

  test('is cut off at its maximum duration, which makes the run inconclusive and accuses nobody', async () => {
    const stage = 'duration: 1s, at-most: 1s'
    const { report } = await virtualRun({ scenario: scenarioOf(stage), network: far })
    expect(report.verdict).toBe('inconclusive')
    expect(report.reasons).toEqual([
      'Threshold inconclusive: dropped == 0: dropped was 7, not == 0 (n = 18), but 7 of 13 requests of probes were not sent before the stage reached its maximum duration; raise "at-most" of the stage.',
    ])
  })

  test('without a threshold on drops is inconclusive for the same reason', async () => {
    const stage = 'duration: 1s, at-most: 1s'
    const threshold = '{ expect: violations == 0, why: test }'
    const { report } = await virtualRun({ scenario: scenarioOf(stage, threshold), network: far })
    expect(report.verdict).toBe('inconclusive')
    expect(report.reasons.join()).toContain('7 of 13 requests of probes were not sent before')
  })
})

describe('an open load at a slow service', () => {
  test('that piles up to the limit of requests in flight still fails a threshold on drops', async () => {
    const scenario = `${scenarioOf('duration: 1s').replace('rate: 5/s', 'rate: 20/s')}bounds: { max-in-flight: 2 }\n`
    const { report } = await virtualRun({ scenario, network: { delayMs: () => 300 } })
    expect(report.verdict).toBe('fail')
    expect(report.reasons.join()).toContain('Threshold crossed: dropped == 0')
  })
})

describe('a step whose connection broke', () => {
  const threshold = '{ expect: incomplete == 0, why: test }'

  test('is sent again, and each attempt is observed', async () => {
    // Two balance checks precede the sequence.
    const network = breaking([3, 6, 7])
    const { report, observations } = await virtualRun({ scenario: scenarioOf('duration: 1s', threshold), network })
    const ofProbes = observations.filter(({ stage }) => stage === 'probes')
    expect(ofProbes.filter(({ outcome }) => outcome.kind === 'answered')).toHaveLength(13)
    expect(ofProbes.filter(({ outcome }) => outcome.kind === 'failed')).toHaveLength(3)
    expect(report.thresholds.map(({ verdict }) => verdict)).toEqual(['pass'])
  })

  test('is not a discrepancy, although it may have been charged', async () => {
    const { report } = await virtualRun({ scenario: scenarioOf('duration: 1s'), network: breaking([3, 6, 7]) })
    expect([report.findings, report.billing.discrepancies]).toEqual([[], []])
  })

  test('is sent once in a stage that provokes a block, where each failure counts', async () => {
    const scenario = scenarioOf('duration: 1s, exceed-failure-limit: true', threshold)
    const { observations } = await virtualRun({ scenario, network: breaking([3]) })
    expect(observations.filter(({ stage }) => stage === 'probes')).toHaveLength(13)
  })
})
