import { resourceOf } from '../../contract/contract.ts'
import type { Sender } from '../../contract/probe.ts'
import { probeOf } from '../../contract/probes.ts'
import type { ListDescriptor } from '../../observation/requests/lists.ts'
import type { Call } from '../../plan/plan.ts'
import type { ArrivalStep } from '../arrivals/arrivals.ts'
import type { Headers, WalletCaller } from '../callers/caller.ts'
import { type BuiltRequest, jsonHeaders, type RequestContext } from './call.ts'
import { buildChat } from './chat.ts'
import { buildRpc } from './rpc.ts'

/** Which request of which arrival. The content of a request depends only on this position, its call and the seed. */
export type RequestPosition = {
  /** The id of the first request of the arrival. */
  readonly firstId: number
  readonly step: ArrivalStep
  /** The wallet that sends it. Missing: a caller with keys does. */
  readonly wallet?: Pick<WalletCaller, 'chain' | 'address'> | undefined
}

/**
 * Builds the request at this position. The same call, seed and position always give the same request, so a report can
 * show requests that were not recorded. `headers` authenticate the caller.
 */
export function buildRequest(
  plan: Call,
  { firstId, step, wallet }: RequestPosition,
  headers: Headers,
  context: RequestContext,
): BuiltRequest {
  switch (plan.kind) {
    case 'chat':
      return buildChat(plan, firstId, headers, context)
    case 'rpc':
      return buildRpc(plan, `${firstId}`, null, headers, context)
    case 'replay': {
      const content = step === 'conflict' ? `${firstId}/conflict` : `${firstId}`
      const own = step === 'only' || step === 'offer' || step === 'payment' ? 'original' : step
      const role = { group: firstId, role: own, concurrent: plan.concurrent } as const
      return buildRpc(plan.of, content, role, headers, context)
    }
    case 'models':
    case 'networks':
      // No sign-in of a wallet is used up for a list that may be open to all.
      return buildList(plan.kind, wallet === undefined ? headers : {}, context)
    case 'rate-limits':
    case 'rate-limit-logs':
      return buildList(plan.kind, headers, context)
    case 'resource':
      return buildResource(plan, firstId, headers, context)
    case 'top-up':
      return buildTopUp(step === 'payment' ? 'payment' : 'offer', wallet, context)
    case 'wallet-balance':
      return buildWalletBalance(wallet?.address ?? null, headers, context)
    case 'probe':
      return buildProbe(plan.probe, firstId, headers, context)
  }
}

/** A list of the service. Each has the key of its caller, since a service may demand one for every request. */
function buildList(kind: ListDescriptor['kind'], headers: Headers, { contract, bounds }: RequestContext): BuiltRequest {
  const { paths } = contract
  const path = {
    models: paths.models,
    networks: paths.networks,
    'rate-limits': paths.rateLimits,
    'rate-limit-logs': paths.rateLimitLogs,
  }[kind]
  return {
    descriptor: { kind },
    request: {
      method: 'GET',
      path,
      headers: { accept: 'application/json', ...headers },
      body: null,
      timeouts: bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

type ResourcePlan = Extract<Call, { kind: 'resource' }>

/** The client timestamp of request 0; each request adds its id. The target only echoes it, so any time works. */
const timestampBaseMs = Date.UTC(2026, 0, 1)

/** A request for a resource. The fields of the call override the body in the contract. */
function buildResource(
  { kind, resource: name, body: fields, page, limit }: ResourcePlan,
  firstId: number,
  headers: Headers,
  { contract, bounds }: RequestContext,
): BuiltRequest {
  const resource = resourceOf(contract, name)
  if (resource === null) throw new RangeError(`no resource named ${name}`)
  const { requestTimestampHeader, pagination } = contract
  const body = resource.body === null ? null : { ...resource.body, ...fields }
  const timestampMs = requestTimestampHeader === null ? null : timestampBaseMs + firstId
  const query = new URLSearchParams({
    ...(page !== null && { [pagination.pageParameter]: String(page) }),
    ...(limit !== null && { [pagination.limitParameter]: String(limit) }),
  }).toString()
  return {
    descriptor: { kind, resource: name, body, page, limit, timestampMs },
    request: {
      method: resource.method,
      path: query === '' ? resource.path : `${resource.path}?${query}`,
      headers: {
        ...(body === null ? { accept: 'application/json' } : { ...jsonHeaders, accept: '*/*' }),
        ...(requestTimestampHeader !== null && { [requestTimestampHeader]: String(timestampMs) }),
        ...headers,
      },
      body: body === null ? null : JSON.stringify(body),
      timeouts: resource.isInference ? bounds.timeouts.chat : bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

/** A request that asks how to pay, or one that pays and still lacks its payment. */
function buildTopUp(
  step: 'offer' | 'payment',
  wallet: RequestPosition['wallet'],
  { contract, bounds }: RequestContext,
): BuiltRequest {
  const { path } = contract.wallets.topUp
  const { chain = null, address = null } = wallet ?? {}
  return {
    descriptor: { kind: 'top-up', step, chain, address, payment: null },
    request: {
      method: 'POST',
      path,
      headers: jsonHeaders,
      body: '{}',
      // A settlement waits for a chain.
      timeouts: step === 'payment' ? bounds.timeouts.chat : bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

function buildWalletBalance(
  address: string | null,
  headers: Headers,
  { contract, bounds }: RequestContext,
): BuiltRequest {
  return {
    descriptor: { kind: 'wallet-balance', address },
    request: {
      method: 'GET',
      path: contract.wallets.balancePath.replace('{walletAddress}', address ?? ''),
      headers: { accept: 'application/json', ...headers },
      body: null,
      timeouts: bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

/** The prepared request of a probe, with the credentials that the probe needs. */
function buildProbe(
  name: string,
  firstId: number,
  headers: Headers,
  { contract, bounds }: RequestContext,
): BuiltRequest {
  const probe = probeOf(name)
  const race = probe.copies === undefined ? {} : { race: firstId }
  const { method, path, headers: ownHeaders, body } = probe.request(contract)
  return {
    descriptor: { kind: 'probe', probe: name, ...race },
    request: {
      method,
      path,
      headers: { ...ownHeaders, ...probeCredentials(probe.as, headers) },
      body,
      timeouts: bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

function probeCredentials(sender: Sender, own: Headers): Headers {
  switch (sender) {
    case 'bad-key':
      return { authorization: 'Bearer not-a-key' }
    case 'other-scheme':
      return { authorization: 'Basic bm90LWE6a2V5' }
    case 'anonymous':
      return {}
    default:
      return own
  }
}
