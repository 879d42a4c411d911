import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { randomStream } from '../../src/lib/random.ts'
import type { Report } from '../../src/report/document.ts'
import { distantNetwork } from '../support/distant-network.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { type VirtualRun, virtualRun } from '../support/virtual-run.ts'

const names = readdirSync('scenarios').flatMap(file => (file.endsWith('.yaml') ? [file.replace('.yaml', '')] : []))
const profiles: Readonly<Record<string, string>> = {
  'llm-server': 'openai-compatible',
  'llm-conformance': 'openai-compatible',
  'rpc-node': 'json-rpc-node',
  'node-conformance': 'json-rpc-node',
  'rpc-coherence': 'json-rpc-node',
}
const seeds = todays([1, 2, 3, 4], 4)

/** A shipped scenario behind a far network, at a service whose clock is a second slow, right, or a second fast. */
function distant(name: string, seed: number): VirtualRun {
  const profile = profiles[name]
  return {
    // Wallets on Base alone: those on Solana ask a node before they pay, which takes real time.
    scenario: readFileSync(`scenarios/${name}.yaml`, 'utf8').replace('[base, solana]', 'base'),
    ...(profile !== undefined && { profile: `scenarios/profiles/${profile}.yaml` }),
    serviceSeed: seed,
    network: distantNetwork(seed),
    skewMs: ((seed % 3) - 1) * 1_000,
  }
}

/** Why a run does not pass. */
const accusations = ({ verdict, reasons }: Report): readonly string[] => (verdict === 'pass' ? [] : reasons)

let lost = 0

describe.each(names)('%s', name => {
  test.each(seeds)('passes the honest service (seed %i)', async seed => {
    const { report, observations } = await virtualRun(distant(name, seed))
    expect(accusations(report)).toEqual([])
    lost += observations.filter(({ outcome }) => outcome.kind === 'failed').length
  })

  test('passes it with two workers', async () => {
    const { report } = await virtualRun({ ...distant(name, 5), workers: 2 })
    expect(accusations(report)).toEqual([])
  })
})

describe.each(['wallet-sign-in', 'wallets', 'x402-races', 'x402-refusals', 'x402-top-up'])('%s', name => {
  test.each(seeds)('passes if signatures take up to three seconds, too (seed %i)', async seed => {
    const random = randomStream(seed, 'signing')
    const { report } = await virtualRun({ ...distant(name, seed), signingMs: () => random.next() ** 2 * 3_000 })
    expect(accusations(report)).toEqual([])
  })
})

test('the network did lose requests', () => expect(lost).toBeGreaterThan(isNightly ? 400 : 80))
