import type { Contract } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import { failedBeforeSend, type Observation, type ObservedResponse } from '../observation/observation.ts'
import { is2xx, jsonObject } from '../observation/response.ts'

/** A signed payment that was sent, and whose outcome is unknown. */
export type OpenPayment = { readonly id: string; readonly usd: string }

export type OpenPayments = {
  readonly add: (observation: Observation) => void
  /** In the order of sending. */
  readonly list: () => readonly OpenPayment[]
}

/** Statuses of a request that the target may still be working on, or may not have read. */
const openStatuses: readonly number[] = [408, 409, 425, 429]

/**
 * Which payments may or may not have been settled. A payment that may have been settled stays open until a response says
 * that it was: a later refusal says nothing about the first attempt.
 */
export function createOpenPayments({ wallets }: Contract): OpenPayments {
  const open = new Map<string, OpenPayment>()
  const settled = new Set<string>()
  return {
    add: ({ request, response, outcome }) => {
      if (request.kind !== 'top-up' || request.payment === null || outcome.kind === 'dropped') return
      if (outcome.kind === 'failed' && failedBeforeSend.includes(outcome.reason)) return
      const { id, usd } = request.payment
      const answered = outcome.kind === 'answered' ? response : null
      if (answered !== null && (is2xx(answered.status) || isReplay(answered))) {
        open.delete(id)
        settled.add(id)
      } else if (!settled.has(id) && (answered === null || mayBeSettled(answered.status))) open.set(id, { id, usd })
    },
    list: () => [...open.values()],
  }

  /** Whether a refusal says that the same payment was settled before. */
  function isReplay(response: ObservedResponse): boolean {
    const { status, code: expected } = wallets.topUp.refusals.replayed
    const { error, code } = jsonObject(response) ?? {}
    return response.status === status && expected !== null && [error, code, toObject(error)?.code].includes(expected)
  }
}

const mayBeSettled = (status: number): boolean => status < 400 || status >= 500 || openStatuses.includes(status)
