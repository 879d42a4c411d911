import type { Network } from '../../contract/contract.ts'
import { parseUncut } from '../../lib/json.ts'
import type { Behavior } from '../behavior.ts'
import { type ParsedItem, parseItem } from './item.ts'

export type RpcRequest = { readonly items: readonly ParsedItem[]; readonly batched: boolean }

type RpcRejection = {
  readonly rejected: string
  readonly more?: Readonly<Record<string, unknown>>
  /** How many of its items could have run. */
  readonly supported: number
}

/** The items of a body, single or batch, or why the request is rejected: for example a method that `network` lacks. */
export function parseRpcRequest(
  body: Buffer | string,
  network: Network,
  behavior: Pick<Behavior, 'batchLimit' | 'forwards' | 'named' | 'runs'>,
): RpcRequest | RpcRejection {
  const value = parseUncut(body)
  if (value === undefined) return { rejected: 'Invalid JSON request', supported: 0 }
  const batched = Array.isArray(value)
  const values: readonly unknown[] = batched ? value : [value]
  if (values.length === 0) return { rejected: 'A batch must not be empty', supported: 0 }
  if (values.length > behavior.batchLimit) {
    return { rejected: `A batch must not have more than ${behavior.batchLimit} items`, supported: 0 }
  }

  const items: ParsedItem[] = []
  for (const [index, value] of values.entries()) {
    const item = parseItem(value)
    if (typeof item === 'string') {
      const more = { issues: [{ path: [index], message: item }] }
      return { rejected: 'Invalid JSON-RPC request', more, supported: 0 }
    }
    items.push(item)
  }

  const unsupported = items.flatMap(({ method }) => (behavior.forwards(method, network) ? [] : [method]))
  if (behavior.runs(unsupported.length, items.length)) return { items, batched }
  const names = behavior.named([...new Set(unsupported)])
  const rejected = ['Unsupported RPC method', ...(names.length === 0 ? [] : [names.join(', ')])].join(': ')
  return { rejected, supported: items.length - unsupported.length }
}
