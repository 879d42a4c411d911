import { growthOf, type Passage } from '../capacity/growth.ts'
import type { CallTally, TrialFacts } from '../capacity/judge-trial.ts'
import type { Contract } from '../contract/contract.ts'
import { isHead, latenessMs, type Observation, type Sink } from '../observation/observation.ts'
import { isAbuseBlock } from '../observation/response.ts'
import type { Plan } from '../plan/plan.ts'
import { type Cell, createCell, type Figures, sumFigures } from './figures.ts'
import { isGood, isSuccess } from './good.ts'
import { toleratedLatenessMs } from './harness-doubt.ts'

/** What a trial adds up to. */
export type TrialFold = {
  readonly add: Sink
  /** While it goes on, its queue is looked at only as far as all is known of it. */
  readonly facts: (state: 'open' | 'ended') => TrialFacts
  readonly figures: () => Figures
  readonly good: () => number
  /** Milliseconds in which the trial was worked off: as long as it was offered, or as its answers took to come. */
  readonly workedMs: () => number
}

/** Requests whose instants are kept; where there are more, every second is given up, again and again. */
const mostPassages = 1_024
/** What comes last is left out of the time in which answers came: one that is stuck says nothing of the rate of the others. */
const stragglersFrom = 0.95

export function createTrialFold(slo: Plan['slo'], contract: Contract): TrialFold {
  const cells = new Map<string, Cell>()
  const calls: Record<string, { -readonly [Name in keyof CallTally]: number }> = {}
  const counts = { arrivals: 0, late: 0, blocked: 0, heldBack: 0, crowdedOut: 0, cutOff: 0 }
  let passages: Passage[] = []
  let stride = 1
  let passed = 0
  let longestMs = 0
  let lastEndMs = Number.NEGATIVE_INFINITY
  let [firstDueMs, lastDueMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  /** Whoever watches a search asks for all of its trials again and again, and few of them have changed. */
  let ended: TrialFacts | null = null

  const keep = ({ dueMs, sentMs, endMs }: Observation) => {
    if (sentMs === null || endMs === null) return
    longestMs = Math.max(longestMs, endMs - dueMs)
    if (passed++ % stride !== 0) return
    passages.push({ dueMs, sentMs, endMs })
    if (passages.length < mostPassages) return
    passages = passages.filter((_, index) => index % 2 === 0)
    stride *= 2
  }
  const tally = (o: Observation) => {
    const { call, answer, outcome } = o
    const ofCall = calls[call] ?? { good: 0, bad: 0, refused: 0 }
    calls[call] = ofCall
    if (answer !== null && isAbuseBlock(answer, contract)) counts.blocked++
    else if (outcome.kind === 'answered' && outcome.status === 429) ofCall.refused++
    else if (isGood(o, slo[call] ?? {})) ofCall.good++
    else ofCall.bad++
  }

  const factsUntil = (untilMs: number): TrialFacts => {
    const inOrder = passages.toSorted((a, b) => a.dueMs - b.dueMs)
    return { ...counts, calls, growth: growthOf(inOrder, stride, untilMs) }
  }

  return {
    add: o => {
      ended = null
      const { call, outcome, dueMs, endMs } = o
      const cell = cells.get(call) ?? createCell(slo[call] ?? {})
      cells.set(call, cell)
      cell.add(o)
      if (isHead(o)) counts.arrivals++
      firstDueMs = Math.min(firstDueMs, dueMs)
      lastDueMs = Math.max(lastDueMs, dueMs)
      if (outcome.kind === 'dropped') {
        if (outcome.reason === 'max-in-flight') counts.crowdedOut++
        else if (outcome.reason === 'failure-limit') counts.heldBack++
        else counts.cutOff++
        return
      }
      if (endMs !== null) lastEndMs = Math.max(lastEndMs, endMs)
      if ((latenessMs(o) ?? 0) > toleratedLatenessMs(slo[call]?.latency ?? null)) counts.late++
      if (outcome.kind === 'failed' && outcome.reason === 'cancelled') counts.cutOff++
      else tally(o)
      // What is refused at once was in no queue.
      if (outcome.kind === 'failed' || isSuccess(o)) keep(o)
    },
    facts: state => {
      if (state === 'open') return factsUntil(lastEndMs - longestMs)
      ended ??= factsUntil(lastDueMs)
      return ended
    },
    figures: () => sumFigures([...cells.values()].map(({ figures }) => figures)),
    good: () => Object.values(calls).reduce((sum, { good }) => sum + good, 0),
    workedMs: () => {
      const endsMs = passages.map(({ endMs }) => endMs).toSorted((a, b) => a - b)
      const mostMs = endsMs[Math.floor((endsMs.length - 1) * stragglersFrom)] ?? 0
      return Math.max(0, lastDueMs - firstDueMs, (mostMs - (endsMs[0] ?? mostMs)) / stragglersFrom)
    },
  }
}
