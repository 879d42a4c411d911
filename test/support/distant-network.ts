import { randomStream } from '../../src/lib/random.ts'
import type { MemoryNetwork } from '../../src/prove/memory-run.ts'

/** Milliseconds of a round trip: at least, and at most. */
const roundTripMs = { min: 150, max: 350 } as const
/** The share of requests whose connection is reset before the service has them. */
const resetShare = 0.02

/** A network to a far service: round trips of 250 ms ± 100 ms, and 2 % of the connections reset. The seed decides all. */
export function distantNetwork(seed: number): MemoryNetwork {
  const delays = randomStream(seed, 'delay')
  const resets = randomStream(seed, 'reset')
  const { min, max } = roundTripMs
  return {
    delayMs: () => (min + delays.next() * (max - min)) / 2,
    isReset: () => resets.next() < resetShare,
  }
}
