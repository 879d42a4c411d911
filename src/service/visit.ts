import type { Contract } from '../contract/contract.ts'
import type { Account } from './account.ts'
import type { Reply, ServiceRequest } from './message.ts'
import type { Route } from './route.ts'

/** One request while it is answered. The headers gather on the way, so that a refusal carries all that was known. */
export type Visit = {
  readonly request: ServiceRequest
  readonly route: Route
  readonly account: Account | null
  /** Unix time. */
  readonly arrivedMs: number
  readonly headers: Record<string, string>
}

export function json(visit: Visit, value: unknown, afterMs = 0): Reply {
  return { status: 200, headers: visit.headers, afterMs, body: { kind: 'whole', text: JSON.stringify(value) } }
}

/** An error object. Refusals are not kept waiting. */
export function refuse(
  visit: Visit,
  status: number,
  error: string,
  more: Readonly<Record<string, unknown>> = {},
): Reply {
  const text = JSON.stringify({ error, ...more })
  return { status, headers: visit.headers, afterMs: 0, body: { kind: 'whole', text } }
}

/** A profile may have no code for it. */
export const insufficient = (visit: Visit, { errors }: Contract): Reply =>
  refuse(
    visit,
    402,
    'Insufficient USD or DIEM balance to complete the request',
    errors.insufficientBalanceCode === null ? {} : { code: errors.insufficientBalanceCode },
  )
