import { expect, test } from 'vitest'
import { defineScenario, prove, UsageError } from '../../../src/turnpike.ts'

const scenario = defineScenario({
  name: 'reads',
  callers: { count: 1 },
  calls: { read: { kind: 'rpc', network: 'ethereum-mainnet', methods: { eth_blockNumber: 1 } } },
  stages: [{ name: 'all', shape: 'sequence', duration: '5s', calls: ['read', 'read'] }],
  thresholds: [{ expect: 'failed == 0', why: 'a test' }],
})
const options = { only: ['rpc.id', 'rpc.response'], workers: 1, sensitivity: false, suggestions: false } as const

test('a program gets the score of a scenario that is data, and the progress', async () => {
  const shown: (readonly [number, number])[] = []
  const proof = await prove(scenario, {
    ...options,
    minScore: 0.1,
    onProgress: ({ done, all }) => shown.push([done, all]),
  })
  expect(proof).toMatchObject({ scenario: 'reads', verdict: 'pass', minScore: 0.1 })
  expect(proof.mutants.map(({ clause }) => clause)).toContain('rpc.id')
  expect(shown.length).toBeGreaterThan(3)
  expect(shown.at(-1)).toEqual([shown.length, shown.length])
})

test('an aborted signal ends it with its reason, before and between runs', async () => {
  const abort = new AbortController()
  const onProgress = () => abort.abort(new Error('enough'))
  await expect(prove(scenario, { ...options, signal: abort.signal, onProgress })).rejects.toThrow('enough')
  await expect(prove(scenario, { ...options, signal: abort.signal })).rejects.toThrow('enough')
})

test.each([
  [{ minScore: 80 }, 'options.minScore: got 80, expected a share from 0 to 1'],
  [{ workers: 0 }, 'options.workers: got 0, expected a whole number from 1 to 64'],
  [{ target: 'http://127.0.0.1' }, 'target'],
])('%j is a mistake', async (given, message) => {
  const mistaken = prove(scenario, given as never)
  await expect(mistaken).rejects.toThrow(UsageError)
  await expect(mistaken).rejects.toThrow(message)
})
