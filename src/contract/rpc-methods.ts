import type { MethodTier } from './contract.ts'

/**
 * The allow-list by family, as far as it is publicly known. The document gives only the three multipliers; the tier of
 * each method is a profile value.
 */
type Tiers = Readonly<Record<MethodTier, readonly string[]>>

const evm: Tiers = {
  standard: [
    'eth_blockNumber',
    'eth_call',
    'eth_chainId',
    'eth_estimateGas',
    'eth_feeHistory',
    'eth_gasPrice',
    'eth_getBalance',
    'eth_getBlockByHash',
    'eth_getBlockByNumber',
    'eth_getBlockReceipts',
    'eth_getCode',
    'eth_getLogs',
    'eth_getProof',
    'eth_getStorageAt',
    'eth_getTransactionByHash',
    'eth_getTransactionCount',
    'eth_getTransactionReceipt',
    'eth_maxPriorityFeePerGas',
    'eth_sendRawTransaction',
    'eth_simulateV1',
    'eth_syncing',
    'net_listening',
    'net_peerCount',
    'net_version',
    'web3_clientVersion',
    'web3_sha3',
    'eth_sendUserOperation',
    'eth_estimateUserOperationGas',
    'eth_getUserOperationByHash',
    'eth_getUserOperationReceipt',
    'eth_supportedEntryPoints',
    'pimlico_getUserOperationGasPrice',
    'pimlico_getUserOperationStatus',
  ],
  advanced: [
    'trace_block',
    'trace_call',
    'trace_callMany',
    'trace_filter',
    'trace_rawTransaction',
    'trace_transaction',
    'debug_storageRangeAt',
    'debug_traceBlock',
    'debug_traceBlockByHash',
    'debug_traceBlockByNumber',
    'debug_traceCall',
    'debug_traceTransaction',
    'txpool_inspect',
    'txpool_status',
    'arbtrace_block',
    'arbtrace_call',
    'arbtrace_callMany',
    'arbtrace_filter',
    'arbtrace_transaction',
  ],
  large: [
    'trace_replayBlockTransactions',
    'trace_replayTransaction',
    'txpool_content',
    'arbtrace_replayTransaction',
    'arbtrace_replayBlockTransactions',
  ],
}

const solana: Tiers = {
  standard: [
    'getAccountInfo',
    'getBalance',
    'getBlockHeight',
    'getLatestBlockhash',
    'getProgramAccounts',
    'getSignatureStatuses',
    'getSlot',
    'getTransaction',
    'sendTransaction',
    'simulateTransaction',
  ],
  advanced: [],
  large: ['getLargestAccounts', 'getSupply'],
}

const starknet: Tiers = {
  standard: [
    'starknet_blockNumber',
    'starknet_call',
    'starknet_chainId',
    'starknet_getBlockWithTxs',
    'starknet_getNonce',
  ],
  advanced: [],
  large: [],
}

const byMethod = (tiers: Tiers): Record<string, MethodTier> =>
  Object.fromEntries(
    (['standard', 'advanced', 'large'] as const).flatMap(tier => tiers[tier].map(method => [method, tier] as const)),
  )

export const rpcMethods = { evm: byMethod(evm), solana: byMethod(solana), starknet: byMethod(starknet) }

/** Methods that the service lists as unsupported, by its stated reason. All of them get a 400. */
export const unsupportedMethods = {
  'websocket-only': ['eth_subscribe', 'eth_unsubscribe'],
  'websocket-only-solana': [
    'account',
    'block',
    'logs',
    'program',
    'root',
    'signature',
    'slot',
    'slotsUpdates',
    'vote',
  ].flatMap(subject => [`${subject}Subscribe`, `${subject}Unsubscribe`]),
  'stateful-filter': [
    'eth_newFilter',
    'eth_getFilterChanges',
    'eth_getFilterLogs',
    'eth_uninstallFilter',
    'eth_newBlockFilter',
    'eth_newPendingTransactionFilter',
  ],
  'key-holding': ['eth_sign', 'eth_accounts', 'eth_mining', 'eth_hashrate', 'eth_getWork', 'eth_submitWork'],
} as const

/**
 * How often applications call each EVM method: counts in a sample of 5,000 queries to a public provider in December
 * 2019, as published in the source of ethspam (github.com/shazow/ethspam, queries.go). Sent transactions are left out,
 * since a load test must not write to a chain, and net_peerCount, since it is about a node and a proxy may not have it.
 */
export const usualEvmMethods: readonly (readonly [method: string, weight: number])[] = [
  ['eth_call', 1928],
  ['eth_getTransactionReceipt', 607],
  ['eth_getBalance', 545],
  ['eth_getBlockByNumber', 399],
  ['eth_getTransactionCount', 390],
  ['eth_blockNumber', 333],
  ['eth_getTransactionByHash', 255],
  ['eth_getLogs', 252],
  ['eth_getCode', 88],
  ['eth_estimateGas', 45],
  ['eth_getBlockByHash', 38],
  ['net_version', 25],
  ['eth_gasPrice', 14],
  ['net_listening', 12],
  ['eth_syncing', 4],
  ['eth_getStorageAt', 4],
]
