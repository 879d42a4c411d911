import type { Contract, Network } from '../contract/contract.ts'
import type { Behaviour } from './behaviour.ts'
import { failed, type RpcResponse } from './rpc-item.ts'
import type { RpcRequest } from './rpc-request.ts'

export type RpcBill = {
  /** What the request costs if every item succeeds. */
  readonly estimate: (request: RpcRequest, network: Network) => number
  /** `responses` are in the order of the items. */
  readonly credits: (request: RpcRequest, network: Network, responses: readonly RpcResponse[]) => number
}

/** Credits: the base of the chain times the multiplier of the method's tier, less for what failed. */
export function rpcBill({ multipliers, methods }: Contract['rpc'], behaviour: Behaviour): RpcBill {
  const multiplier = (method: string, { family }: Network) => {
    const tier = Object.hasOwn(methods[family], method) ? methods[family][method] : undefined
    return multipliers[tier ?? 'standard']
  }
  return {
    estimate: ({ items }, network) =>
      items.reduce((total, { method }) => total + network.baseCredits * multiplier(method, network), 0),
    credits: ({ items, batched }, network, responses) =>
      behaviour.totalCredits(
        items.map(({ method }, index) => {
          const response = responses[index]
          return behaviour.itemCredits({
            family: network.family,
            baseCredits: network.baseCredits,
            multiplier: multiplier(method, network),
            failed: response !== undefined && failed(response),
            batched,
          })
        }),
      ),
  }
}
