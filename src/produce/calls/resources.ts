import { resourceOf } from '../../contract/contract.ts'
import { withQuery } from '../../contract/requests/additions.ts'
import type { ListDescriptor } from '../../observation/requests/lists.ts'
import type { ReplayRole } from '../../observation/requests/traits.ts'
import type { Headers } from '../callers/caller.ts'
import { getJson } from '../transport/transport.ts'
import { type BuiltRequest, type CallOf, jsonHeaders, keyOf, type RequestBuilder, type RequestContext } from './call.ts'

/** A list of the service. Each has the key of its caller, since a service may demand one for every request. */
export const listRequests = <Kind extends ListDescriptor['kind']>(
  kind: Kind,
  path: 'models' | 'networks' | 'rateLimits' | 'rateLimitLogs',
): RequestBuilder<CallOf<Kind>> => ({
  build: (_, _position, headers, { contract, bounds }) => ({
    descriptor: { kind },
    request: getJson(contract.paths[path], headers, bounds),
  }),
})

/** A list that may be open to everyone, so that no sign-in of a wallet is used up for it. */
export const openListRequests = (kind: 'models' | 'networks'): RequestBuilder<CallOf<typeof kind>> => ({
  isUnsigned: true,
  build: (_, { wallet }, headers, { contract, bounds }) => ({
    descriptor: { kind },
    request: getJson(contract.paths[kind], wallet === undefined ? headers : {}, bounds),
  }),
})

/** The balance of a caller with a key: where the profile says, or a list about the caller, whose headers show it. */
export const balanceCheckRequests: RequestBuilder<CallOf<'balance'>> = {
  build: (_, _position, headers, { contract, bounds }) => {
    const { path } = contract.billing.balance
    return {
      descriptor: { kind: path === null ? 'rate-limits' : 'balance' },
      request: getJson(path ?? contract.paths.rateLimits, headers, bounds),
    }
  },
}

export const balanceRequests: RequestBuilder<CallOf<'wallet-balance'>> = {
  build: (_, { wallet }, headers, { contract, bounds }) => {
    const address = wallet?.address ?? null
    const path = contract.wallets.balancePath.replace('{walletAddress}', address ?? '')
    return { descriptor: { kind: 'wallet-balance', address }, request: getJson(path, headers, bounds) }
  },
}

/** The client timestamp of request 0; each request adds its id. The target only echoes it, so any time works. */
const timestampBaseMs = Date.UTC(2026, 0, 1)

/** A request for a resource. The fields of the call override the body in the contract. */
export const resourceRequests: RequestBuilder<CallOf<'resource'>> = {
  build: (plan, { firstId }, headers, context) => buildResource(plan, firstId, headers, context),
}

export function buildResource(
  { kind, resource: name, body: fields, page, limit }: CallOf<'resource'>,
  firstId: number,
  headers: Headers,
  { contract, bounds, runId }: RequestContext,
  replay: ReplayRole | null = null,
): BuiltRequest {
  const found = resourceOf(contract, name)
  if (found === null) throw new RangeError(`no resource named ${name}`)
  const { requestTimestampHeader, pagination } = contract
  const body = found.body === null ? null : { ...found.body, ...fields }
  const timestampMs = requestTimestampHeader === null ? null : timestampBaseMs + firstId
  const query = new URLSearchParams({
    ...(page !== null && { [pagination.pageParameter]: String(page) }),
    ...(limit !== null && { [pagination.limitParameter]: String(limit) }),
  }).toString()
  return {
    descriptor: { kind, resource: name, body, page, limit, timestampMs, ...(replay !== null && { replay }) },
    request: {
      method: found.method,
      path: withQuery(found.path, query),
      headers: {
        ...(body === null ? { accept: 'application/json' } : { ...jsonHeaders, accept: '*/*' }),
        ...(requestTimestampHeader !== null && { [requestTimestampHeader]: String(timestampMs) }),
        ...keyOf(replay, contract, runId),
        ...headers,
      },
      body: body === null ? null : JSON.stringify(body),
      timeouts: found.isInference ? bounds.timeouts.chat : bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
    keepsDigest: replay !== null,
  }
}
