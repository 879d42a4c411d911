import { isFirstRequest, type Observation, type Sink } from '../../observation/observation.ts'
import { requestTraits } from '../../observation/requests/request.ts'
import type { Audit } from './audit.ts'

/** Requests that are judged together, by the id of the first. They are consecutive, since one arrival sends them. */
export function createGroups<Member extends { readonly sentMs: number }>(
  judge: (members: readonly Member[]) => void,
): {
  readonly add: (group: number, member: Member) => void
  /** Judges the groups whose first request the watermark has passed. Call it for every observation. */
  readonly settle: (watermarkMs: number) => void
} {
  /** In the order of the first requests. */
  const groups = new Map<number, Member[]>()
  return {
    add: (group, member) => {
      const members = groups.get(group)
      if (members === undefined) groups.set(group, [member])
      else members.push(member)
    },
    settle: watermarkMs => {
      if (groups.size === 0) return
      for (const [group, members] of groups) {
        if (!members.some(({ sentMs }) => sentMs < watermarkMs)) return
        groups.delete(group)
        judge(members)
      }
    },
  }
}

/** The maximum number of observations that wait for a missing one. Then the waiting ones are passed on first. */
const maxQueueLength = 10_000

/**
 * Observations arrive as they end, but audits need them in the order of sending. Each `seq` is observed exactly once,
 * sent or not, so an unbroken run can be passed on. While an overtaken observation is missing, the watermark stays at
 * the latest due time before it. Audits then wait with the few facts that they store.
 */
export function createSendOrder(
  release: Audit['add'],
  queueLimit = maxQueueLength,
): { readonly add: Sink; readonly flush: () => void } {
  const waiting = new Map<number, Observation>()
  let gaps: readonly Gap[] = []
  let next = 0
  let lastDueMs = 0

  const passOn = (observation: Observation) => {
    // Arrivals are due in the order of `seq`, and no request is sent before its arrival is due. They are not sent in this
    // order: one may wait for its sign-in. The further requests of a replay have low numbers but are due later. The turns
    // of a conversation get their numbers when they are sent, and their replays have the next ones.
    const isTurn = requestTraits(observation.request).turn(observation.request) !== null
    if (isFirstRequest(observation) || isTurn) lastDueMs = Math.max(lastDueMs, observation.dueMs)
    release(observation, gaps[0]?.heldAtMs ?? lastDueMs)
  }
  const passOnRun = () => {
    for (let first = waiting.get(next); first !== undefined; first = waiting.get(next)) {
      waiting.delete(next++)
      passOn(first)
    }
  }
  const flush = () => {
    for (const seq of [...waiting.keys()].sort((a, b) => a - b)) {
      if (seq > next) gaps = [...gaps, { start: next, missing: seq - next, end: seq, heldAtMs: lastDueMs }]
      next = Math.max(next, seq)
      passOnRun()
    }
  }

  return {
    add: observation => {
      const { seq } = observation
      if (seq < next) {
        gaps = gaps
          .map(gap => (seq >= gap.start && seq < gap.end ? { ...gap, missing: gap.missing - 1 } : gap))
          .filter(gap => gap.missing > 0)
        passOn(observation)
        return
      }
      if (seq === next) {
        next++
        passOn(observation)
        passOnRun()
        return
      }
      waiting.set(seq, observation)
      if (waiting.size > queueLimit) flush()
    },
    flush,
  }
}

/** Numbers that were overtaken. Their requests were sent at `heldAtMs` or later. */
type Gap = {
  readonly start: number
  readonly end: number
  readonly missing: number
  readonly heldAtMs: number
}
