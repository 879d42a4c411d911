import { isFirstRequest, type Observation, type Sink } from '../../observation/observation.ts'
import type { Audit } from './audit.ts'

/** The most observations that wait for one that is missing; then those that are there go ahead of it. */
const maxQueueLength = 10_000

/**
 * Observations arrive as they end; audits want them as they were sent. Each `place` is observed exactly once, sent or
 * not, so whatever stands in an unbroken row can be let go. While one that others overtook is missing, the watermark stays at
 * what was sent before it: audits wait, with the little that they keep of an observation, and nothing is misjudged.
 */
export function createSendOrder(
  release: Audit['add'],
  queueLimit = maxQueueLength,
): { readonly add: Sink; readonly flush: () => void } {
  const waiting = new Map<number, Observation>()
  let gaps: readonly Gap[] = []
  let next = 0
  let lastHeadMs = 0

  const letGo = (observation: Observation) => {
    // Arrivals are sent in the order of `place`; the further requests of a replay have low places and are sent later.
    if (isFirstRequest(observation)) lastHeadMs = Math.max(lastHeadMs, observation.sentMs ?? observation.dueMs)
    release(observation, gaps[0]?.heldAtMs ?? lastHeadMs)
  }
  const letGoRow = () => {
    for (let first = waiting.get(next); first !== undefined; first = waiting.get(next)) {
      waiting.delete(next++)
      letGo(first)
    }
  }
  const flush = () => {
    for (const seq of [...waiting.keys()].sort((a, b) => a - b)) {
      if (seq > next) gaps = [...gaps, { start: next, missing: seq - next, end: seq, heldAtMs: lastHeadMs }]
      next = Math.max(next, seq)
      letGoRow()
    }
  }

  return {
    add: observation => {
      const { seq } = observation
      if (seq < next) {
        gaps = gaps
          .map(gap => (seq >= gap.start && seq < gap.end ? { ...gap, missing: gap.missing - 1 } : gap))
          .filter(gap => gap.missing > 0)
        letGo(observation)
        return
      }
      if (seq === next) {
        next++
        letGo(observation)
        letGoRow()
        return
      }
      waiting.set(seq, observation)
      if (waiting.size > queueLimit) flush()
    },
    flush,
  }
}

/** Places that others went ahead of. What they stand for was sent at `heldAtMs` or after it. */
type Gap = {
  readonly start: number
  readonly end: number
  readonly missing: number
  readonly heldAtMs: number
}
