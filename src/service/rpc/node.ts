import type { Network } from '../../contract/contract.ts'
import { ownMember } from '../../lib/json.ts'
import { digestHex } from '../wallets/identity.ts'
import { type EvmChain, evmChain } from './evm-chain.ts'
import { evmMethods, NodeRefusal, otherResult } from './evm-node.ts'
import type { ParsedItem, RpcResponse } from './item.ts'
import { solanaMethods } from './solana-node.ts'
import { starknetMethods } from './starknet-node.ts'

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
