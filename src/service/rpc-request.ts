import type { Network } from '../contract/contract.ts'
import { parseJson } from '../lib/json.ts'
import type { Behaviour } from './behaviour.ts'
import { parseRpcItem, type RpcItem } from './rpc-item.ts'

export type RpcRequest = { readonly items: readonly RpcItem[]; readonly batched: boolean }

export type RpcRejection = {
  readonly rejected: string
  readonly more?: Readonly<Record<string, unknown>>
  /** So many of its items could have run. */
  readonly supported: number
}

/** The items of a body, single or batch, all of which `network` supports; else why the request is rejected. */
export function parseRpcRequest(
  body: Buffer | string,
  network: Network,
  behaviour: Pick<Behaviour, 'batchLimit' | 'forwards' | 'named' | 'runs'>,
): RpcRequest | RpcRejection {
  const value = parseJson(body)
  if (value === undefined) return { rejected: 'Invalid JSON request', supported: 0 }
  const batched = Array.isArray(value)
  const values: readonly unknown[] = batched ? value : [value]
  if (values.length === 0) return { rejected: 'A batch must not be empty', supported: 0 }
  if (values.length > behaviour.batchLimit) {
    return { rejected: `A batch must not have more than ${behaviour.batchLimit} items`, supported: 0 }
  }

  const items: RpcItem[] = []
  for (const [index, value] of values.entries()) {
    const item = parseRpcItem(value)
    if (typeof item === 'string') {
      const more = { issues: [{ path: [index], message: item }] }
      return { rejected: 'Invalid JSON-RPC request', more, supported: 0 }
    }
    items.push(item)
  }

  const unsupported = items.flatMap(({ method }) => (behaviour.forwards(method, network) ? [] : [method]))
  if (behaviour.runs(unsupported.length, items.length)) return { items, batched }
  const names = behaviour.named([...new Set(unsupported)])
  const rejected = ['Unsupported RPC method', ...(names.length === 0 ? [] : [names.join(', ')])].join(': ')
  return { rejected, supported: items.length - unsupported.length }
}
