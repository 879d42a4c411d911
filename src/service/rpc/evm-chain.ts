import { textHash } from '../../lib/random.ts'
import { digestHex, keccak256 } from '../wallets/identity.ts'
import type { RawTransaction } from './raw-transaction.ts'

/** Lower-case hexadecimal with 0x. */
type Hex = string

export type EvmLog = { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex }

/** A transaction of a block, with its outcome. Fees in wei. */
export type EvmTransaction = {
  readonly hash: Hex
  readonly index: number
  readonly type: number
  readonly from: Hex
  readonly to: Hex | null
  readonly nonce: number
  readonly value: bigint
  readonly input: Hex
  readonly gasLimit: number
  readonly gasUsed: number
  /** The gas used by this transaction and the earlier ones of its block. */
  readonly cumulativeGasUsed: number
  readonly maxFee: bigint
  readonly maxTip: bigint
  readonly signature: { readonly r: Hex; readonly s: Hex; readonly yParity: number }
  readonly logs: readonly EvmLog[]
  /** The logs of earlier transactions of the block. */
  readonly logsBefore: number
}

export type EvmBlock = {
  readonly number: number
  readonly hash: Hex
  readonly parentHash: Hex
  /** Unix seconds. */
  readonly timestamp: number
  readonly baseFee: bigint
  readonly gasUsed: number
  readonly transactions: readonly EvmTransaction[]
}

/** A chain without a store: each block follows from the seed, the network and its number, and hashes hold their place. */
export type EvmChain = {
  readonly chainId: number
  /** The number of the newest block. */
  readonly head: (wallMs: number) => number
  /** The block with a number, as a node sees it whose newest block is `head`. */
  readonly block: (number: number, head: number) => EvmBlock
  /** The same by its place, also if a reorganization has replaced it. */
  readonly blockAt: (place: { readonly number: number; readonly index: number }) => EvmBlock
  /** Where a hash of the chain belongs; null for any other. */
  readonly find: (
    kind: 'block' | 'transaction',
    hash: string,
  ) => { readonly number: number; readonly index: number } | null
  readonly baseFee: (number: number) => bigint
  /** 64 hexadecimal digits that depend on the seed, the network and the name. */
  readonly digest: (name: string) => string
  /** The nonce of an account after a block, or with `isPending` after all transactions that were sent. */
  readonly nonceOf: (address: string, number: number, isPending?: boolean) => number
  /** Whether a client sent the transaction. */
  readonly isSent: (hash: string) => boolean
  /** Puts a transaction into the first block after `head` that has room. False: the chain takes no more. */
  readonly include: (transaction: RawTransaction, head: number) => boolean
}

/** Of the transactions of clients, which stay in memory, with an estimate for all but their input. */
const maxSentCharacters = 67_108_864
const sentCharacters = ({ input }: RawTransaction): number => input.length + 1_000
/** They use little gas next to the transactions that a block generates. */
const maxSentPerBlock = 8
const maxSentGas = 50_000

export const gasLimit = 60_000_000
const gasTarget = gasLimit / 2
/** What a block may use for one transaction at most. */
const maxTransactionGas = 16_000_000
export const secondsPerEvmBlock = 12
/** A block of the chain and its time; all networks share this clock. */
const knownBlock = { number: 15_537_394, timestamp: 1_663_224_179 }
/** With a clock that shows an early year, the chain still has this many blocks. */
const leastHead = 20_000_000
const leastBaseFee = 100_000_000
/** Less than an eighth of the base fee, which is the largest step. */
const baseFeeRange = 12_000_000
const accounts = 64
const noHash = `0x${'0'.repeat(64)}`
const tokens = 4
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** The public ids of networks. */
const chainIds: Readonly<Record<string, number>> = {
  'ethereum-mainnet': 1,
  'ethereum-sepolia': 11_155_111,
  'ethereum-holesky': 17_000,
  'base-mainnet': 8_453,
  'base-sepolia': 84_532,
  'arbitrum-mainnet': 42_161,
  'arbitrum-sepolia': 421_614,
  'optimism-mainnet': 10,
  'optimism-sepolia': 11_155_420,
  'polygon-mainnet': 137,
  'polygon-amoy': 80_002,
  'linea-mainnet': 59_144,
  'linea-sepolia': 59_141,
  'avalanche-mainnet': 43_114,
  'avalanche-fuji': 43_113,
  'bsc-mainnet': 56,
  'bsc-testnet': 97,
  'blast-mainnet': 81_457,
  'blast-sepolia': 168_587_773,
  'zksync-mainnet': 324,
  'zksync-sepolia': 300,
}

/** `reorgDepth`: what a reorganization replaces, after each group of one block more. 0: there is none. */
export function evmChain(seed: number, slug: string, reorgDepth = 0): EvmChain {
  const digest = (name: string) => digestHex(`${seed}/${slug}/${name}`)
  const chainId = chainIds[slug] ?? 1

  /** 24 bytes of a digest, then the place, masked by a digest of these. */
  function hashAt(kind: 'block' | 'transaction', number: number, index: number): Hex {
    const start = digest(`${kind}/${number}/${index}`).slice(0, 48)
    const place = (BigInt(number) << 16n) | BigInt(index)
    return `0x${start}${(place ^ maskOf(start)).toString(16).padStart(16, '0')}`
  }
  const maskOf = (start: string) => BigInt(`0x${digest(`mask/${start}`).slice(0, 16)}`)

  function find(kind: 'block' | 'transaction', hash: string): { number: number; index: number } | null {
    const own = kind === 'transaction' ? places.get(hash.toLowerCase()) : undefined
    if (own !== undefined) return own
    if (!/^0x[0-9a-f]{64}$/i.test(hash)) return null
    const lower = hash.toLowerCase()
    const place = BigInt(`0x${lower.slice(50)}`) ^ maskOf(lower.slice(2, 50))
    const [number, index] = [Number(place >> 16n), Number(place & 0xffffn)]
    return hashAt(kind, number, index) === lower ? { number, index } : null
  }

  const baseFee = (number: number) =>
    BigInt(leastBaseFee + ((textHash(`${seed}/${slug}/fee/${number}`) >>> 0) % baseFeeRange))

  /** The gas that makes the base fee of the next block what it is (EIP-1559). */
  function gasUsedOf(number: number): number {
    const fee = baseFee(number)
    const step = baseFee(number + 1) - fee
    const size = step < 0n ? -step : step
    const beyond = Number((size * 8n * BigInt(gasTarget) + fee - 1n) / fee)
    return gasTarget + (step < 0n ? -beyond : beyond)
  }

  /** The transactions of clients by block, and where each is. */
  const sent = new Map<number, readonly RawTransaction[]>()
  const places = new Map<string, { readonly number: number; readonly index: number }>()
  let heldCharacters = 0
  const nextNonces = new Map<string, readonly { readonly number: number; readonly nonce: number }[]>()

  function include(transaction: RawTransaction, head: number): boolean {
    if (places.has(transaction.hash)) return true
    if (heldCharacters + sentCharacters(transaction) > maxSentCharacters) return false
    heldCharacters += sentCharacters(transaction)
    let number = head + 1
    while ((sent.get(number)?.length ?? 0) >= maxSentPerBlock) number++
    const before = sent.get(number) ?? []
    places.set(transaction.hash, { number, index: callsOf(gasUsedOf(number)) + 1 + before.length })
    sent.set(number, [...before, transaction])
    const known = nextNonces.get(transaction.from) ?? []
    nextNonces.set(transaction.from, [...known, { number, nonce: transaction.nonce + 1 }])
    return true
  }

  const account = (number: number) => `0x${digest(`account/${number % accounts}`).slice(0, 40)}`
  const token = (number: number) => `0x${digest(`token/${number % tokens}`).slice(0, 40)}`
  const accountSet = new Set(Array.from({ length: accounts }, (_, index) => account(index)))

  /**
   * Which of two blocks with a number a node sees: 1 for the one that a reorganization will replace. The last blocks of each
   * group are replaced when the first one of the next group comes.
   */
  function forkOf(number: number, head: number): 0 | 1 {
    const last = number - (number % (reorgDepth + 1)) + reorgDepth
    return last - number < reorgDepth && head <= last ? 1 : 0
  }

  const parentHash = (number: number, fork: number): Hex =>
    number === 0 ? noHash : hashAt('block', number - 1, fork === 0 ? 0 : forkOf(number - 1, number))

  /** A transfer of the coin, then calls of tokens that share the rest of the gas. */
  function blockAt({ number, index: fork }: { readonly number: number; readonly index: number }): EvmBlock {
    const gasUsed = gasUsedOf(number)
    const others = sent.get(number) ?? []
    const calls = callsOf(gasUsed)
    const gasOfOthers = others.reduce((total, each) => total + sentGas(each), 0)
    const share = Math.floor((gasUsed - transferGas) / calls)
    const fee = baseFee(number)
    const transactions: EvmTransaction[] = []
    let spent = 0
    for (let index = 0; index <= calls; index++) {
      const seen = digest(`transaction/${number}/${index}/content`)
      const pick = (at: number) => Number.parseInt(seen.slice(at, at + 4), 16)
      const gas = index === 0 ? transferGas : index === calls ? gasUsed - gasOfOthers - spent : share
      spent += gas
      const [from, other] = [account(pick(0) + index), account(pick(4))]
      const amount = BigInt(`0x${seen.slice(8, 20)}`)
      const words = `${word(other)}${amount.toString(16).padStart(64, '0')}`
      const called = token(pick(20))
      transactions.push({
        hash: hashAt('transaction', number, index),
        index,
        type: 2,
        from,
        to: index === 0 ? other : called,
        nonce: nonceAt(number) + index,
        value: index === 0 ? amount : 0n,
        input: index === 0 ? '0x' : `0xa9059cbb${words}`,
        gasLimit: index === 0 ? transferGas : Math.ceil(gas * 1.04),
        gasUsed: gas,
        cumulativeGasUsed: spent,
        maxFee: fee * 2n + tipOf(index),
        maxTip: tipOf(index),
        // Neither value begins with zeros, and the second one is below half of the order of the curve.
        signature: {
          r: `0x1${seen.slice(1)}`,
          s: `0x2${digest(`s/${number}/${index}`).slice(1)}`,
          yParity: pick(24) % 2,
        },
        logs:
          index === 0
            ? []
            : [
                {
                  address: called,
                  topics: [transferTopic, `0x${word(from)}`, `0x${word(other)}`],
                  data: `0x${words.slice(64)}`,
                },
              ],
        logsBefore: Math.max(0, index - 1),
      })
    }
    for (const each of others) {
      spent += sentGas(each)
      const index = transactions.length
      transactions.push({
        ...each,
        index,
        gasUsed: sentGas(each),
        cumulativeGasUsed: spent,
        logs: [],
        logsBefore: calls,
      })
    }
    const timestamp = knownBlock.timestamp + (number - knownBlock.number) * secondsPerEvmBlock
    const hashes = { hash: hashAt('block', number, fork), parentHash: parentHash(number, fork) }
    return { number, ...hashes, timestamp, baseFee: fee, gasUsed, transactions }
  }

  return {
    chainId,
    head: wallMs => {
      const elapsed = Math.floor(wallMs / 1000) - knownBlock.timestamp
      return Math.max(leastHead, knownBlock.number + Math.floor(elapsed / secondsPerEvmBlock))
    },
    block: (number, head) => blockAt({ number, index: forkOf(number, head) }),
    blockAt,
    find,
    baseFee,
    digest,
    nonceOf: (address, number, isPending = false) => {
      const lower = address.toLowerCase()
      if (accountSet.has(lower)) return nonceAt(number + 1)
      const own = nextNonces.get(lower) ?? []
      return Math.max(0, ...own.filter(each => isPending || each.number <= number).map(({ nonce }) => nonce))
    },
    isSent: hash => places.has(hash),
    include,
  }
}

/** How many calls of tokens a block has. */
const callsOf = (gasUsed: number): number => Math.max(2, Math.ceil((gasUsed - transferGas) / maxTransactionGas))

/** The gas of a transaction of a client. */
const sentGas = ({ gasLimit: limit, input }: RawTransaction): number =>
  Math.min(limit, maxSentGas, transferGas + (input.length / 2 - 1) * 16)

export const transferGas = 21_000
/** More than the transactions of a block. */
const noncesPerBlock = 8
const nonceAt = (number: number): number => number * noncesPerBlock
export const tipOf = (index: number): bigint => 10_000_000n + BigInt(index) * 1_000_000n

/** An address as 32 bytes, without 0x. */
const word = (address: string): string => address.slice(2).padStart(64, '0')

/** The Bloom filter of logs: three bits of 2048 for each address and topic. */
export function logsBloom(logs: readonly EvmLog[]): Hex {
  const bloom = new Uint8Array(256)
  for (const value of new Set(logs.flatMap(({ address, topics }) => [address, ...topics])))
    for (const bit of bloomBits(value)) bloom[255 - (bit >> 3)] = (bloom[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7))
  return `0x${Buffer.from(bloom).toString('hex')}`
}

/** The addresses and topics of a chain are few, so each is hashed once. */
const knownBits = new Map<string, readonly number[]>()
const maxKnownBits = 20_000

function bloomBits(value: Hex): readonly number[] {
  const known = knownBits.get(value)
  if (known !== undefined) return known
  const hash = keccak256(Buffer.from(value.slice(2), 'hex')).slice(2)
  const bits = [0, 4, 8].map(at => Number.parseInt(hash.slice(at, at + 4), 16) & 2047)
  if (knownBits.size >= maxKnownBits) knownBits.clear()
  knownBits.set(value, bits)
  return bits
}
