import type { Observation, Sink } from '../observation/observation.ts'
import type { Audit } from './audit.ts'

/** The most observations that may wait for one that is missing. Past it they are let go in the order of `seq`. */
const longestQueue = 100_000

/**
 * Observations arrive as they end; audits want them as they were sent. Each `seq` is observed exactly once, sent or
 * not, so whatever stands in an unbroken row can be let go: memory holds only what ended behind one still under way.
 */
export function createSequencer(release: Audit['add']): { readonly add: Sink; readonly flush: () => void } {
  const waiting = new Map<number, Observation>()
  let next = 0
  let watermarkMs = 0
  const flush = () => {
    for (const seq of [...waiting.keys()].sort((a, b) => a - b)) letGo(seq)
  }
  const letGo = (seq: number): boolean => {
    const observation = waiting.get(seq)
    if (observation === undefined) return false
    waiting.delete(seq)
    next = Math.max(next, seq + 1)
    if (isHead(observation)) watermarkMs = Math.max(watermarkMs, observation.sentMs ?? observation.dueMs)
    release(observation, watermarkMs)
    return true
  }
  return {
    add: observation => {
      waiting.set(observation.seq, observation)
      while (letGo(next));
      if (waiting.size > longestQueue) flush()
    },
    flush,
  }
}

/** Arrivals are sent in the order of `seq`; the further requests of a replay have low numbers and are sent later. */
const isHead = ({ asked, seq }: Observation): boolean =>
  asked.kind !== 'rpc' || asked.replay === null || asked.replay.group === seq
