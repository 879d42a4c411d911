import type { Contract } from '../../contract/contract.ts'
import type { RequestDescriptor } from '../../observation/requests/request.ts'
import type { Bounds } from '../../plan/plan.ts'
import type { HttpRequest } from '../transport/transport.ts'

/** A request that is ready to send, and its description for the checks. */
export type BuiltRequest = {
  readonly descriptor: RequestDescriptor
  readonly request: Omit<HttpRequest, 'onStreamBytes'>
}

/** The inputs of every request builder. */
export type RequestContext = {
  readonly contract: Contract
  readonly bounds: Bounds
  readonly seed: number
  /** Makes the idempotency keys of this run unique. */
  readonly runId: string
}

export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const
