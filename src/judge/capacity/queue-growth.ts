/** A request of a trial, by the instants at which it was due, sent and over. */
export type TimedRequest = { readonly dueMs: number; readonly sentMs: number; readonly endMs: number }

/** How the queue in front of a target grew while a trial went on. */
export type QueueTrend = {
  /** Requests in flight that came to be more each second; below 0 where they became fewer. */
  readonly inFlightPerSecond: number
  /** Milliseconds by which requests took longer, for each second of the trial. */
  readonly latencyMsPerSecond: number
  /** By how many standard errors requests in flight became more from part to part, on average. */
  readonly deviations: number
  /** Whether both rose so steadily as values without a trend do less than one time in a hundred. */
  readonly isRising: boolean
}

const parts = 10
/** Of Kendall's S over ten values: one time in a hundred chance reaches it. */
const risingFrom = 27
/** A part with fewer requests than this, on average, says nothing. */
const minInPart = 3
/** This many requests at the beginning show how long one takes without a queue. */
const minEarly = 10

/**
 * Looks at the part of a trial about which all is known: later requests than `untilMs` may still be in flight. What
 * was due before all of the first requests were answered is left out, for then the queue fills up at any rate.
 * `passages` are one in `stride` of all, sorted by due. null where there is too little to look at.
 */
export function queueTrendOf(passages: readonly TimedRequest[], stride: number, untilMs: number): QueueTrend | null {
  const first = passages[0]
  if (first === undefined) return null
  const early = passages.slice(0, Math.max(minEarly, Math.ceil(passages.length / parts)))
  const fromMs = first.dueMs + Math.max(...early.map(durationMs))
  const known = passages.filter(({ dueMs }) => dueMs >= fromMs && dueMs <= untilMs)
  const partMs = (untilMs - fromMs) / parts
  if (known.length < parts * minInPart || partMs <= 0) return null
  const latencies: number[][] = Array.from({ length: parts }, () => [])
  for (const passage of known)
    latencies[Math.min(parts - 1, Math.floor((passage.dueMs - fromMs) / partMs))]?.push(durationMs(passage))
  const latency = latencies.filter(part => part.length > 0).map(median)
  const inFlight = latencies.map((_, part) => stride * inFlightAt(passages, fromMs + (part + 1) * partMs))
  const steps = inFlight.slice(1).map((count, part) => count - (inFlight[part] ?? count))
  return {
    inFlightPerSecond: (mean(steps) * 1000) / partMs,
    latencyMsPerSecond: (slope(latency) * 1000) / partMs,
    deviations: deviations(steps),
    isRising: [inFlight, latency].every(values => kendall(values) >= risingFrom),
  }
}

const durationMs = ({ dueMs, endMs }: TimedRequest): number => endMs - dueMs

const inFlightAt = (passages: readonly TimedRequest[], atMs: number): number =>
  passages.reduce((count, { sentMs, endMs }) => count + (sentMs <= atMs && endMs > atMs ? 1 : 0), 0)

/**
 * A queue at the edge walks at random: its length is no proof of anything, for a walk strays far, but its steps are as
 * often down as up. This is how many standard errors their mean is above 0, the statistic of Student's t test.
 */
function deviations(steps: readonly number[]): number {
  const centre = mean(steps)
  const squares = steps.reduce((total, step) => total + (step - centre) ** 2, 0)
  const error = Math.sqrt(squares / (steps.length - 1) / steps.length)
  return centre / Math.max(error, 1e-3)
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length

/** Pairs of values of which the later is the larger, less those of which it is the smaller. */
const kendall = (values: readonly number[]): number =>
  pairs(values, (a, b) => Math.sign(b - a)).reduce((a, b) => a + b, 0)

/** The median of the slopes between all pairs: no few values decide it. */
const slope = (values: readonly number[]): number => median(pairs(values, (a, b, distance) => (b - a) / distance))

function pairs(values: readonly number[], of: (a: number, b: number, distance: number) => number): readonly number[] {
  return values.flatMap((a, index) => values.slice(index + 1).map((b, ahead) => of(a, b, ahead + 1)))
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}
