import { getCreateAddress, Transaction, Wallet } from 'ethers'
import { hexToBytes, keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { conversation, item, jsonOf } from '../conversation.ts'

/** Asks a network of a service on a manual clock. */
function chain() {
  const { clock, rpc } = conversation()
  const response = (method: string, ...params: readonly unknown[]) => jsonOf(rpc(item(method, 1, params)))
  return { clock, response, ask: (method: string, ...params: readonly unknown[]) => response(method, ...params).result }
}

const recipient = `0x${'17'.repeat(20)}`

/** A transaction of a new account, signed by ethers. */
async function signed(more: Readonly<Record<string, unknown>> = {}, wallet = Wallet.createRandom()) {
  const raw = await wallet.signTransaction({
    type: 2,
    chainId: 1,
    to: recipient,
    nonce: 0,
    value: 7n,
    gasLimit: 21_000n,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 7n,
    ...more,
  })
  return { raw, hash: Transaction.from(raw).hash ?? '', from: wallet.address.toLowerCase(), wallet }
}

test('a block and a receipt have a Bloom filter with the bits of their logs, and no others', () => {
  const { ask } = chain()
  const { hash, logsBloom } = ask('eth_getBlockByNumber', 'latest', false)
  const bits = new Set<number>()
  for (const { address, topics } of ask('eth_getLogs', { blockHash: hash }))
    for (const value of [address, ...topics]) {
      const digest = hexToBytes(keccak256(value))
      for (const at of [0, 2, 4]) bits.add((((digest[at] ?? 0) << 8) | (digest[at + 1] ?? 0)) & 2047)
    }
  const bloom = hexToBytes(logsBloom)
  const set = Array.from({ length: 2048 }, (_, bit) => bit).filter(
    bit => ((bloom[255 - (bit >> 3)] ?? 0) >> (bit & 7)) & 1,
  )
  expect(set).toEqual([...bits].sort((a, b) => a - b))
})

test.each([
  ['eth_call', 'latest'],
  ['eth_call', { to: 'nowhere' }],
  ['eth_estimateGas', null],
  ['eth_getTransactionReceipt', '0x1'],
  ['eth_getTransactionByHash', 7],
  ['eth_getBlockByHash', 'latest'],
  ['eth_getBlockReceipts', `0x${'z'.repeat(64)}`],
])('%s refuses the parameter %j', (method, parameter) => {
  expect(chain().response(method, parameter).error).toMatchObject({ code: -32_602 })
})

test('the chain grows by a block in twelve seconds, and its latest block is not older than that', async () => {
  const { clock, ask } = chain()
  const first = Number(ask('eth_blockNumber'))
  await clock.advanceTo(clock.nowMs() + 36_000)
  expect(Number(ask('eth_blockNumber'))).toBe(first + 3)
  const age = clock.wallMs() / 1000 - Number(ask('eth_getBlockByNumber', 'latest', false).timestamp)
  expect(age).toBeGreaterThanOrEqual(0)
  expect(age).toBeLessThan(12)
  expect(ask('eth_getBlockByNumber', `0x${(first + 4).toString(16)}`, false)).toBeNull()
})

describe('a transaction of a client', () => {
  test.each([
    ['EIP-1559', {}],
    ['EIP-2930', { type: 1, gasPrice: 10n ** 9n, maxFeePerGas: null, maxPriorityFeePerGas: null }],
    ['legacy', { type: 0, gasPrice: 10n ** 9n, maxFeePerGas: null, maxPriorityFeePerGas: null }],
  ])('is pending, then in the next block: %s', async (_, more) => {
    const { clock, ask } = chain()
    const { raw, hash, from } = await signed(more)
    const head = Number(ask('eth_blockNumber'))
    expect(ask('eth_sendRawTransaction', raw)).toBe(hash)
    expect(ask('eth_getTransactionByHash', hash)).toMatchObject({ hash, from, to: recipient, blockHash: null })
    expect(ask('eth_getTransactionReceipt', hash)).toBeNull()
    expect(['latest', 'pending'].map(tag => ask('eth_getTransactionCount', from, tag))).toEqual(['0x0', '0x1'])

    await clock.advanceTo(clock.nowMs() + 12_000)
    const block = ask('eth_getBlockByNumber', `0x${(head + 1).toString(16)}`, false)
    expect(block.transactions).toContain(hash)
    expect(ask('eth_getTransactionReceipt', hash)).toMatchObject({
      transactionHash: hash,
      blockHash: block.hash,
      transactionIndex: `0x${block.transactions.indexOf(hash).toString(16)}`,
      from,
      gasUsed: '0x5208',
      cumulativeGasUsed: block.gasUsed,
      status: '0x1',
    })
    const receipts: readonly { readonly gasUsed: string }[] = ask('eth_getBlockReceipts', block.number)
    expect(receipts.reduce((total, { gasUsed }) => total + Number(gasUsed), 0)).toBe(Number(block.gasUsed))
    expect(ask('eth_getTransactionCount', from, 'latest')).toBe('0x1')
  })

  test('that creates a contract has its address in the receipt', async () => {
    const { clock, ask } = chain()
    const { raw, hash, from } = await signed({ to: null, data: '0x6001', gasLimit: 90_000n, nonce: 300 })
    ask('eth_sendRawTransaction', raw)
    await clock.advanceTo(clock.nowMs() + 12_000)
    expect(ask('eth_getTransactionReceipt', hash)).toMatchObject({
      to: null,
      contractAddress: getCreateAddress({ from, nonce: 300 }).toLowerCase(),
    })
  })

  test('is refused if the chain cannot take it', async () => {
    const { ask, response } = chain()
    const first = await signed()
    ask('eth_sendRawTransaction', first.raw)
    const messageOf = async (more: Readonly<Record<string, unknown>>, wallet = Wallet.createRandom()) =>
      response('eth_sendRawTransaction', (await signed(more, wallet)).raw).error.message
    expect(response('eth_sendRawTransaction', first.raw).error).toEqual({ code: -32_000, message: 'already known' })
    expect(await messageOf({ chainId: 5 })).toBe('invalid chain id, expected 1')
    expect(await messageOf({ value: 8n }, first.wallet)).toBe('nonce too low')
    expect(await messageOf({ gasLimit: 20_000n })).toBe('intrinsic gas too low')
    expect(await messageOf({ maxFeePerGas: 10n ** 7n })).toBe('max fee per gas less than block base fee')
    for (const raw of ['0x', '0x02', first.raw.slice(0, -2), `0x05${first.raw.slice(4)}`, 7])
      expect(response('eth_sendRawTransaction', raw).error.code).toBe(-32_000)
  })
})
