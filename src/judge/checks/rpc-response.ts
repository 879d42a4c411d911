import type { Contract } from '../../contract/contract.ts'
import { isAssumed } from '../../contract/sources.ts'
import { quote } from '../../lib/format.ts'
import { plainText, toObject } from '../../lib/json.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import type { RpcDescriptor, RpcItem } from '../../observation/requests/rpc.ts'
import {
  errorMessageOf,
  hasReplayStatus,
  is2xx,
  isAbuseBlock,
  isJsonType,
  isOverLimit,
  rpcResponsesIn,
} from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { type Check, checkStatus, type Expect, expectFor } from './check.ts'
import { statedTier } from './price-list.ts'

/** Checks the JSON-RPC part of a proxy response: form, ids, and matching of items. */
export const checkRpcResponse: Check<'rpc-response', RpcDescriptor> = (
  { response, request, id },
  contract,
  reporter,
) => {
  if (response === null || isAbuseBlock(response, contract)) return
  const { status, headers } = response
  // The idempotency audit judges whether a conflict is rejected. Otherwise its items are open.
  const role = request.replay?.role ?? 'original'
  const isConflict = role === 'conflict'
  // It also judges a repeated request that is refused as a conflict. If the first one was lost, another body was the first.
  const isRefusedRepeat = role !== 'original' && contract.idempotency.conflict.includes(status)
  const saysOfItems =
    is2xx(status) ||
    (!isRefusedRepeat && isAboutItems(response, request) && !isOfUnknownMethod(request, response, contract))
  if (!isConflict && request.items.some(isFailing) && saysOfItems) {
    if (is2xx(status)) reporter.pass('rpc.item-failure.status')
    else {
      const message = `a request with a failing item got status ${status}, expected 200`
      reporter.fail('rpc.item-failure.status', message, [id])
    }
  }
  if (!isConflict && request.batch && request.items.length === contract.rpc.batchLimit)
    checkFullBatch(request, status, expectFor(reporter, id))
  if (!isConflict && isAboutListedNetwork(request, contract)) {
    const expect = expectFor(reporter, id)
    expect('rpc.network.listed', !isUnknownNetwork(request, response), () => {
      const got = `status ${status} with ${quote(errorMessageOf(response))}`
      return `a call on the listed network ${request.network} got ${got}, expected a response`
    })
  }
  if (!is2xx(status)) return
  if (!hasReplayStatus(response, contract)) checkStatus('rpc.status', response, expectFor(reporter, id))

  const type = headers['content-type']
  if (isJsonType(type)) reporter.pass('rpc.content-type')
  else reporter.fail('rpc.content-type', `content-type is ${quote(type)}, expected application/json`, [id])
  const requestId = headers['x-request-id']
  if (requestId) reporter.pass('rpc.request-id')
  else reporter.fail('rpc.request-id', `x-request-id is ${quote(requestId)}, expected an id`, [id])

  // A refusal of the whole request has no id of its items.
  if (isOverLimit(response, contract)) {
    for (const each of rpcResponsesIn(response)) checkResponse(each, contract, id, reporter)
    return
  }
  const value = response.body.kind === 'json' ? response.body.value : undefined
  if (!request.batch) {
    checkResponse(value, contract, id, reporter)
    if (isConflict) return
    const got = toObject(value)?.id
    const want = request.items[0]?.id
    if (got === want) reporter.pass('rpc.id')
    else reporter.fail('rpc.id', `the id was returned as ${quote(got)}, expected ${quote(want)}`, [id])
    return
  }
  if (!Array.isArray(value)) {
    const message = `the response to a batch is ${quote(value)}, expected an array`
    return reporter.fail('rpc.batch.correlation', message, [id])
  }
  // Each response too many would be a violation of its own, and the target decides how many there are.
  if (value.length > 2 * request.items.length) {
    const isCut = response.body.kind === 'json' && response.body.cut === true
    const got = `${isCut ? 'more than ' : ''}${value.length} responses`
    const message = `a batch of ${request.items.length} items got ${got}, expected one for each`
    return reporter.fail('rpc.batch.correlation', message, [id])
  }
  for (const each of value) checkResponse(each, contract, id, reporter)
  if (!isConflict) checkBatchIds(request, value, expectFor(reporter, id))
}

const isAboutListedNetwork = ({ items }: RpcDescriptor, contract: Contract): boolean =>
  !isAssumed(contract, 'rpc.networks') && contract.paths.rpc.includes('{network}') && !items.some(isFailing)

/** A 400 may also say that a method is not available on a network. */
function isUnknownNetwork({ items }: RpcDescriptor, response: ObservedResponse): boolean {
  const { status } = response
  if (status !== 400 && status !== 404) return false
  const message = errorMessageOf(response)
  return (status === 404 || /network|chain/i.test(message)) && !items.some(({ method }) => message.includes(method))
}

const unsupported = /support|allow|available|enabled|permit|implement|unknown|recogni[sz]ed|not found|not exist/i

/** Whether a refusal says that it does not offer one of the methods, and neither the target nor a profile states that it does. */
function isOfUnknownMethod({ items, network }: RpcDescriptor, response: ObservedResponse, contract: Contract): boolean {
  const said = errorMessageOf(response)
  return (
    unsupported.test(said) &&
    items.some(({ method }) => statedTier(contract, network, method) === null && said.includes(method))
  )
}

const isFailing = (item: RpcItem): boolean => item.failing

/** What a success may lack. errors: JSON-RPC errors and no result · unreadable: neither a JSON-RPC error nor a result */
export const bodyEndings = { errors: 'errors', unreadable: 'unreadable' } as const

/** null: it has a result, or each of its items should fail. */
export function endingInBody(request: RpcDescriptor, response: ObservedResponse): keyof typeof bodyEndings | null {
  if (request.items.every(isFailing)) return null
  const responses = rpcResponsesIn(response)
    .map(toObject)
    .filter(each => each !== null)
  if (responses.some(each => !isRpcError(each))) return null
  return responses.length > 0 ? 'errors' : 'unreadable'
}

function checkResponse(response: unknown, { rpc }: Contract, id: number, reporter: ClauseReporter<'rpc-response'>) {
  const wrong = wrongResponse(response)
  if (wrong !== null) return reporter.fail('rpc.response', `a response is ${quote(response)}: ${wrong}`, [id])
  reporter.pass('rpc.response')
  if (rpc.errorLayout === null) return
  const error = toObject(toObject(response)?.error)
  if (error === null) return
  const isRight = Number.isInteger(error.code) && typeof error.message === 'string'
  if (isRight) return reporter.pass('rpc.response.error')
  reporter.fail('rpc.response.error', `an error is ${quote(error)}, expected an integer code and a message`, [id])
}

/**
 * Rejections that are not about the items, but about the caller, its rate, its balance, the format, or a timeout.
 */
const unrelated: readonly number[] = [401, 402, 403, 408, 413, 415, 429]

/**
 * Whether a non-success response is about the items. A 5xx may also be a fault of the service or of a gateway, unless
 * it has responses to these items.
 */
function isAboutItems({ status, body }: ObservedResponse, { items }: RpcDescriptor): boolean {
  if (status < 400 || unrelated.includes(status)) return false
  if (status < 500) return true
  if (body.kind !== 'json') return false
  return matchItems(items, Array.isArray(body.value) ? body.value : [body.value]).byId.size > 0
}

/**
 * A batch may be rejected because of its items, but not because of its length. If an item fails, the reason is unknown.
 */
function checkFullBatch({ items }: RpcDescriptor, status: number, expect: Expect<'rpc.batch.full'>): void {
  if (items.some(item => item.failing) || (!is2xx(status) && status !== 400 && status !== 413)) return
  const message = () => `a batch of ${items.length} items got status ${status}, expected 200`
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
  const failingWithResult = items.find(item => item.failing && 'result' in (byId.get(item.id) ?? {}))
  const healthyWithError = items.find(item => !item.failing && isInvalidParams(byId.get(item.id)))
  expect('rpc.id', failingWithResult === undefined || healthyWithError === undefined, () => {
    const got = `item ${quote(failingWithResult?.id)} has invalid params and got a result`
    return `${got}, ${quote(healthyWithError?.id)} got its error, expected each with its own id`
  })
  const others = items.filter(item => !item.failing)
  if (others.length === items.length || others.length < minOthers) return
  const rejected = others.filter(item => isInvalidParams(byId.get(item.id)))
  expect('rpc.item-failure.alone', rejected.length < others.length, () => {
    const got = `all ${items.length} items got an invalid-params error`
    return `${got}, expected it only for the ${items.length - others.length} with invalid params`
  })
}

/** A node may reject the drawn params of one or two methods. Of three methods, at least one has valid params. */
const minOthers = 3

/**
 * Returns null if nothing is wrong. A null `result` or `error` counts as absent next to the other, since many servers
 * write it.
 */
function wrongResponse(value: unknown): string | null {
  const response = toObject(value)
  if (response === null) return 'it is not an object'
  const { jsonrpc, result, error } = response
  if (jsonrpc !== '2.0') return `jsonrpc is ${quote(jsonrpc)}, expected "2.0"`
  if (error === undefined || error === null) return result === undefined ? 'it has neither result nor error' : null
  if (result !== undefined && result !== null) return 'it has both result and error'
  return toObject(error) === null ? 'its error is not an object' : null
}

type RpcResponse = Readonly<Record<string, unknown>>

type MatchedItems = {
  readonly byId: ReadonlyMap<number | string, RpcResponse>
  /** Missing, unknown, duplicate or mistyped ids, as messages. */
  readonly faults: readonly string[]
}

/** Matches the responses of a batch with its items by id. Their order is free. */
export const matchItems = memoizeLast((items: readonly RpcItem[], responses: readonly unknown[]): MatchedItems => {
  const request = new Set(items.map(item => item.id))
  const byId = new Map<number | string, RpcResponse>()
  const faults: string[] = []
  for (const value of responses) {
    const response = toObject(value)
    const id = response?.id
    if (response === null || (typeof id !== 'number' && typeof id !== 'string') || !request.has(id)) {
      const sameText = items.find(item => plainText(item.id) === plainText(id))
      faults.push(
        sameText ? `id ${quote(sameText.id)} was returned as ${quote(id)}` : `id ${quote(id)} was not requested`,
      )
    } else if (byId.has(id)) faults.push(`id ${quote(id)} was returned twice`)
    else byId.set(id, response)
  }
  if (byId.size < request.size) {
    const missing = items.filter(item => !byId.has(item.id)).map(item => quote(item.id))
    faults.push(`no response has id ${joinFirst(missing, ', ')}`)
  }
  return { byId, faults }
})

const maxJoined = 5

/** The first few texts of a list, since the target determines its length. */
export const joinFirst = (texts: readonly string[], separator: string): string =>
  texts.slice(0, maxJoined).join(separator) + (texts.length > maxJoined ? ` and ${texts.length - maxJoined} more` : '')

/** Whether a response has the JSON-RPC code for invalid params. */
const isInvalidParams = (response: RpcResponse | undefined): boolean => toObject(response?.error)?.code === -32602

export const isRpcError = (response: RpcResponse | undefined): boolean =>
  response !== undefined && response.error !== undefined && response.error !== null
