import { emptyTally, tallyOf } from '../../../../src/judge/capacity/call-tally.ts'
import { judgeTrial, type TrialSnapshot } from '../../../../src/judge/capacity/judge-trial.ts'
import { nextTrial, type SearchConclusion, type TrialRecord } from '../../../../src/judge/capacity/next-trial.ts'
import { queueRangeOf } from '../../../../src/judge/capacity/queue-growth.ts'
import type { TimedRequest } from '../../../../src/judge/capacity/request-sample.ts'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import type { SearchTerms, Trial } from '../../../../src/plan/plan.ts'

/** A target with a known capacity: `slots` concurrent requests, `queue` waiting ones; it rejects the rest immediately. */
export type Mill = {
  readonly slots: number
  readonly serviceMs: number
  /** Exponential service times; else they are constant. */
  readonly varies: boolean
  readonly queue: number
  /** The longest good time. */
  readonly sloMs: number
  /** The share of requests that fail at random. */
  readonly noise: number
  readonly seed: number
}

export const noRequests = () => tallyOf(emptyTally(), 0)

export const kneeOf = ({ slots, serviceMs }: Mill): number => (slots * 1000) / serviceMs

/** Simulates a trial that starts with an empty queue, until its end or until its outcome is certain. */
export function grind(mill: Mill, trial: Trial, terms: SearchTerms): TrialSnapshot {
  const random = randomStream(mill.seed, `mill/${trial.index}`)
  const serve = serverOf(mill, random)
  const requests: TimedRequest[] = []
  const tally = emptyTally()
  let arrivals = 0
  const snapshot = (untilMs: number): TrialSnapshot => ({
    arrivals,
    calls: { rpc: tallyOf(tally, 0) },
    late: 0,
    blocked: 0,
    heldBack: 0,
    crowdedOut: 0,
    cutOff: 0,
    queue: queueRangeOf(requests, 1, untilMs),
  })
  const lookEvery = Math.ceil(trial.arrivals / 12)
  const gapMs = 1000 / trial.perSecond
  for (let index = 0; index < trial.arrivals; index++) {
    const dueMs = index * gapMs
    const endMs = serve(dueMs)
    arrivals++
    if (endMs === null) tally.bad++
    else {
      requests.push({ dueMs, sentMs: dueMs, endMs, stallMs: 0 })
      if (endMs - dueMs <= mill.sloMs) tally.good++
      else tally.bad++
    }
    if (index % lookEvery === 0 && judgeTrial(trial, snapshot(dueMs), terms, 'open') !== null) break
  }
  return snapshot((arrivals - 1) * gapMs)
}

/** Returns the end of a request that arrives at an instant; null: it is rejected. */
function serverOf({ slots, serviceMs, queue, varies, noise }: Mill, random: Random): (nowMs: number) => number | null {
  const free = Array<number>(slots).fill(0)
  let begins: number[] = []
  return nowMs => {
    begins = begins.filter(beginMs => beginMs > nowMs)
    if (random.next() < noise) return null
    const [firstMs = 0] = free.sort((a, b) => a - b)
    if (begins.length >= queue && firstMs > nowMs) return null
    const beginMs = Math.max(nowMs, firstMs)
    free[0] = beginMs + serviceMs * (varies ? random.exponential() : 1)
    if (beginMs > nowMs) begins.push(beginMs)
    return free[0]
  }
}

/** Runs a search to its conclusion. */
export function search(mill: Mill, terms: SearchTerms): { conclusion: SearchConclusion; past: readonly TrialRecord[] } {
  const past: TrialRecord[] = []
  for (;;) {
    const next = nextTrial(terms, past)
    if (next.kind === 'conclusion') return { conclusion: next.conclusion, past }
    const outcome = judgeTrial(next.trial, grind(mill, next.trial, terms), terms, 'over')
    if (outcome === null) throw new Error('a trial that is over has an outcome')
    past.push({ trial: next.trial, outcome })
  }
}

export const terms = (changes: Partial<SearchTerms> = {}): SearchTerms => ({
  fromPerSecond: 10,
  toPerSecond: 2000,
  goodRatio: 0.99,
  precision: 0.03,
  trialMs: 3000,
  confirmMs: 10_000,
  confirmSamples: 299,
  mix: { rpc: 1 },
  callerPerSecond: null,
  ...changes,
})

export const mill = (changes: Partial<Mill> = {}): Mill => ({
  slots: 4,
  serviceMs: 20,
  varies: false,
  queue: 100,
  sloMs: 500,
  noise: 0,
  seed: 1,
  ...changes,
})
