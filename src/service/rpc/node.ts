import type { Network } from '../../contract/contract.ts'
import { fromBase58, toBase58 } from '../../lib/base58.ts'
import { isObject, ownMember, plainText } from '../../lib/json.ts'
import { digestHex } from '../wallets/identity.ts'
import { type EvmChain, evmChain, secondsPerEvmBlock } from './evm-chain.ts'
import { evmMethods, NodeRefusal, otherResult } from './evm-node.ts'
import type { ParsedItem, RpcResponse } from './item.ts'

/** The node of a network. `lag`: how many blocks it is behind the others. */
type SimulatedNode = (
  slug: string,
  network: Network,
  item: ParsedItem,
  at: { readonly wallMs: number; readonly lag: number },
) => RpcResponse

/**
 * The upstream node: a result depends on the seed, the network, the method, its parameters and the time, with which the
 * chain grows; a chain also has the transactions that clients sent to it. The parameters `["invalid"]` are invalid for
 * every method, so that a caller can request a failure. `reorgDepth`: what a reorganization may replace.
 */
export function simulatedNode(seed: number, reorgDepth: number | null): SimulatedNode {
  const chains = new Map<string, EvmChain>()
  const chainOf = (slug: string): EvmChain => {
    const chain = chains.get(slug) ?? evmChain(seed, slug, Math.min(reorgDepth ?? 0, maxReorgDepth))
    chains.set(slug, chain)
    return chain
  }

  function result(slug: string, { family }: Network, { method, params }: ParsedItem, wallMs: number): unknown {
    switch (family) {
      case 'evm': {
        const chain = chainOf(slug)
        return ownMember(evmMethods, method)?.({ chain, seed, head: chain.head(wallMs), params })
      }
      case 'solana':
        return ownMember(solanaMethods, method)?.({ seed, slug, wallMs, params })
      case 'starknet':
        return ownMember(
          starknetMethods,
          method,
        )?.({ digest: name => digestHex(`${seed}/${slug}/${name}`), slug, wallMs, params })
    }
  }

  return (slug, network, item, at) => {
    const wallMs = at.wallMs - at.lag * blockMs[network.family]
    const { method, params, id } = item
    const failed = ({ code, message }: NodeRefusal): RpcResponse => ({ jsonrpc: '2.0', id, error: { code, message } })
    if (params.length === 1 && params[0] === 'invalid') return failed(new NodeRefusal('invalid params'))
    try {
      const found = result(slug, network, item, wallMs)
      const other = `${slug}/${method}/${JSON.stringify(params)}`
      return { jsonrpc: '2.0', id, result: found === undefined ? otherResult(seed, other) : found }
    } catch (cause) {
      if (cause instanceof NodeRefusal) return failed(cause)
      throw cause
    }
  }
}

const maxReorgDepth = 2

type StarknetContext = {
  /** 64 hexadecimal digits that depend on the seed, the network and the name. */
  readonly digest: (name: string) => string
  readonly slug: string
  readonly wallMs: number
  readonly params: readonly unknown[]
}

const secondsPerBlock = 30
const knownBlock = { number: 600_000, timestamp: 1_709_000_000 }

/** A number below the field's prime, without zeros at its start. */
const felt = ({ digest }: StarknetContext, name: string): string => `0x1${digest(name).slice(0, 60)}`

const headOf = ({ wallMs }: StarknetContext): number =>
  knownBlock.number + Math.max(0, Math.floor((wallMs / 1000 - knownBlock.timestamp) / secondsPerBlock))

const price = { price_in_fri: '0x174876e800', price_in_wei: '0x3b9aca00' }

const starknetMethods: Readonly<Record<string, (context: StarknetContext) => unknown>> = {
  starknet_blockNumber: headOf,
  starknet_call: context => [felt(context, `call/${JSON.stringify(context.params)}`)],
  starknet_chainId: ({ slug }) =>
    `0x${Buffer.from(slug.endsWith('mainnet') ? 'SN_MAIN' : 'SN_SEPOLIA').toString('hex')}`,
  starknet_getBlockWithTxs: context => {
    const number = headOf(context)
    return {
      status: 'ACCEPTED_ON_L2',
      block_hash: felt(context, `block/${number}`),
      parent_hash: felt(context, `block/${number - 1}`),
      block_number: number,
      new_root: felt(context, `root/${number}`),
      timestamp: knownBlock.timestamp + (number - knownBlock.number) * secondsPerBlock,
      sequencer_address: felt(context, 'sequencer'),
      l1_gas_price: price,
      l2_gas_price: price,
      l1_data_gas_price: price,
      l1_da_mode: 'BLOB',
      starknet_version: '0.13.5',
      transactions: [],
    }
  },
  starknet_getNonce: () => '0x7',
}

type SolanaContext = {
  readonly seed: number
  readonly slug: string
  readonly wallMs: number
  readonly params: readonly unknown[]
}
type Method = (context: SolanaContext) => unknown

const millisecondsPerSlot = 400
const blockMs = {
  evm: secondsPerEvmBlock * 1000,
  starknet: secondsPerBlock * 1000,
  solana: millisecondsPerSlot,
} as const
/** A slot, and when it was, in Unix milliseconds. */
const knownSlot = { slot: 300_000_000, wallMs: 1_732_000_000_000 }
/** Slots without a block. */
const skippedSlots = 21_000_000
const blockhashLifetime = 150
const signatureBytes = 64

const slotOf = ({ wallMs }: SolanaContext): number =>
  knownSlot.slot + Math.max(0, Math.floor((wallMs - knownSlot.wallMs) / millisecondsPerSlot))
const heightOf = (context: SolanaContext): number => slotOf(context) - skippedSlots

const inContext = (context: SolanaContext, value: unknown) => ({
  context: { apiVersion: '2.0.0', slot: slotOf(context) },
  value,
})

const digest = ({ seed, slug }: SolanaContext, name: string): string => digestHex(`${seed}/${slug}/${name}`)
const key = (context: SolanaContext, name: string): string => toBase58(Buffer.from(digest(context, name), 'hex'))
const lamports = (context: SolanaContext, name: string): number =>
  Number.parseInt(digest(context, name).slice(0, 8), 16)

/** The first signature of a transaction, in the encoding that the second parameter names: its id. */
function signatureOf([text, options]: readonly unknown[]): string | null {
  if (typeof text !== 'string') return null
  const encoding = isObject(options) ? options.encoding : undefined
  const bytes = encoding === 'base64' ? Buffer.from(text, 'base64') : manyFromBase58(text)
  // The first byte counts the signatures, which follow.
  return bytes === null || bytes.length <= signatureBytes ? null : toBase58(bytes.subarray(1, 1 + signatureBytes))
}

/** A whole transaction is longer than `fromBase58` accepts. */
function manyFromBase58(text: string): Buffer | null {
  if (text.length > 1_700) return null
  const size = Math.ceil(text.length * 0.7322)
  const value = [...text].reduce((sum, letter) => sum * 58n + BigInt(fromBase58(letter)?.[0] ?? 0), 0n)
  const bytes = Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex')
  const start = bytes.findIndex(byte => byte !== 0)
  return start < 0 ? null : bytes.subarray(start)
}

const solanaMethods: Readonly<Record<string, Method>> = {
  getAccountInfo: context =>
    inContext(context, {
      data: ['', 'base64'],
      executable: false,
      lamports: lamports(context, `balance/${plainText(context.params[0])}`),
      owner: '11111111111111111111111111111111',
      rentEpoch: 0,
      space: 0,
    }),
  getBalance: context => inContext(context, lamports(context, `balance/${plainText(context.params[0])}`)),
  getBlockHeight: heightOf,
  getLatestBlockhash: context =>
    inContext(context, {
      blockhash: key(context, `block/${slotOf(context)}`),
      lastValidBlockHeight: heightOf(context) + blockhashLifetime,
    }),
  getLargestAccounts: context =>
    inContext(
      context,
      Array.from({ length: 20 }, (_, rank) => ({
        address: key(context, `large/${rank}`),
        lamports: 1_000_000_000_000_000 - rank * 1_000_000_000,
      })),
    ),
  getProgramAccounts: () => [],
  getSignatureStatuses: context => {
    const [signatures] = context.params
    const slot = slotOf(context)
    const status = { slot, confirmations: null, err: null, status: { Ok: null }, confirmationStatus: 'finalized' }
    return inContext(context, Array.isArray(signatures) ? signatures.map(() => status) : [])
  },
  getSlot: slotOf,
  getSupply: context =>
    inContext(context, {
      total: 590_000_000_000_000_000,
      circulating: 480_000_000_000_000_000,
      nonCirculating: 110_000_000_000_000_000,
      nonCirculatingAccounts: [key(context, 'stake')],
    }),
  getTransaction: () => null,
  sendTransaction: context => signatureOf(context.params) ?? key(context, JSON.stringify(context.params)),
  simulateTransaction: context =>
    inContext(context, {
      err: null,
      logs: [],
      accounts: null,
      unitsConsumed: 150,
      returnData: null,
      innerInstructions: null,
      replacementBlockhash: null,
    }),
}
