import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { callResult } from '../../../../src/service/rpc/evm-call.ts'
import { conversation, item, jsonOf } from '../conversation.ts'

/** `String` throws for it. */
const noText = { toString: 1, valueOf: 1 }
const hash = `0x${'ab'.repeat(32)}`
const values: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 2.5, 1e308, '', '0x', '0x1', '0xg', `0x${'f'.repeat(99)}`, hash, hash.slice(0, 42)],
  ...['latest', 'earliest', 'finalized', '🎉', [], [[]], [hash], [noText], [101], {}, noText, { to: noText }],
  ...[
    { fromBlock: 'latest', toBlock: 'earliest' },
    { blockHash: hash, address: [noText], topics: [noText] },
  ],
]

describe('a call of any method with unusual parameters gets a result or an error', () => {
  const { networks, methods } = documentedContract.rpc
  const families = ['ethereum-mainnet', 'solana-mainnet', 'starknet-mainnet'] as const
  const cases = families.flatMap(slug => {
    const family = networks[slug]?.family
    return family === undefined ? [] : Object.keys(methods[family]).map(method => [method, slug] as const)
  })
  test.each(cases)('%s on %s', (method, network) => {
    const { rpc } = conversation()
    for (const shift of [0, 1, 7, 13]) {
      const batch = values.map((first, id) => item(method, id, [first, values[(id + shift) % values.length]]))
      const answers: readonly Record<string, unknown>[] = jsonOf(rpc(batch, { network }))
      expect(answers.map(answer => [answer.id, 'result' in answer !== 'error' in answer])).toEqual(
        batch.map(({ id }) => [id, true]),
      )
    }
  })
})

test('half a block of fees and a percentile above 100 are invalid', () => {
  const { rpc } = conversation()
  const codeOf = (...params: readonly unknown[]) => jsonOf(rpc(item('eth_feeHistory', 1, params))).error?.code
  expect(codeOf(1.5, 'latest')).toBe(-32_602)
  expect(codeOf(1, 'latest', [101])).toBe(-32_602)
  expect(codeOf('0x2', 'latest', [0, 50.5, 100])).toBeUndefined()
})

const word = (value: number): string => value.toString(16).padStart(64, '0')
/** `aggregate3` with `count` calls that all have the same `data`. */
function sharing(data: string, count: number): string {
  const tuple = [word(0), word(1), word(96), word(data.length / 2), data].join('')
  return `82ad56cb${word(32)}${word(count)}${word(count * 32).repeat(count)}${tuple}`
}

test('calls that share their bytes, or contain each other very deep, are one call', () => {
  const bomb = [1, 2, 3, 4].reduce(data => sharing(data, 900), '06fdde03')
  expect(callResult(1, hash.slice(0, 42), `0x${bomb}`)).toHaveLength(66)
  const nested = Array.from({ length: 500 }).reduce<string>(data => sharing(data, 1), '06fdde03')
  expect(callResult(1, hash.slice(0, 42), `0x${nested}`).length).toBeGreaterThan(66)
})
