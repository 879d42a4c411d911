import type { TimedRequest } from './request-sample.ts'

/** How the queue of the target grew during a trial. */
export type QueueTrend = {
  /** The growth of the requests in flight, per second; below 0: they became fewer. */
  readonly inFlightPerSecond: number
  /** The growth of the latency in milliseconds, per second of the trial. */
  readonly latencyMsPerSecond: number
  /** How seldom a queue without a trend grows so from part to part: once in this many trials; 1: it does so often. */
  readonly onceIn: number
  /** Whether both rose steadily: values without a trend do so less than once in 100 trials. */
  readonly isRising: boolean
}

/** The trend as measured, and both ends of the range in which it lies in spite of the errors of Turnpike. */
export type QueueRange = { readonly measured: QueueTrend; readonly least: QueueTrend; readonly most: QueueTrend }

/**
 * Into how many parts a trial is divided, and what values without a trend reach by chance: the mean of the steps between
 * parts in their standard errors (Student's t) once in 100 and in 1,000 trials, and Kendall's S once in 100.
 */
const divisions = [
  { parts: 10, minRequests: 30, onceIn100: 2.9, onceIn1000: 4.3, risingFrom: 27 },
  { parts: 5, minRequests: 10, onceIn100: 4.5, onceIn1000: 10.2, risingFrom: 10 },
] as const
/** The first requests show the latency without a queue. */
const minEarly = 10

/** Smaller errors do not change how many requests are in flight. */
const negligibleMs = 1

/**
 * Sent on time, a request would have ended earlier by at most its lateness and the stalls, or when it did. In the first case
 * the queue grew least; in the second, Turnpike hid the queue by sending fewer requests than were due. null: too few requests.
 */
export function queueRangeOf(requests: readonly TimedRequest[], stride: number, untilMs: number): QueueRange | null {
  const measured = queueTrendOf(requests, stride, untilMs)
  if (measured === null) return null
  if (requests.every(each => errorMs(each) < negligibleMs)) return { measured, least: measured, most: measured }
  const onTime = requests.map(each => ({ ...each, sentMs: each.dueMs }))
  const earliest = requests.map(each => ({
    ...each,
    sentMs: each.dueMs,
    endMs: Math.max(each.dueMs, each.endMs - errorMs(each)),
  }))
  return {
    measured,
    least: queueTrendOf(earliest, stride, untilMs) ?? measured,
    most: queueTrendOf(onTime, stride, untilMs) ?? measured,
  }
}

const errorMs = ({ dueMs, sentMs, stallMs }: TimedRequest): number => Math.max(0, sentMs - dueMs) + stallMs

/**
 * Evaluates the part of a trial that is complete: requests due after `untilMs` may still be in flight. Requests due before
 * the first requests ended are left out, because then the number in flight rises at any rate. `requests` are one in
 * `stride` of all, sorted by due time. null: too few requests.
 */
export function queueTrendOf(requests: readonly TimedRequest[], stride: number, untilMs: number): QueueTrend | null {
  const first = requests[0]
  if (first === undefined) return null
  const early = requests.slice(0, Math.max(minEarly, Math.ceil(requests.length / 10)))
  const fromMs = first.dueMs + Math.max(...early.map(durationMs))
  const known = requests.filter(({ dueMs }) => dueMs >= fromMs && dueMs <= untilMs)
  const division = divisions.find(({ minRequests }) => known.length >= minRequests)
  if (division === undefined || untilMs <= fromMs) return null
  const { parts, onceIn100, onceIn1000, risingFrom } = division
  const partMs = (untilMs - fromMs) / parts
  const latencies: number[][] = Array.from({ length: parts }, () => [])
  for (const request of known)
    latencies[Math.min(parts - 1, Math.floor((request.dueMs - fromMs) / partMs))]?.push(durationMs(request))
  const latency = latencies.filter(part => part.length > 0).map(median)
  const inFlight = latencies.map((_, part) => stride * inFlightAt(requests, fromMs + (part + 1) * partMs))
  const steps = inFlight.slice(1).map((count, part) => count - (inFlight[part] ?? count))
  const errors = standardErrors(steps)
  return {
    inFlightPerSecond: (mean(steps) * 1000) / partMs,
    latencyMsPerSecond: (slope(latency) * 1000) / partMs,
    onceIn: errors > onceIn1000 ? 1_000 : errors > onceIn100 ? 100 : 1,
    isRising: [inFlight, latency].every(values => kendall(values) >= risingFrom),
  }
}

const durationMs = ({ dueMs, endMs }: TimedRequest): number => endMs - dueMs

const inFlightAt = (requests: readonly TimedRequest[], atMs: number): number =>
  requests.reduce((count, { sentMs, endMs }) => count + (sentMs <= atMs && endMs > atMs ? 1 : 0), 0)

/**
 * Near the capacity, the length of a queue is a random walk. Its length is random, but its steps go up and down equally
 * often. The result is the statistic of Student's t test: the mean step in standard errors.
 */
function standardErrors(steps: readonly number[]): number {
  const center = mean(steps)
  const squares = steps.reduce((total, step) => total + (step - center) ** 2, 0)
  const error = Math.sqrt(squares / (steps.length - 1) / steps.length)
  return center / Math.max(error, 1e-3)
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length

/** The number of rising pairs of values, minus the number of falling pairs. */
const kendall = (values: readonly number[]): number =>
  pairs(values, (a, b) => Math.sign(b - a)).reduce((a, b) => a + b, 0)

/** The median of the slopes between all pairs, which is robust against outliers. */
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
