import type { PendingRequest, Saturate, Transport } from './transport.ts'

/**
 * Connects a driver that fires arrivals to connections that request their next request. The returned transport queues
 * each request of a fired arrival, and a free connection takes it from the queue.
 */
export function feedConnections(
  saturate: Saturate,
  connections: number,
  cancelled: AbortSignal,
): {
  /** The transport for the arrivals of the stage. */
  readonly transport: Transport
  /** Keeps the connections busy until `fireNext` returns false. A dropped arrival adds no request. */
  readonly feed: (fireNext: () => boolean) => Promise<void>
} {
  const queued: PendingRequest[] = []
  return {
    transport: request => new Promise(onEnd => void queued.push({ request, onEnd })),
    feed: fireNext => {
      const next = (): PendingRequest | null => {
        while (queued.length === 0 && fireNext());
        return queued.shift() ?? null
      }
      return saturate(next, connections, cancelled)
    },
  }
}
