import { judgeTrial, type TrialSnapshot } from '../../../../src/judge/capacity/judge-trial.ts'
import { nextTrial, type SearchConclusion, type TrialRecord } from '../../../../src/judge/capacity/next-trial.ts'
import { queueTrendOf, type TimedRequest } from '../../../../src/judge/capacity/queue-growth.ts'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import type { SearchTerms, Trial } from '../../../../src/plan/plan.ts'

/** A target whose capacity is known: `slots` requests at a time, `queue` more that wait, the rest refused at once. */
export type Mill = {
  readonly slots: number
  readonly serviceMs: number
  /** Service times that vary as those of a memoryless server, and not at all otherwise. */
  readonly varies: boolean
  readonly queue: number
  /** The longest good time. */
  readonly sloMs: number
  /** The share of requests that fail for no reason. */
  readonly noise: number
  readonly seed: number
}

export const kneeOf = ({ slots, serviceMs }: Mill): number => (slots * 1000) / serviceMs

/** What is seen of a trial that begins with an empty queue and goes on to its end, unless it is given up. */
export function grind(mill: Mill, trial: Trial, terms: SearchTerms): TrialSnapshot {
  const random = randomStream(mill.seed, `mill/${trial.index}`)
  const serve = serverOf(mill, random)
  const passages: TimedRequest[] = []
  const tally = { good: 0, bad: 0, refused: 0 }
  let arrivals = 0
  const facts = (untilMs: number): TrialSnapshot => ({
    arrivals,
    calls: { rpc: { ...tally } },
    late: 0,
    blocked: 0,
    heldBack: 0,
    crowdedOut: 0,
    cutOff: 0,
    queue: queueTrendOf(passages, 1, untilMs),
  })
  const lookEvery = Math.ceil(trial.arrivals / 12)
  const gapMs = 1000 / trial.perSecond
  for (let index = 0; index < trial.arrivals; index++) {
    const dueMs = index * gapMs
    const endMs = serve(dueMs)
    arrivals++
    if (endMs === null) tally.bad++
    else {
      passages.push({ dueMs, sentMs: dueMs, endMs })
      if (endMs - dueMs <= mill.sloMs) tally.good++
      else tally.bad++
    }
    if (index % lookEvery === 0 && judgeTrial(trial, facts(dueMs), terms, 'open') !== null) break
  }
  return facts((arrivals - 1) * gapMs)
}

/** Gives when a request is over that comes at an instant; null: it is refused. */
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

/** Searches until there is a conclusion. */
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
