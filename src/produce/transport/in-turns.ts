import type { Clock } from '../../lib/clock.ts'
import type { Transport } from './transport.ts'

/** Who of two runs that send the same requests at the same time is first: A, B, B, A, and so on. */
export type Turns = { readonly side: 0 | 1; readonly turnMs: number; readonly lagMs: number }

/** Whichever side is not first sends this much later. Both runs share a clock, so that their turns agree. */
export function inTurns(transport: Transport, clock: Clock, { side, turnMs, lagMs }: Turns): Transport {
  return async (request, signal, onFree) => {
    const turn = Math.floor(clock.nowMs() / turnMs) % 4
    const first = turn === 0 || turn === 3 ? 0 : 1
    if (first !== side) await new Promise<void>(resolve => void clock.at(clock.nowMs() + lagMs, resolve))
    return await transport(request, signal, onFree)
  }
}
