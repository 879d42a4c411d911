import { type EvmBlock, type EvmChain, type EvmLog, type EvmTransaction, gasLimit, logsBloom } from './evm-chain.ts'

import { createdAddress } from './raw-transaction.ts'

export const quantity = (value: number | bigint): string => `0x${value.toString(16)}`

/** Of an empty list of uncles, an empty trie, and no requests. */
const noUncles = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const emptyTrie = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const noRequests = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** A block as in the execution API, with its transactions or their hashes. */
export function blockView(chain: EvmChain, block: EvmBlock, full: boolean): Readonly<Record<string, unknown>> {
  const { number, transactions } = block
  const drawn = (name: string) => `0x${chain.digest(`${name}/${number}`)}`
  return {
    number: quantity(number),
    hash: block.hash,
    parentHash: block.parentHash,
    sha3Uncles: noUncles,
    miner: drawn('miner').slice(0, 42),
    stateRoot: drawn('state'),
    transactionsRoot: drawn('transactions'),
    receiptsRoot: drawn('receipts'),
    logsBloom: logsBloom(transactions.flatMap(({ logs }) => logs)),
    difficulty: '0x0',
    gasLimit: quantity(gasLimit),
    gasUsed: quantity(block.gasUsed),
    timestamp: quantity(block.timestamp),
    extraData: '0x',
    mixHash: drawn('mix'),
    nonce: '0x0000000000000000',
    baseFeePerGas: quantity(block.baseFee),
    withdrawalsRoot: emptyTrie,
    blobGasUsed: '0x0',
    excessBlobGas: '0x0',
    parentBeaconBlockRoot: drawn('beacon'),
    requestsHash: noRequests,
    size: quantity(600 + transactions.length * 190),
    transactions: transactions.map(each => (full ? transactionView(chain, block, each) : each.hash)),
    withdrawals: [],
    uncles: [],
  }
}

export function transactionView(chain: EvmChain, block: EvmBlock, transaction: EvmTransaction) {
  const { r, s, yParity } = transaction.signature
  return {
    ...placeOf(block),
    transactionIndex: quantity(transaction.index),
    hash: transaction.hash,
    type: quantity(transaction.type),
    chainId: quantity(chain.chainId),
    nonce: quantity(transaction.nonce),
    from: transaction.from,
    to: transaction.to,
    value: quantity(transaction.value),
    input: transaction.input,
    gas: quantity(transaction.gasLimit),
    gasPrice: quantity(priceOf(block, transaction)),
    ...(transaction.type === 2 && {
      maxFeePerGas: quantity(transaction.maxFee),
      maxPriorityFeePerGas: quantity(transaction.maxTip),
    }),
    ...(transaction.type > 0 && { accessList: [], yParity: quantity(yParity) }),
    v: quantity(transaction.type > 0 ? yParity : 2 * chain.chainId + 35 + yParity),
    r,
    s,
  }
}

/** A transaction that is in no block yet. */
export const pendingView = (chain: EvmChain, block: EvmBlock, transaction: EvmTransaction) => ({
  ...transactionView(chain, block, transaction),
  blockHash: null,
  blockNumber: null,
  blockTimestamp: null,
  transactionIndex: null,
  gasPrice: quantity(transaction.maxFee),
})

export function receiptView(block: EvmBlock, transaction: EvmTransaction) {
  return {
    ...withoutTime(placeOf(block)),
    transactionHash: transaction.hash,
    transactionIndex: quantity(transaction.index),
    type: quantity(transaction.type),
    from: transaction.from,
    to: transaction.to,
    cumulativeGasUsed: quantity(transaction.cumulativeGasUsed),
    gasUsed: quantity(transaction.gasUsed),
    contractAddress: transaction.to === null ? createdAddress(transaction.from, transaction.nonce) : null,
    logs: logViews(block, transaction),
    logsBloom: logsBloom(transaction.logs),
    status: '0x1',
    effectiveGasPrice: quantity(priceOf(block, transaction)),
  }
}

export const logViews = (block: EvmBlock, { hash, index, logs, logsBefore }: EvmTransaction) =>
  logs.map((log: EvmLog, position) => ({
    ...placeOf(block),
    transactionHash: hash,
    transactionIndex: quantity(index),
    logIndex: quantity(logsBefore + position),
    removed: false,
    ...log,
  }))

const placeOf = ({ hash, number, timestamp }: EvmBlock) => ({
  blockHash: hash,
  blockNumber: quantity(number),
  blockTimestamp: quantity(timestamp),
})

const withoutTime = ({ blockHash, blockNumber }: ReturnType<typeof placeOf>) => ({ blockHash, blockNumber })

/** What a transaction pays for a unit of gas. */
export const priceOf = ({ baseFee }: EvmBlock, { maxFee, maxTip }: EvmTransaction): bigint =>
  baseFee + (maxTip < maxFee - baseFee ? maxTip : maxFee - baseFee)
