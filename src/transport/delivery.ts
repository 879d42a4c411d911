import type { Clock } from '../lib/clock.ts'

/** So many are handed over at once; then it is the sockets' turn again. */
const mostAtOnce = 16

/**
 * Hands over what has ended once all that had arrived by then has been read. An answer is stamped when it is read, and
 * whoever works on one of them keeps those behind it waiting: after a stall there are many, and the wait would be theirs.
 */
export function createDelivery(clock: Clock): (hand: () => void) => void {
  let waiting: (() => void)[] = []
  let isDue = false
  const callSoon = () => {
    isDue = true
    clock.atPrecisely(clock.nowMs(), deliver)
  }
  const deliver = () => {
    isDue = false
    const ready = waiting.slice(0, mostAtOnce)
    waiting = waiting.slice(mostAtOnce)
    if (waiting.length > 0) callSoon()
    for (const hand of ready) hand()
  }
  return hand => {
    waiting.push(hand)
    if (!isDue) callSoon()
  }
}
