import type { PaymentRecord } from '../../observation/requests/wallets.ts'
import type { Call } from '../../plan/plan.ts'
import { type BuiltRequest, type CallOf, jsonHeaders, type RequestBuilder } from './call.ts'

/** A request that asks how to pay, or one that pays and still lacks its payment. */
export const topUpRequests: RequestBuilder<CallOf<'top-up'>> = {
  isUnsigned: true,
  build: (_, position, _headers, { contract, bounds }) => {
    const { chain = null, address = null } = position.wallet ?? {}
    const step = position.step === 'payment' ? 'payment' : 'offer'
    return {
      descriptor: { kind: 'top-up', step, chain, address, payment: null },
      request: {
        method: 'POST',
        path: contract.wallets.topUp.path,
        headers: jsonHeaders,
        body: '{}',
        // A settlement waits for a chain.
        timeouts: step === 'payment' ? bounds.timeouts.chat : bounds.timeouts.control,
        maxBodyBytes: bounds.maxBodyBytes,
      },
    }
  },
}

/** A top-up with a signed payment. `value`: of the payment header. */
export function withPayment(
  { descriptor, request }: BuiltRequest,
  value: string,
  payment: PaymentRecord & { readonly header: string },
): BuiltRequest {
  return {
    descriptor: descriptor.kind === 'top-up' ? { ...descriptor, payment } : descriptor,
    request: { ...request, headers: { ...request.headers, [payment.header]: value } },
  }
}

export function topUpOf(plan: Call): CallOf<'top-up'> {
  if (plan.kind !== 'top-up') throw new RangeError(`a ${plan.kind} does not pay`)
  return plan
}
