import type { Network } from '../contract/contract.ts'
import type { Behaviour } from './behaviour.ts'
import { parseJson } from './json.ts'
import { parseRpcItem, type RpcItem } from './rpc-item.ts'

export type RpcRequest = { readonly items: readonly RpcItem[]; readonly batched: boolean }

export type RpcRejection = { readonly rejected: string; readonly more?: Readonly<Record<string, unknown>> }

/** The items of a body, single or batch, all of which `network` supports; else why the request is rejected. */
export function parseRpcRequest(
  body: Buffer | string,
  network: Network,
  behaviour: Pick<Behaviour, 'batchLimit' | 'forwards' | 'named'>,
): RpcRequest | RpcRejection {
  const value = parseJson(body)
  if (value === undefined) return { rejected: 'Invalid JSON request' }
  const batched = Array.isArray(value)
  const values: readonly unknown[] = batched ? value : [value]
  if (values.length === 0) return { rejected: 'A batch must not be empty' }
  if (values.length > behaviour.batchLimit) {
    return { rejected: `A batch must not have more than ${behaviour.batchLimit} items` }
  }

  const items: RpcItem[] = []
  for (const [index, value] of values.entries()) {
    const item = parseRpcItem(value)
    if (typeof item === 'string') {
      return { rejected: 'Invalid JSON-RPC request', more: { issues: [{ path: [index], message: item }] } }
    }
    items.push(item)
  }

  const unsupported = new Set<string>()
  for (const { method } of items) if (!behaviour.forwards(method, network)) unsupported.add(method)
  if (unsupported.size === 0) return { items, batched }
  const names = behaviour.named([...unsupported])
  return { rejected: ['Unsupported RPC method', ...(names.length === 0 ? [] : [names.join(', ')])].join(': ') }
}
