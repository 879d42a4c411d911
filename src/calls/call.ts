import type { Contract } from '../contract/contract.ts'
import type { Asked } from '../observation/observation.ts'
import type { Bounds } from '../plan/plan.ts'
import type { HttpRequest } from '../transport/transport.ts'

/** A request that is ready to be sent, with what it asks for in terms that judges understand. */
export type Call = {
  readonly asked: Asked
  readonly request: Omit<HttpRequest, 'onStreamBytes'>
}

/** What every builder of calls needs to know. */
export type Office = {
  readonly contract: Contract
  readonly bounds: Bounds
  readonly seed: number
  /** Tells the idempotency keys of this run from those of every other. */
  readonly runId: string
}

export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const
