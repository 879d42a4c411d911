import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { randomStream } from '../../src/lib/random.ts'
import { latenessMs } from '../../src/observation/observation.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** Wallets on Base alone: those on Solana ask a node before they pay, which takes real time. */
const scenarioOf = (name: string) => readFileSync(`scenarios/${name}.yaml`, 'utf8').replace('[base, solana]', 'base')

const seeds = todays([1, 2, 3, 4, 5], 3)

/** Signatures that come late, so that requests overtake each other, and the network delays them once more. */
describe.each(['x402-races', 'x402-top-up', 'x402-refusals', 'wallet-sign-in', 'wallets'])('%s', name => {
  test.each(seeds)('no clause fails when requests wait for their signatures (seed %i)', async seed => {
    const random = randomStream(seed, 'signing')
    const { report, observations } = await virtualRun({
      scenario: scenarioOf(name),
      seed,
      signingMs: () => random.next() ** 2 * 15_000,
      network: { delayMs: () => random.next() * 80 },
    })
    expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
    expect(report.billing.discrepancies).toEqual([])
    expect(report.run.ended).toBe('complete')
    late += observations.filter(each => (latenessMs(each) ?? 0) > 50).length
  })
})

let late = 0
test('many requests did wait', () => expect(late).toBeGreaterThan(25 * seeds.length))
