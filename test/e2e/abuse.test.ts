import { describe, expect, test } from 'vitest'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = (stages: string) => `name: refusals
seed: 1
callers: { count: 2 }
calls:
  refused: { kind: probe, probe: unlisted-method }
  cheap: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  large: { kind: chat, stream: false, model-tier: L, prompt-tokens: 10, max-completion-tokens: 4 }
stages:
${stages}
`

const forty = Array.from({ length: 40 }, () => 'refused').join(', ')

describe('a run with deliberate refusals is not blocked', () => {
  test('in a sequence, which waits until its caller may fail again', async () => {
    const { report, observations } = await virtualRun({
      scenario: scenario(`  - { name: list, duration: 70s, shape: sequence, calls: [${forty}] }`),
    })
    expect([report.verdict, report.load.blocked, report.load.dropped]).toEqual(['pass', 0, 0])
    expect(observations.filter(({ call, response }) => call === 'refused' && response?.status === 400)).toHaveLength(80)
    for (const { caller, sentMs } of observations) {
      const from = sentMs ?? 0
      const within = observations.filter(
        other =>
          other.caller === caller &&
          other.call === 'refused' &&
          (other.sentMs ?? 0) >= from &&
          (other.sentMs ?? 0) < from + 30_000,
      )
      expect(within.length).toBeLessThanOrEqual(15)
    }
    expect(report.load.latenessMs.max).toBe(0)
  })

  test('in an open stage, which drops and counts excess requests', async () => {
    const { report, observations } = await virtualRun({
      scenario: scenario(
        '  - { name: mixed, duration: 10s, shape: constant, rate: 10/s, mix: { refused: 1, "cheap": 1 }, exceed-tier: true }',
      ),
    })
    const dropped = observations.filter(({ outcome }) => outcome.kind === 'dropped')
    expect(new Set(dropped.map(({ outcome }) => outcome.kind === 'dropped' && outcome.reason))).toEqual(
      new Set(['failure-limit']),
    )
    expect(observations.filter(({ call, response }) => call === 'refused' && response !== null)).toHaveLength(30)
    expect(report.load.blocked).toBe(0)
    expect(report.verdict).toBe('inconclusive')
  })
})

describe('a run that is blocked', () => {
  const burst = (more: string) =>
    `  - { name: burst, duration: 2s, shape: burst, size: 50, callers: 1, exceed-tier: true, ${more}mix: { large: 1 } }`

  test('is inconclusive, unless the scenario intends it', async () => {
    const { report } = await virtualRun({ scenario: scenario(burst('')) })
    expect(report.findings).toEqual([])
    expect(report.verdict).toBe('inconclusive')
    expect(report.reasons).toEqual([expect.stringMatching(/^10 .*\bblock\b/)])
  })

  test('can pass if the scenario intends it', async () => {
    const { report } = await virtualRun({ scenario: scenario(burst('exceed-failure-limit: true, ')) })
    expect([report.verdict, report.load.blocked]).toEqual(['pass', 0])
  })
})
