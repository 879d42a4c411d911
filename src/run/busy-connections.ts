import type { PendingRequest, Saturate, Transport } from '../transport/transport.ts'

/**
 * Lets connections that ask for their next request be fed by arrivals that are fired: while one is fired, its request
 * is caught on its way to the transport, and handed to the connection that has asked.
 */
export function busyConnections(saturate: Saturate): {
  /** What arrivals are to be sent with. */
  readonly transport: Transport
  /** Fires arrivals as long as there are any; one that was dropped has no request. */
  readonly keepBusy: (fireNext: () => boolean, connections: number, signal: AbortSignal) => Promise<void>
} {
  const caught: PendingRequest[] = []
  return {
    transport: request => new Promise(onEnd => void caught.push({ request, onEnd })),
    keepBusy: (fireNext, connections, signal) => {
      const next = (): PendingRequest | null => {
        while (caught.length === 0 && fireNext());
        return caught.shift() ?? null
      }
      return saturate(next, connections, signal)
    },
  }
}
