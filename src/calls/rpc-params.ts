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
  const hex = (digits: number) => `0x${Array.from({ length: digits }, () => random.int(16).toString(16)).join('')}`
  const address = () => hex(40)
  const hash = () => hex(64)
  const block = () => `0x${(18_000_000 + random.int(1_000_000)).toString(16)}`
  const pubkey = () => Array.from({ length: 44 }, () => base58[random.int(58)]).join('')
  const call = () => ({ to: address(), data: hex(8) })

  switch (method) {
    case 'eth_call':
    case 'eth_estimateGas':
      return [call(), 'latest']
    case 'eth_getBalance':
    case 'eth_getCode':
    case 'eth_getTransactionCount':
      return [address(), 'latest']
    case 'eth_getStorageAt':
      return [address(), '0x0', 'latest']
    case 'eth_getBlockByNumber':
      return [block(), false]
    case 'eth_getBlockByHash':
      return [hash(), false]
    case 'eth_getBlockReceipts':
    case 'debug_traceBlockByNumber':
    case 'trace_block':
      return [block()]
    case 'eth_getTransactionReceipt':
    case 'eth_getTransactionByHash':
    case 'debug_traceTransaction':
    case 'trace_transaction':
    case 'debug_traceBlockByHash':
      return [hash()]
    case 'eth_getLogs': {
      const at = block()
      return [{ fromBlock: at, toBlock: at, address: address() }]
    }
    case 'eth_feeHistory':
      return ['0x5', 'latest', [25, 75]]
    case 'eth_getProof':
      return [address(), [], 'latest']
    case 'debug_traceCall':
      return [call(), 'latest', {}]
    case 'trace_call':
      return [call(), ['trace'], 'latest']
    case 'trace_replayTransaction':
      return [hash(), ['trace']]
    case 'trace_replayBlockTransactions':
      return [block(), ['trace']]
    case 'web3_sha3':
      return [hex(8)]
    case 'getAccountInfo':
    case 'getBalance':
      return [pubkey()]
    default:
      return []
  }
}
