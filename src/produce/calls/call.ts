import type { Contract } from '../../contract/contract.ts'
import type { RequestDescriptor } from '../../observation/observation.ts'
import type { Bounds } from '../../plan/plan.ts'
import type { HttpRequest } from '../transport/transport.ts'

/** A request that is ready to be sent, and what it requests in terms that a check understands. */
export type BuiltRequest = {
  readonly descriptor: RequestDescriptor
  readonly request: Omit<HttpRequest, 'onStreamBytes'>
}

/** What every builder of requests needs. */
export type RequestContext = {
  readonly contract: Contract
  readonly bounds: Bounds
  readonly seed: number
  /** Keeps the idempotency keys of this run apart from those of any other. */
  readonly runId: string
}

export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const
