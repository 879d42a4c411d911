import { isObject, parseUncut } from '../../lib/json.ts'

/** One JSON-RPC request, parsed. */
export type ParsedItem = {
  readonly method: string
  readonly params: readonly unknown[]
  /** Null if the request has null or none. */
  readonly id: string | number | null
}

type RpcError = { readonly code: number; readonly message: string }

export type RpcResponse = { readonly jsonrpc: '2.0'; readonly id: string | number | null } & (
  | { readonly result: unknown }
  | { readonly error: RpcError }
)

export const isErrorResponse = (response: RpcResponse): boolean => 'error' in response

const longId = /"id"\s*:\s*(-?\d{16,})(?=\s*[,}])/g
/** A character of no language, before the digits of a number that is carried as a text. */
const asDigits = '\ue000'

/** The text, whose ids beyond 2^53 are texts, since a number of JavaScript loses their last digits. */
export const withLongIds = (body: Buffer | string): string =>
  String(body).replace(longId, (whole: string, digits: string) =>
    Number.isSafeInteger(Number(digits)) ? whole : `"id":"${asDigits}${digits}"`,
  )

/** Such ids as the numbers that they were. */
export const restoreLongIds = (text: string): string => text.replace(/"\ue000(-?\d{16,})"/g, '$1')

/** Parameters are walked and serialized recursively. This bound keeps a request from exhausting the stack. */
const maxDepth = 64

/** The item, or the issue with it. */
export function parseItem(value: unknown): ParsedItem | string {
  if (!isObject(value)) return 'a request must be an object'
  const { method, jsonrpc, params = [], id = null } = value
  if (typeof method !== 'string' || method === '') return 'method must be a string'
  if (jsonrpc !== undefined && jsonrpc !== '2.0') return 'jsonrpc must be "2.0"'
  if (!Array.isArray(params)) return 'params must be an array'
  if (!isShallow(params, maxDepth)) return `params must not be nested more than ${maxDepth} deep`
  return isId(id) || id === null ? { method, params, id } : 'id must be a string, a number or null'
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0) return false
  for (const member of Object.values(value)) if (!isShallow(member, depth - 1)) return false
  return true
}

type Id = RpcResponse['id']

type NodeOptions = {
  readonly batchLimit: number
  readonly isKnown: (method: string) => boolean
  readonly run: (item: ParsedItem) => unknown
}

/**
 * What a node itself answers to a request that the proxy would refuse, by JSON-RPC 2.0: empty if it has only
 * notifications. null: every item is an ordinary call.
 */
export function answerByProtocol(body: Buffer | string, { batchLimit, isKnown, run }: NodeOptions): string | null {
  const value = parseUncut(withLongIds(body))
  if (value === undefined) return JSON.stringify(failure(-32_700, 'parse error'))
  if (!Array.isArray(value)) return isOrdinary(value, isKnown) ? null : textOf(answer(value))
  if (value.length === 0) return JSON.stringify(failure(-32_600, 'empty batch'))
  if (value.length > batchLimit) return JSON.stringify(failure(-32_600, 'batch too large'))
  if (value.every(each => isOrdinary(each, isKnown))) return null
  const answers = value.map(answer).filter(each => each !== undefined)
  return answers.length === 0 ? '' : textOf(answers)

  function answer(request: unknown): unknown {
    const { id } = isObject(request) ? request : {}
    const known = isId(id) ? id : null
    const item = parseItem(isObject(request) ? { ...request, id: known ?? 0 } : request)
    if (typeof item === 'string' && item.startsWith('params')) return failure(-32_602, item, known)
    if (typeof item === 'string' || !hasVersion(request)) return failure(-32_600, 'invalid request', known)
    if (id === undefined) return undefined
    return isKnown(item.method) ? run({ ...item, id: known }) : failure(-32_601, 'the method does not exist', known)
  }
}

const textOf = (value: unknown): string => restoreLongIds(JSON.stringify(value) ?? '')

const failure = (code: number, message: string, id: Id = null): RpcResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

const isId = (id: unknown): id is string | number => typeof id === 'string' || typeof id === 'number'

const hasVersion = (request: unknown): boolean => isObject(request) && request.jsonrpc === '2.0'

function isOrdinary(request: unknown, isKnown: NodeOptions['isKnown']): boolean {
  if (!hasVersion(request) || !isObject(request) || request.id === undefined) return false
  const item = parseItem(request)
  return typeof item !== 'string' && isKnown(item.method)
}
