import { isObject } from '../lib/json.ts'

/** One JSON-RPC request, parsed. */
export type RpcItem = {
  readonly method: string
  readonly params: readonly unknown[]
  /** Null where the caller gave none. */
  readonly id: string | number | null
}

export type RpcError = { readonly code: number; readonly message: string }

export type RpcResponse = { readonly jsonrpc: '2.0'; readonly id: string | number | null } & (
  | { readonly result: unknown }
  | { readonly error: RpcError }
)

export const failed = (response: RpcResponse): boolean => 'error' in response

/** Whatever writes or walks the parameters does so recursively, and the stack is not to be the caller's to exhaust. */
const maxDepth = 64

/** The item, or what is wrong with it. */
export function parseRpcItem(value: unknown): RpcItem | string {
  if (!isObject(value)) return 'a request must be an object'
  const { method, jsonrpc, params = [], id = null } = value
  if (typeof method !== 'string' || method === '') return 'method must be a string'
  if (jsonrpc !== undefined && jsonrpc !== '2.0') return 'jsonrpc must be "2.0"'
  if (!Array.isArray(params)) return 'params must be an array'
  if (!isShallow(params, maxDepth)) return `params must not be nested more than ${maxDepth} deep`
  if (typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id))) return { method, params, id }
  return value.id === undefined ? { method, params, id: null } : 'id must be a string or an integer'
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0) return false
  for (const member of Object.values(value)) if (!isShallow(member, depth - 1)) return false
  return true
}
