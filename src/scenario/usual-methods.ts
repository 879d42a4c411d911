/**
 * How often applications call which EVM method: counts in a sample of 5,000 queries to a public provider in December
 * 2019, as published in the source of ethspam (github.com/shazow/ethspam, queries.go). Transactions that were sent are
 * left out, since a load test must not write to a chain.
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
  ['net_peerCount', 7],
  ['eth_syncing', 4],
  ['eth_getStorageAt', 4],
]
