import { isObject, isPresent, type JsonObject, plainText } from '../../lib/json.ts'
import { randomStream } from '../../lib/random.ts'
import { keccak256 } from '../wallets/identity.ts'
import { callResult } from './evm-call.ts'
import { type EvmBlock, type EvmChain, gasLimit, tipOf, transferGas } from './evm-chain.ts'
import { blockView, logViews, pendingView, priceOf, quantity, receiptView, transactionView } from './evm-views.ts'
import { decodeTransaction } from './raw-transaction.ts'

/** Thrown for a request that a node refuses, with the code of its error. */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal' as const
  readonly code: number

  constructor(message: string, code = -32_602) {
    super(message)
    this.code = code
  }
}

/** For a transaction that is well-formed, but not valid on the chain. */
const refused = (message: string) => new NodeRefusal(message, -32_000)

type Context = {
  readonly chain: EvmChain
  readonly seed: number
  readonly head: number
  readonly params: readonly unknown[]
}
type Method = (context: Context) => unknown

const maxRange = 1_000
const maxHistory = 1_024
const safeDepth = 32
const finalDepth = 64
const zeroAddress = `0x${'0'.repeat(40)}`

/** The number of a block that a parameter names: a tag or a quantity. May be beyond the head. */
function numberOf(value: unknown, head: number): number {
  if (value === undefined || value === null || value === 'latest' || value === 'pending') return head
  if (value === 'earliest') return 0
  if (value === 'safe') return head - safeDepth
  if (value === 'finalized') return head - finalDepth
  if (typeof value === 'string' && /^0x[0-9a-f]{1,12}$/i.test(value)) return Number(value)
  throw new NodeRefusal('invalid block number or tag')
}

const blockAt = ({ chain, head }: Context, value: unknown): EvmBlock | null => {
  const number = numberOf(value, head)
  return number > head ? null : chain.block(number, head)
}

/** A hash that a parameter holds; null if there is no parameter. */
function hashOf(value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value)) return value
  throw new NodeRefusal('invalid hash')
}

function blockByHash({ chain, head }: Context, value: unknown): EvmBlock | null {
  const hash = hashOf(value)
  const place = hash === null ? null : chain.find('block', hash)
  return place === null || place.number > head ? null : chain.blockAt(place)
}

/** A transaction by its hash, with its block; null if the chain has none. */
function transactionAt({ chain, head, params }: Context) {
  const hash = hashOf(params[0])
  const place = hash === null ? null : chain.find('transaction', hash)
  const block = place === null ? null : chain.block(place.number, head)
  const transaction = block?.transactions[place?.index ?? 0]
  return block === null || transaction === undefined
    ? null
    : { block, transaction, isPending: block.number > head, isSent: chain.isSent(transaction.hash) }
}

/** The same, if it is in a block. */
function minedAt(context: Context) {
  const found = transactionAt(context)
  return found?.isPending === false ? found : null
}

const hexOf = (value: unknown, fallback = '0x'): string =>
  typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value) ? value : fallback

/** A missing address is the zero address, so that a method can be called without parameters. */
const addressOf = (value: unknown = zeroAddress): string => {
  if (typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value)) return value.toLowerCase()
  throw new NodeRefusal('invalid address')
}

/** The call in the first parameter. */
function callOf([call = {}]: readonly unknown[]): { readonly to: string; readonly data: string } {
  if (!isObject(call)) throw new NodeRefusal('a call must be an object')
  const { to, data, input } = call
  if (isPresent(to)) addressOf(to)
  return { to: hexOf(to), data: hexOf(input, hexOf(data)) }
}

const called: Method = ({ seed, params }) => {
  const { to, data } = callOf(params)
  return callResult(seed, to, data)
}

function gasOf({ params }: Context): number {
  const { data } = callOf(params)
  return data === '0x' ? transferGas : transferGas + 30_000 + Math.ceil(data.length / 2 - 1) * 16
}

const drawn = ({ chain, params }: Context, name: string): string => chain.digest(`${name}/${JSON.stringify(params)}`)

const balance: Method = ({ chain, params }) =>
  quantity(BigInt(`0x${chain.digest(`balance/${addressOf(params[0])}`).slice(0, 16)}`))

const logs: Method = context => {
  const [filter = {}] = context.params
  if (!isObject(filter)) throw new NodeRefusal('a filter must be an object')
  return blocksOf(context, filter).flatMap(block =>
    block.transactions.flatMap(transaction =>
      logViews(block, transaction).filter(log => accepts(filter.address, log.address) && hasTopics(filter.topics, log)),
    ),
  )
}

function blocksOf(context: Context, { blockHash, fromBlock, toBlock }: JsonObject): readonly EvmBlock[] {
  if (blockHash !== undefined) {
    const block = blockByHash(context, blockHash)
    if (block === null) throw new NodeRefusal('unknown block')
    return [block]
  }
  const from = numberOf(fromBlock, context.head)
  const to = Math.min(numberOf(toBlock, context.head), context.head)
  if (to - from >= maxRange) throw new NodeRefusal(`the range must not have more than ${maxRange} blocks`)
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) =>
    context.chain.block(from + index, context.head),
  )
}

/** Whether a filter has this value: alone, in a list, or any value. */
function accepts(wanted: unknown, value: string | undefined): boolean {
  if (wanted === undefined || wanted === null) return true
  const list: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
  return list.length === 0 || list.some(each => typeof each === 'string' && each.toLowerCase() === value)
}

const hasTopics = (topics: unknown, log: { readonly topics: readonly string[] }): boolean =>
  !Array.isArray(topics) || topics.every((wanted, position) => accepts(wanted, log.topics[position]))

const feeHistory: Method = context => {
  const { chain, head, params } = context
  const [count = 1, newest, percentiles] = params
  const asked = typeof count === 'number' ? count : Number(hexOf(count, ''))
  const last = Math.min(numberOf(newest, head), head)
  const length = Math.min(asked, maxHistory, last + 1)
  if (!Number.isInteger(length) || length < 1) throw new NodeRefusal('invalid block count')
  const blocks = Array.from({ length }, (_, index) => chain.block(last - length + 1 + index, head))
  const shares: readonly unknown[] | null = Array.isArray(percentiles) ? percentiles : null
  if (shares !== null && !shares.every(isPercentile)) throw new NodeRefusal('invalid reward percentile')
  return {
    oldestBlock: quantity(last - length + 1),
    baseFeePerGas: [...blocks.map(({ baseFee }) => quantity(baseFee)), quantity(chain.baseFee(last + 1))],
    gasUsedRatio: blocks.map(({ gasUsed }) => gasUsed / gasLimit),
    baseFeePerBlobGas: Array.from({ length: length + 1 }, () => '0x1'),
    blobGasUsedRatio: blocks.map(() => 0),
    ...(shares !== null && { reward: blocks.map(block => shares.map(share => quantity(tipAt(block, share)))) }),
  }
}

const isPercentile = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 100

/** The tip at a percentile of the gas of a block. */
function tipAt(block: EvmBlock, percentile: number): bigint {
  const paid = block.transactions
    .map(each => ({ gas: each.gasUsed, tip: priceOf(block, each) - block.baseFee }))
    .sort((a, b) => Number(a.tip - b.tip))
  let left = (block.gasUsed * percentile) / 100
  for (const { gas, tip } of paid) {
    left -= gas
    if (left <= 0) return tip
  }
  return 0n
}

const traces = (block: EvmBlock, index: number | null) =>
  block.transactions
    .filter(each => index === null || each.index === index)
    .map(({ hash, from, to, value, input, gasLimit: gas, gasUsed, index: position }) => ({
      action: { callType: 'call', from, to, gas: quantity(gas), input, value: quantity(value) },
      blockHash: block.hash,
      blockNumber: block.number,
      result: { gasUsed: quantity(gasUsed), output: '0x' },
      subtraces: 0,
      traceAddress: [],
      transactionHash: hash,
      transactionPosition: position,
      type: 'call',
    }))

const simulated: Method = ({ chain, seed, head, params }) => {
  const [payload] = params
  const states = isObject(payload) && Array.isArray(payload.blockStateCalls) ? payload.blockStateCalls : []
  return states.map((state: unknown, index) => {
    const calls: readonly unknown[] = isObject(state) && Array.isArray(state.calls) ? state.calls : []
    return {
      ...blockView(chain, { ...chain.block(head + index + 1, head), transactions: [] }, false),
      calls: calls.map(call => {
        const { to, data } = callOf([call])
        return { returnData: callResult(seed, to, data), logs: [], gasUsed: quantity(transferGas), status: '0x1' }
      }),
    }
  })
}

const proof: Method = context => {
  const { chain, params, head } = context
  const address = addressOf(params[0])
  const keys: readonly unknown[] = Array.isArray(params[1]) ? params[1] : []
  const node = (name: string) => [`0x${chain.digest(`${name}/${address}`)}`]
  return {
    address,
    accountProof: node('account-proof'),
    balance: balance(context),
    codeHash: `0x${chain.digest(`code/${address}`)}`,
    nonce: quantity(chain.nonceOf(address, head)),
    storageHash: `0x${chain.digest(`storage/${address}`)}`,
    storageProof: keys.map(key => ({ key, value: '0x0', proof: node(`storage-proof/${plainText(key)}`) })),
  }
}

const sentTransaction: Method = context => {
  const { chain, head, params } = context
  if (params.length === 0) return `0x${drawn(context, 'sent')}`
  const transaction = decodeTransaction(Buffer.from(hexOf(params[0]).slice(2), 'hex'))
  if (transaction === null) throw refused('invalid transaction, or of a type above 2')
  const { hash, chainId, from, nonce, gasLimit: limit, maxFee, maxTip } = transaction
  if (chain.find('transaction', hash) !== null) throw refused('already known')
  if (chainId !== null && chainId !== chain.chainId) throw refused(`invalid chain id, expected ${chain.chainId}`)
  if (nonce < chain.nonceOf(from, head, true)) throw refused('nonce too low')
  if (limit < transferGas) throw refused('intrinsic gas too low')
  if (maxFee < chain.baseFee(head + 1) || maxTip > maxFee) throw refused('max fee per gas less than block base fee')
  if (!chain.include(transaction, head)) throw refused('transaction pool is full')
  return hash
}

const suggestedFee = ({ chain, head }: Context): bigint => chain.baseFee(head + 1) + tipOf(0)
const gasPrices = (context: Context, factor: bigint) => ({
  maxFeePerGas: quantity(suggestedFee(context) * factor),
  maxPriorityFeePerGas: quantity(tipOf(0) * factor),
})

export const evmMethods: Readonly<Record<string, Method>> = {
  eth_blockNumber: ({ head }) => quantity(head),
  eth_call: called,
  eth_chainId: ({ chain }) => quantity(chain.chainId),
  eth_estimateGas: context => quantity(gasOf(context)),
  eth_feeHistory: feeHistory,
  eth_gasPrice: context => quantity(suggestedFee(context)),
  eth_getBalance: balance,
  eth_getBlockByHash: context => {
    const block = blockByHash(context, context.params[0])
    return block === null ? null : blockView(context.chain, block, context.params[1] === true)
  },
  eth_getBlockByNumber: context => {
    const block = blockAt(context, context.params[0])
    return block === null ? null : blockView(context.chain, block, context.params[1] === true)
  },
  eth_getBlockReceipts: context => {
    const [name] = context.params
    const isHash = typeof name === 'string' && name.length === 66
    const block = isHash ? blockByHash(context, name) : blockAt(context, name)
    return block === null ? null : block.transactions.map(each => receiptView(block, each))
  },
  eth_getCode: context => `0x${drawn(context, 'code')}${drawn(context, 'code-end').slice(32)}`,
  eth_getLogs: logs,
  eth_getProof: proof,
  eth_getStorageAt: context => `0x${drawn(context, 'storage')}`,
  eth_getTransactionByHash: context => {
    const found = transactionAt(context)
    if (found === null || (found.isPending && !found.isSent)) return null
    return (found.isPending ? pendingView : transactionView)(context.chain, found.block, found.transaction)
  },
  eth_getTransactionCount: ({ chain, head, params }) =>
    quantity(chain.nonceOf(addressOf(params[0]), Math.min(head, numberOf(params[1], head)), params[1] === 'pending')),
  eth_getTransactionReceipt: context => {
    const found = minedAt(context)
    return found === null ? null : receiptView(found.block, found.transaction)
  },
  eth_maxPriorityFeePerGas: () => quantity(tipOf(0)),
  eth_sendRawTransaction: sentTransaction,
  eth_simulateV1: simulated,
  eth_syncing: () => false,
  net_listening: () => true,
  net_peerCount: () => '0x19',
  net_version: ({ chain }) => String(chain.chainId),
  web3_clientVersion: () => 'Reference/v1.0.0/linux',
  web3_sha3: ({ params }) => keccak256(Buffer.from(hexOf(params[0]).slice(2), 'hex')),

  eth_estimateUserOperationGas: () => ({
    preVerificationGas: '0xbb80',
    verificationGasLimit: '0x186a0',
    callGasLimit: '0x13880',
  }),
  eth_getUserOperationByHash: () => null,
  eth_getUserOperationReceipt: () => null,
  eth_sendUserOperation: context => `0x${drawn(context, 'user-operation')}`,
  eth_supportedEntryPoints: () => ['0x0000000071727de22e5e9d8baf0edac6f37da032'],
  pimlico_getUserOperationGasPrice: context => ({
    slow: gasPrices(context, 1n),
    standard: gasPrices(context, 2n),
    fast: gasPrices(context, 3n),
  }),
  pimlico_getUserOperationStatus: () => ({ status: 'not_found', transactionHash: null }),

  trace_block: context => {
    const block = blockAt(context, context.params[0])
    return block === null ? null : traces(block, null)
  },
  trace_filter: () => [],
  trace_transaction: context => {
    const found = minedAt(context)
    return found === null ? null : traces(found.block, found.transaction.index)
  },
  debug_traceTransaction: context => ({
    gas: minedAt(context)?.transaction.gasUsed ?? transferGas,
    failed: false,
    returnValue: '',
    structLogs: [],
  }),
  txpool_content: () => ({ pending: {}, queued: {} }),
  txpool_inspect: () => ({ pending: {}, queued: {} }),
  txpool_status: () => ({ pending: '0x0', queued: '0x0' }),
}

/** The result of a method of which no client reads the shape. */
export const otherResult = (seed: number, name: string): string =>
  quantity(18_000_000 + randomStream(seed, name).int(4_000_000))
