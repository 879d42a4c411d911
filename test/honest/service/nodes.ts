import type { Chain } from './catalog.ts'
import { digest } from './exchange.ts'
import type { Json } from './reply.ts'
import type { Variant } from './variant.ts'

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** The allow-list of each family. Tiers: most methods cost once, traces twice, replays and supplies four times. */
const allowed: Readonly<Record<Chain['family'], ReadonlySet<string>>> = {
  evm: new Set([
    ...words(`blockNumber call chainId estimateGas feeHistory gasPrice getBalance getBlockByHash getBlockByNumber
      getBlockReceipts getCode getLogs getProof getStorageAt getTransactionByHash getTransactionCount
      getTransactionReceipt maxPriorityFeePerGas sendRawTransaction simulateV1 syncing sendUserOperation
      estimateUserOperationGas getUserOperationByHash getUserOperationReceipt supportedEntryPoints`).map(
      name => `eth_${name}`,
    ),
    ...words('net_listening net_peerCount net_version web3_clientVersion web3_sha3'),
    ...words('pimlico_getUserOperationGasPrice pimlico_getUserOperationStatus'),
    ...words(`trace_block trace_call trace_callMany trace_filter trace_rawTransaction trace_transaction
      debug_storageRangeAt debug_traceBlock debug_traceBlockByHash debug_traceBlockByNumber debug_traceCall
      debug_traceTransaction txpool_inspect txpool_status arbtrace_block arbtrace_call arbtrace_callMany
      arbtrace_filter arbtrace_transaction`),
    ...words(`trace_replayBlockTransactions trace_replayTransaction txpool_content arbtrace_replayTransaction
      arbtrace_replayBlockTransactions`),
  ]),
  solana: new Set(
    words(`getAccountInfo getBalance getBlockHeight getLatestBlockhash getProgramAccounts getSignatureStatuses getSlot
      getTransaction sendTransaction simulateTransaction getLargestAccounts getSupply`),
  ),
  starknet: new Set(
    words(`starknet_blockNumber starknet_call starknet_chainId starknet_getBlockWithTxs starknet_getNonce`),
  ),
}

export const isOfFamily = ({ family }: Chain, method: string): boolean => allowed[family].has(method)

/** Whether the proxy refuses a method: it has a list for each family, or one for all networks. */
export const unsupported = (chain: Chain, method: string, lists: Variant['methodLists']): boolean =>
  lists === 'one' ? !Object.values(allowed).some(list => list.has(method)) : !isOfFamily(chain, method)

export function multiplierOf(method: string): 1 | 2 | 4 {
  if (/_replay|^txpool_content$|^getLargestAccounts$|^getSupply$/.test(method)) return 4
  return /^(trace|debug|arbtrace|txpool)_/.test(method) ? 2 : 1
}

/** The first parameter that a method needs. */
const firstParameter: Readonly<Record<string, RegExp>> = {
  eth_getBalance: /^0x[0-9a-f]{40}$/i,
  eth_getCode: /^0x[0-9a-f]{40}$/i,
  eth_getTransactionCount: /^0x[0-9a-f]{40}$/i,
  eth_sendRawTransaction: /^0x[0-9a-f]+$/i,
  getBalance: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
  starknet_call: /^0x/,
}

/** What a node of the chain answers. */
export function execute(chain: Chain, { id, method, params }: Json, now: number): Json {
  const { slug, family } = chain
  const first = Array.isArray(params) ? (params as readonly unknown[])[0] : undefined
  const pattern = firstParameter[`${method}`]
  const head = { jsonrpc: '2.0', ...(id !== undefined && { id }) }
  if (!isOfFamily(chain, `${method}`))
    return { ...head, error: { code: -32601, message: `the method ${method} does not exist` } }
  if (pattern !== undefined && !(typeof first === 'string' && pattern.test(first))) {
    return { ...head, error: { code: -32602, message: `invalid argument 0 of ${method}` } }
  }
  if (method === 'eth_getLogs' && typeof first !== 'object') {
    return { ...head, error: { code: -32602, message: 'missing filter' } }
  }
  const height = Math.floor(now / 50)
  const text = digest(`${slug} ${method} ${JSON.stringify(params)} ${height}`)
  switch (method) {
    case 'eth_blockNumber':
      return { ...head, result: `0x${height.toString(16)}` }
    case 'eth_getLogs':
      return { ...head, result: [] }
    case 'eth_syncing':
      return { ...head, result: false }
    default:
      return {
        ...head,
        result: family === 'evm' ? `0x${text.slice(0, 40)}` : { value: text.slice(0, 12), slot: height },
      }
  }
}
