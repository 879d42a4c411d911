import { createHistogram, percentilesOf } from '../judge/metrics/histogram.ts'
import type { Percentiles } from '../judge/results.ts'
import { plainTable } from '../lib/text-layout.ts'
import type { EventLoopDelay } from '../observation/log-lines.ts'
import type { StreamRecord } from '../observation/observation.ts'
import type { MeasuredWindow, StreamLoad } from './stream-load.ts'

/** When the server wrote each token of a stream, on the monotonic clock of the machine, and how late that was. */
export type TokenStamps = { readonly writtenMs: number[]; readonly lateMs: number[] }

/** The delays between writing a chunk and reading it, in milliseconds. */
export type StampDelaySnapshot = {
  readonly chunkMs: Percentiles
  /** For the first token of each stream. This is the error of its TTFT. */
  readonly firstTokenMs: Percentiles
  /** The difference between the measured gap of two chunks and the written one. This is the error of the gap. */
  readonly gapMs: Percentiles
  /** How late the server wrote. This is not part of the delays above. */
  readonly serverLatenessMs: Percentiles
  /** The smallest delay. A negative one shows that the two processes do not share a clock. */
  readonly earliestMs: number | null
}

export type StampDelays = {
  /** Adds a stream: its stamps, and when each token was read, on the clock of the machine. Ignores chunks outside of the window. */
  readonly add: (stamps: TokenStamps, readMs: readonly number[]) => void
  readonly snapshot: () => StampDelaySnapshot
}

export function collectStampDelays(windowOf: () => MeasuredWindow): StampDelays {
  const chunks = createHistogram()
  const firstTokens = createHistogram()
  const gaps = createHistogram()
  const serverLateness = createHistogram()
  let earliestMs = Number.POSITIVE_INFINITY
  return {
    add: ({ writtenMs, lateMs }, readMs) => {
      const { fromMs, toMs } = windowOf()
      let before: number | null = null
      for (const [index, tokenMs] of readMs.entries()) {
        const atMs = writtenMs[index] ?? Number.NaN
        const delayMs = tokenMs - atMs
        if (atMs >= fromMs && atMs < toMs) {
          chunks.record(delayMs)
          if (index === 0) firstTokens.record(delayMs)
          // Both ends of a gap are delayed, so only the difference of the delays is its error.
          if (before !== null) gaps.record(Math.abs(delayMs - before))
          serverLateness.record(lateMs[index] ?? Number.NaN)
          earliestMs = Math.min(earliestMs, delayMs)
        }
        before = delayMs
      }
    },
    snapshot: () => ({
      chunkMs: percentilesOf(chunks),
      firstTokenMs: percentilesOf(firstTokens),
      gapMs: percentilesOf(gaps),
      serverLatenessMs: percentilesOf(serverLateness),
      earliestMs: Number.isFinite(earliestMs) ? earliestMs : null,
    }),
  }
}

/** When Turnpike read each token, from the observation of the stream. `originMs` is the origin of its clock. */
export function stampsOf({ firstTokenMs, gapsMs }: StreamRecord, originMs: number): readonly number[] {
  if (firstTokenMs === null) return []
  let atMs = originMs + firstTokenMs
  const stamps = [atMs]
  for (const gapMs of gapsMs) {
    atMs += gapMs
    stamps.push(atMs)
  }
  return stamps
}

/** The measurements of a load of streams. */
export type CalibrationData = {
  readonly load: StreamLoad
  /** Turnpike with every judge on. */
  readonly turnpike: StampDelaySnapshot
  /** A reader that only reads. */
  readonly raw: StampDelaySnapshot
  /** Streams whose observation has a different number of tokens than the server wrote. */
  readonly tokenCountMismatches: number
  /** The verdict of the run, like that of any other run. */
  readonly run: { readonly verdict: 'pass' | 'fail' | 'inconclusive'; readonly reasons: readonly string[] }
  readonly eventLoopDelayMs: EventLoopDelay
  /** The highest acceptable p99 of all chunks; null for any. */
  readonly maxP99Ms: number | null
}

/** How precisely Turnpike times streams on this machine under this load. */
export type CalibrationResult = {
  readonly verdict: 'pass' | 'fail' | 'inconclusive'
  readonly reasons: readonly string[]
  /** The shortest TTFT and gap between chunks that can be measured; null if not known. */
  readonly measurableFromMs: { readonly ttft: number | null; readonly gap: number | null }
} & Omit<CalibrationData, 'run'>

/** Two readings of one clock may differ by this much. */
const clockSlackMs = 0.05
/** The minimum share of the planned chunks that the server must write within the window. */
const minWrittenShare = 0.95

export function calibrate({ run, ...measured }: CalibrationData): CalibrationResult {
  const { turnpike } = measured
  const failures = [...(run.verdict === 'fail' ? run.reasons : []), ...failReasons(measured)]
  const unclear = [...(run.verdict === 'inconclusive' ? run.reasons : []), ...inconclusiveReasons(measured)]
  const verdict = failures.length > 0 ? 'fail' : unclear.length > 0 ? 'inconclusive' : 'pass'
  const measurableFromMs = { ttft: turnpike.firstTokenMs.p99, gap: turnpike.gapMs.p99 }
  return { verdict, reasons: [...failures, ...unclear], measurableFromMs, ...measured }
}

function failReasons({ turnpike, tokenCountMismatches, maxP99Ms }: Omit<CalibrationData, 'run'>): readonly string[] {
  const { p99 } = turnpike.chunkMs
  return [
    ...(tokenCountMismatches > 0
      ? [`Turnpike read ${tokenCountMismatches} streams with a different number of tokens than the server wrote.`]
      : []),
    ...(maxP99Ms !== null && p99 !== null && p99 > maxP99Ms
      ? [`The p99 of all chunks is ${p99.toFixed(2)} ms, expected at most ${maxP99Ms} ms.`]
      : []),
  ]
}

function inconclusiveReasons({ load, turnpike, raw }: Omit<CalibrationData, 'run'>): readonly string[] {
  const stepMs = (1000 * load.tokensPerWrite) / load.perSecond
  const planned = load.streams * load.perSecond * load.seconds
  const readers = [
    ['Turnpike', turnpike],
    ['the raw reader', raw],
  ] as const
  return readers.flatMap(([reader, { chunkMs, firstTokenMs, serverLatenessMs, earliestMs }]) => [
    ...(earliestMs !== null && earliestMs < -clockSlackMs
      ? [
          `A chunk was read ${(-earliestMs).toFixed(3)} ms before it was written: the two processes do not share a clock.`,
        ]
      : []),
    ...(chunkMs.count < minWrittenShare * planned
      ? [`The server wrote ${chunkMs.count} of ${planned} planned chunks for ${reader}. Try a lower --streams.`]
      : []),
    ...(serverLatenessMs.p99 !== null && serverLatenessMs.p99 > stepMs
      ? [
          `The server wrote ${serverLatenessMs.p99.toFixed(1)} ms late (p99) for ${reader}, expected at most ${stepMs} ms.`,
        ]
      : []),
    ...(reader === 'Turnpike' ? tooFewStreams(firstTokenMs, load) : []),
  ])
}

const tooFewStreams = ({ count, p99 }: Percentiles, load: StreamLoad): readonly string[] =>
  p99 !== null
    ? []
    : [
        `Only ${count} streams started in ${load.seconds} s, but a p99 needs 299: raise --streams or --seconds, or lower --tokens.`,
      ]

/** Formats a calibration result as text. */
export function formatCalibration(calibration: CalibrationResult): string {
  const { verdict, reasons, turnpike, raw, eventLoopDelayMs } = calibration
  const rows = [
    row('every chunk', turnpike.chunkMs),
    row('first tokens', turnpike.firstTokenMs),
    row('every chunk, raw reader', raw.chunkMs),
    row('first tokens, raw reader', raw.firstTokenMs),
    row('error of gaps', turnpike.gapMs),
    row('lateness of the server', turnpike.serverLatenessMs),
  ]
  const { p99, max } = eventLoopDelayMs
  return [
    `${verdict.toUpperCase()}  ${loadOf(calibration)}`,
    ...reasons.map(reason => `  - ${reason}`),
    describeMeasurable(calibration),
    '',
    plainTable(['delay from write to read, ms', 'p50', 'p90', 'p99', 'p99.9', 'max', 'count'], rows),
    '',
    `event-loop delay: p99 ${p99.toFixed(2)} ms, max ${max.toFixed(2)} ms`,
    '',
  ].join('\n')
}

const row = (name: string, { p50, p90, p99, p999, max, count }: Percentiles): readonly string[] => [
  name,
  ...[p50, p90, p99, p999, max].map(milliseconds),
  count.toLocaleString('en'),
]

/** Rounded up, since it is a bound. */
const milliseconds = (ms: number | null): string => (ms === null ? '–' : (Math.ceil(ms * 100) / 100).toFixed(2))

const loadOf = ({ load: { streams, perSecond, tokensPerWrite, seconds } }: CalibrationResult): string => {
  const written = tokensPerWrite === 1 ? '' : `, ${tokensPerWrite} per write`
  return `${streams.toLocaleString('en')} streams of ${perSecond} tokens per second${written}, measured for ${seconds} s`
}

function describeMeasurable({ measurableFromMs: { ttft, gap } }: CalibrationResult): string {
  if (ttft === null || gap === null)
    return 'There are too few samples to tell which times this machine can measure at this load.'
  return `At this load, this machine cannot measure a TTFT below ${milliseconds(ttft)} ms or a gap between chunks below ${milliseconds(gap)} ms.`
}
