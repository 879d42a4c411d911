import { resourceOf } from '../contract/contract.ts'
import type { Call as CallPlan } from '../plan/plan.ts'
import { type Call, jsonHeaders, type Office } from './call.ts'

export type ResourcePlan = Extract<CallPlan, { kind: 'resource' }>

/** What the clock of the client is said to show, on top of the place of the request: any time serves to be given back. */
const timestampBaseMs = Date.UTC(2026, 0, 1)

/** A request of a resource: its body in the contract, the members of the call over it. */
export function resourceCall(
  { kind, resource: name, body: members, page, limit }: ResourcePlan,
  seq: number,
  headers: Readonly<Record<string, string>>,
  { contract, bounds }: Office,
): Call {
  const resource = resourceOf(contract, name)
  if (resource === null) throw new RangeError(`no resource named ${name}`)
  const { requestTimestampHeader, pagination } = contract
  const body = resource.body === null ? null : { ...resource.body, ...members }
  const timestampMs = requestTimestampHeader === null ? null : timestampBaseMs + seq
  const query = new URLSearchParams({
    ...(page !== null && { [pagination.pageParameter]: String(page) }),
    ...(limit !== null && { [pagination.limitParameter]: String(limit) }),
  }).toString()
  return {
    asked: { kind, resource: name, body, page, limit, timestampMs },
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
