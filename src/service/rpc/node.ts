import type { Network } from '../../contract/contract.ts'
import { type Random, randomStream } from '../../lib/random.ts'
import type { ParsedItem, RpcResponse } from './item.ts'

/**
 * The upstream node: a result depends on the seed, the network, the method and its parameters alone. The parameters
 * `["invalid"]` are invalid for every method, so that a caller can request a failure.
 */
export function simulatedNode(seed: number): (slug: string, network: Network, item: ParsedItem) => RpcResponse {
  return (slug, { family }, { method, params, id }) => {
    if (params.length === 1 && params[0] === 'invalid') {
      return { jsonrpc: '2.0', id, error: { code: -32602, message: 'invalid params' } }
    }
    const draw = results[method] ?? defaultResults[family]
    return { jsonrpc: '2.0', id, result: draw(randomStream(seed, `${slug}/${method}/${JSON.stringify(params)}`)) }
  }
}

type Draw = (random: Random) => unknown

const number = (random: Random) => 18_000_000 + random.int(4_000_000)
const quantity = (random: Random) => `0x${number(random).toString(16)}`
const hex = (random: Random, bytes: number) =>
  `0x${Array.from({ length: bytes }, () => random.int(256).toString(16).padStart(2, '0')).join('')}`
const hash = (random: Random) => hex(random, 32)
const none = () => null
const empty = () => []
const trace = (random: Random) => [{ type: 'call', action: { gas: quantity(random), value: '0x0' }, traceAddress: [] }]

const base58 = (random: Random, length: number) =>
  Array.from({ length }, () =>
    '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'.charAt(random.int(58)),
  ).join('')
const inContext = (random: Random, value: unknown) => ({
  context: { slot: 250_000_000 + random.int(1_000_000) },
  value,
})
const lamports = (random: Random) => random.int(1_000_000_000)

const block = (random: Random) => ({
  number: quantity(random),
  hash: hash(random),
  parentHash: hash(random),
  timestamp: `0x${(1_700_000_000 + random.int(50_000_000)).toString(16)}`,
  gasUsed: quantity(random),
  transactions: [hash(random), hash(random)],
})
const receipt = (random: Random) => ({
  transactionHash: hash(random),
  blockNumber: quantity(random),
  status: '0x1',
  gasUsed: quantity(random),
  logs: [],
})

const defaultResults = {
  evm: quantity,
  solana: (random: Random) => inContext(random, null),
  starknet: (random: Random) => [hash(random)],
} as const satisfies Record<Network['family'], Draw>

const results: Readonly<Record<string, Draw>> = {
  eth_call: hash,
  eth_chainId: () => '0x1',
  eth_getBlockByHash: block,
  eth_getBlockByNumber: block,
  eth_getBlockReceipts: random => [receipt(random)],
  eth_getCode: random => hex(random, 48),
  eth_getLogs: empty,
  eth_getStorageAt: hash,
  eth_getTransactionByHash: random => ({ hash: hash(random), blockNumber: quantity(random), value: quantity(random) }),
  eth_getTransactionReceipt: receipt,
  eth_getUserOperationByHash: none,
  eth_getUserOperationReceipt: none,
  eth_sendRawTransaction: hash,
  eth_sendUserOperation: hash,
  eth_supportedEntryPoints: random => [hex(random, 20)],
  eth_syncing: () => false,
  net_listening: () => true,
  net_version: () => '1',
  web3_clientVersion: () => 'Reference/v1.0.0/linux',
  web3_sha3: hash,
  trace_block: trace,
  trace_filter: empty,
  trace_transaction: trace,
  debug_traceTransaction: random => ({ gas: number(random), failed: false, returnValue: hash(random), structLogs: [] }),
  txpool_content: () => ({ pending: {}, queued: {} }),
  txpool_status: random => ({ pending: quantity(random), queued: '0x0' }),

  getBalance: random => inContext(random, lamports(random)),
  getBlockHeight: number,
  getLatestBlockhash: random =>
    inContext(random, { blockhash: base58(random, 44), lastValidBlockHeight: number(random) }),
  getLargestAccounts: random => inContext(random, [{ address: base58(random, 44), lamports: lamports(random) }]),
  getProgramAccounts: empty,
  getSlot: number,
  getSupply: random => inContext(random, { total: lamports(random), circulating: lamports(random), nonCirculating: 0 }),
  getTransaction: none,
  sendTransaction: random => base58(random, 88),

  starknet_blockNumber: number,
  starknet_chainId: () => '0x534e5f4d41494e',
  starknet_getNonce: quantity,
}
