import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import type { ObservedResponse, RpcDescriptor, RpcItem } from '../../observation/observation.ts'
import { is2xx, isAbuseBlock, isJsonType } from '../../observation/response.ts'
import { type Check, type Expect, expectFor } from './check.ts'

/** The JSON-RPC side of an answer of the proxy: shape, ids, correlation. */
export const checkRpcResponse: Check<'rpc-response'> = ({ response, request, id, outcome }, contract, say) => {
  if (request.kind !== 'rpc' || response === null || outcome.kind !== 'answered') return
  // A conflict that is answered at all is the idempotency audit's.
  if (request.replay?.role === 'conflict' || isAbuseBlock(response, contract)) return
  const expect = expectFor(say, id)

  const { status, headers } = response
  if (request.items.some(item => item.failing) && (status === 200 || isAboutItems(response, request))) {
    expect(
      'rpc.item-failure.status',
      status === 200,
      () => `a request with an item that fails was answered with ${status}, expected 200`,
    )
  }
  if (request.batch && request.items.length === contract.rpc.batchLimit) checkFullBatch(request, status, expect)
  if (!is2xx(status)) return

  const type = headers['content-type']
  expect('rpc.content-type', isJsonType(type), () => `content-type is ${quote(type)}, expected application/json`)
  const requestId = headers['x-request-id']
  expect('rpc.request-id', Boolean(requestId), () => `x-request-id is ${quote(requestId)}, expected an id`)

  const value = response.body.kind === 'json' ? response.body.value : undefined
  const responses = request.batch ? (Array.isArray(value) ? value : null) : [value]
  if (responses === null) {
    const message = () => `the answer to a batch is ${quote(value)}, expected an array`
    return expect('rpc.batch.correlation', false, message)
  }
  for (const response of responses) {
    const wrong = wrongResponse(response)
    expect('rpc.response', wrong === null, () => `a response is ${quote(response)}: ${wrong}`)
    if (wrong === null && contract.rpc.errorLayout !== null) checkError(response, expect)
  }
  if (request.batch) checkBatchIds(request, responses, expect)
  else {
    const [got, want] = [toObject(value)?.id, request.items[0]?.id]
    expect('rpc.id', got === want, () => `the id came back as ${quote(got)}, expected ${quote(want)}`)
  }
}

/** Refusals that say nothing about the items: who asked, how often, with what money, in what form, how slowly. */
const unrelated: readonly number[] = [401, 402, 403, 408, 413, 415, 429]

/**
 * Whether a non-success speaks about the items. A 5xx may as well be a fault of the service or of what is in front of
 * it, unless it carries responses to these very items.
 */
function isAboutItems({ status, body }: ObservedResponse, { items }: RpcDescriptor): boolean {
  if (status < 400 || unrelated.includes(status)) return false
  if (status < 500) return true
  if (body.kind !== 'json') return false
  return matchItems(items, Array.isArray(body.value) ? body.value : [body.value]).byId.size > 0
}

/** A batch may be refused for what stands in it, but not for its length; which of the two it was is unknown if an item fails. */
function checkFullBatch({ items }: RpcDescriptor, status: number, expect: Expect<'rpc.batch.full'>): void {
  if (items.some(item => item.failing) || (!is2xx(status) && status !== 400 && status !== 413)) return
  const message = () => `a batch of ${items.length} items was answered with ${status}, expected 200`
  expect('rpc.batch.full', is2xx(status), message)
}

function checkBatchIds(
  { items }: RpcDescriptor,
  responses: readonly unknown[],
  expect: Expect<'rpc.id' | 'rpc.batch.correlation' | 'rpc.item-failure.alone'>,
): void {
  const { byId, faults } = matchItems(items, responses)
  expect('rpc.batch.correlation', faults.length === 0, () => joinFirst(faults, '; '))
  if (faults.length > 0) return
  const spared = items.find(item => item.failing && 'result' in (byId.get(item.id) ?? {}))
  const blamed = items.find(item => !item.failing && isInvalidParams(byId.get(item.id)))
  expect('rpc.id', spared === undefined || blamed === undefined, () => {
    const got = `item ${quote(spared?.id)} has invalid params and came back with a result`
    return `${got}, ${quote(blamed?.id)} came back with their error, expected each with its own id`
  })
  const others = items.filter(item => !item.failing)
  if (others.length === items.length || others.length < minOthers) return
  const rejected = others.filter(item => isInvalidParams(byId.get(item.id)))
  expect('rpc.item-failure.alone', rejected.length < others.length, () => {
    const got = `all ${items.length} items came back with invalid params`
    return `${got}, expected only the ${items.length - others.length} that have them`
  })
}

/** What is drawn for one or two methods may be wrong in a node's eyes; that of three is right for one at least. */
const minOthers = 3

/** Null when nothing is wrong. A member that is null counts as absent beside the other one, as many servers write it. */
function wrongResponse(value: unknown): string | null {
  const response = toObject(value)
  if (response === null) return 'it is no object'
  const { jsonrpc, result, error } = response
  if (jsonrpc !== '2.0') return `jsonrpc is ${quote(jsonrpc)}, expected "2.0"`
  if (error === undefined || error === null) return result === undefined ? 'it has neither result nor error' : null
  if (result !== undefined && result !== null) return 'it has both result and error'
  return toObject(error) === null ? 'its error is no object' : null
}

/** Of a response that is right but for what its error says. */
function checkError(response: unknown, expect: Expect<'rpc.response.error'>): void {
  const error = toObject(toObject(response)?.error)
  if (error === null) return
  const isRight = Number.isInteger(error.code) && typeof error.message === 'string'
  expect('rpc.response.error', isRight, () => `an error is ${quote(error)}, expected an integer code and a message`)
}

type RpcResponse = Readonly<Record<string, unknown>>

type MatchedItems = {
  readonly byId: ReadonlyMap<number | string, RpcResponse>
  /** Ids that are missing, unknown, doubled, or of another type than they were sent with; in words. */
  readonly faults: readonly string[]
}

/** Pairs the responses of a batch with its items by id. Their order is free. */
export function matchItems(items: readonly RpcItem[], responses: readonly unknown[]): MatchedItems {
  const request = new Set(items.map(item => item.id))
  const byId = new Map<number | string, RpcResponse>()
  const faults: string[] = []
  for (const value of responses) {
    const response = toObject(value)
    const id = response?.id
    if (response === null || (typeof id !== 'number' && typeof id !== 'string') || !request.has(id)) {
      const near = items.find(item => String(item.id) === String(id))
      faults.push(near ? `id ${quote(near.id)} came back as ${quote(id)}` : `id ${quote(id)} was not asked for`)
    } else if (byId.has(id)) faults.push(`id ${quote(id)} came back twice`)
    else byId.set(id, response)
  }
  if (byId.size < request.size) {
    const missing = items.filter(item => !byId.has(item.id)).map(item => quote(item.id))
    faults.push(`no response has id ${joinFirst(missing, ', ')}`)
  }
  return { byId, faults }
}

const maxJoined = 5

/** The first few of a list that the target can make as long as it likes. */
export const joinFirst = (texts: readonly string[], separator: string): string =>
  texts.slice(0, maxJoined).join(separator) + (texts.length > maxJoined ? ` and ${texts.length - maxJoined} more` : '')

/** Whether a response says that its params are invalid, as JSON-RPC numbers it. */
const isInvalidParams = (response: RpcResponse | undefined): boolean => toObject(response?.error)?.code === -32602

export const isRpcError = (response: RpcResponse | undefined): boolean =>
  response !== undefined && response.error !== undefined && response.error !== null
