import { isBreak } from '../../observation/observation.ts'
import type { Call } from '../../plan/plan.ts'
import type { Exchange, Transport } from './transport.ts'

/** Whether the connection broke before the first byte of a response. */
const isBroken = ({ status, failure }: Exchange): boolean =>
  status === null && failure !== null && isBreak(failure.reason)

/**
 * The transport for one arrival, and whether the network took from it what it was to show: the response to any of its
 * requests. A payment has shown its outcome when any of the requests after the offer got a response.
 */
export function watchLoss(
  transport: Transport,
  call: Call | undefined,
): { readonly transport: Transport; readonly isLost: () => boolean } {
  let broken = 0
  let responses = 0
  return {
    transport: async (request, signal, onFree) => {
      const exchange = await transport(request, signal, onFree)
      if (isBroken(exchange)) broken++
      if (exchange.status !== null) responses++
      return exchange
    },
    isLost: () => broken > 0 && !(call?.kind === 'top-up' && call.pay && responses > 1),
  }
}
