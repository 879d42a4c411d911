import type { Network } from '../contract/contract.ts'
import type { Random } from '../lib/random.ts'

/** A method of each family that rejects the parameter `"invalid"`: how an item is made to fail on purpose. */
export const failingMethods: Readonly<Record<Network['family'], string>> = {
  evm: 'eth_getBalance',
  solana: 'getBalance',
  starknet: 'starknet_call',
}

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Well-formed positional parameters for `method`; an empty list where none are known. They only read. */
export function paramsOf(method: string, random: Random): readonly unknown[] {
  switch (method) {
    case 'eth_call':
    case 'eth_estimateGas':
      return [call(random), 'latest']
    case 'eth_getBalance':
    case 'eth_getCode':
    case 'eth_getTransactionCount':
      return [address(random), 'latest']
    case 'eth_getStorageAt':
      return [address(random), '0x0', 'latest']
    case 'eth_getBlockByNumber':
      return [block(random), false]
    case 'eth_getBlockByHash':
      return [hash(random), false]
    case 'eth_getBlockReceipts':
    case 'debug_traceBlockByNumber':
    case 'trace_block':
      return [block(random)]
    case 'eth_getTransactionReceipt':
    case 'eth_getTransactionByHash':
    case 'debug_traceTransaction':
    case 'trace_transaction':
    case 'debug_traceBlockByHash':
      return [hash(random)]
    case 'eth_getLogs': {
      const at = block(random)
      return [{ fromBlock: at, toBlock: at, address: address(random) }]
    }
    case 'eth_feeHistory':
      return ['0x5', 'latest', [25, 75]]
    case 'eth_getProof':
      return [address(random), [], 'latest']
    case 'debug_traceCall':
      return [call(random), 'latest', {}]
    case 'trace_call':
      return [call(random), ['trace'], 'latest']
    case 'trace_replayTransaction':
      return [hash(random), ['trace']]
    case 'trace_replayBlockTransactions':
      return [block(random), ['trace']]
    case 'web3_sha3':
      return [hex(8, random)]
    case 'getAccountInfo':
    case 'getBalance':
      return [pubkey(random)]
    default:
      return []
  }
}

const hex = (digits: number, random: Random): string =>
  `0x${Array.from({ length: digits }, () => random.int(16).toString(16)).join('')}`

const address = (random: Random): string => hex(40, random)
const hash = (random: Random): string => hex(64, random)
const block = (random: Random): string => `0x${(18_000_000 + random.int(1_000_000)).toString(16)}`
const pubkey = (random: Random): string => Array.from({ length: 44 }, () => base58[random.int(58)]).join('')
const call = (random: Random) => ({ to: address(random), data: hex(8, random) })
