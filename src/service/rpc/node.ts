import type { Network } from '../../contract/contract.ts'
import { ownMember } from '../../lib/json.ts'
import { digestHex } from '../wallets/identity.ts'
import { type EvmChain, evmChain } from './evm-chain.ts'
import { evmMethods, NodeRefusal, otherResult } from './evm-node.ts'
import type { ParsedItem, RpcResponse } from './item.ts'
import { solanaMethods } from './solana-node.ts'

/** The node of a network. */
export type SimulatedNode = (slug: string, network: Network, item: ParsedItem, wallMs: number) => RpcResponse

/**
 * The upstream node: a result depends on the seed, the network, the method, its parameters and the time, with which the
 * chain grows; a chain also has the transactions that clients sent to it. The parameters `["invalid"]` are invalid for
 * every method, so that a caller can request a failure.
 */
export function simulatedNode(seed: number): SimulatedNode {
  const chains = new Map<string, EvmChain>()
  const chainOf = (slug: string): EvmChain => {
    const chain = chains.get(slug) ?? evmChain(seed, slug)
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

  return (slug, network, item, wallMs) => {
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
