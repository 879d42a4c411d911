import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { writtenCallsOf } from '../../../src/scenario/calls/calls.ts'
import { loadScenario, parseScenario } from '../../../src/scenario/load-scenario.ts'

/** Without those whose rates need the profile of another service. */
const files = readdirSync('scenarios').filter(file => /^(?!llm-server|rpc-node|rpc-coherence).*\.yaml$/.test(file))

describe('the calls of a shipped scenario are written as calls that resolve to the same', () => {
  test.each(files)('%s', file => {
    const { calls, callers } = loadScenario(`scenarios/${file}`, documentedContract)
    const written = {
      name: 'written',
      callers: { count: callers.count, wallets: callers.wallets, 'keys-per-caller': callers.keys },
      calls: writtenCallsOf(calls),
      stages: [{ name: 'all', shape: 'pause', duration: '1s' }],
    }
    const again = parseScenario(written, 'written', documentedContract)
    expect(again.calls).toMatchObject(calls)
  })
})

test('a call that only a replay repeats gets a name of its own', () => {
  const of = {
    kind: 'rpc',
    network: 'ethereum-mainnet',
    methods: [['eth_call', 1]],
    batchSize: null,
    failing: 0,
  } as const
  const ratios = { conflictRatio: 0, otherCallerRatio: 0, otherKeyRatio: 0, repeatAfterMs: 2500 }
  const replay = { kind: 'replay', of, duplicates: 0, concurrent: false, ...ratios } as const
  const written = writtenCallsOf({ original: { kind: 'models' }, late: replay })
  expect(written).toEqual({
    original: { kind: 'models' },
    late: { kind: 'replay', of: 'original-2', duplicates: 0, 'repeat-after': '2500ms' },
    'original-2': { kind: 'rpc', network: 'ethereum-mainnet', methods: { eth_call: 1 } },
  })
})
