import { describe, expect, test } from 'vitest'
import { pico } from '../../src/lib/money.ts'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = (usd: string) => `
name: spender
callers: { count: 4 }
calls:
  chat: { kind: chat, stream: true, model-tier: S, prompt-tokens: 50, max-completion-tokens: 60 }
  rpc: { kind: rpc-batch, network: ethereum-mainnet, size: 10 }
stages: [{ name: all, duration: 20s, shape: constant, rate: 4/s, mix: { chat: 1, rpc: 1 } }]
budget: { usd: ${usd} }
thresholds: [{ expect: violations == 0, why: The service documents each rule. }]
`

describe('a budget', () => {
  test('that is reached makes the run inconclusive, keeps its results, and is not exceeded', async () => {
    const { report } = await virtualRun({ scenario: scenario('0.005') })
    expect(report.run.ended).toBe('budget-reached')
    expect(report.verdict).toBe('inconclusive')
    expect(report.load.answered).toBeGreaterThan(10)
    expect(report.findings).toEqual([])
    const billed = pico(report.billing.billedUsd ?? '1')
    expect(billed).toBeGreaterThan(pico('0.001'))
    expect(billed).toBeLessThanOrEqual(pico('0.005'))
  })

  test('that is large enough changes nothing', async () => {
    const { report } = await virtualRun({ scenario: scenario('0.50') })
    expect(report.run.ended).toBe('complete')
    expect(report.verdict).toBe('pass')
  })
})
