import { createHistogram, type Percentiles, percentilesOf } from '../judge/metrics/histogram.ts'
import { plainTable } from '../lib/text-layout.ts'
import type { EventLoopDelay } from '../observation/log.ts'
import type { StreamRecord } from '../observation/observation.ts'
import { type MeasuredWindow, type StreamLoad, streamMs } from './stream-load.ts'

/** When the tokens of one stream were written, on the clock of the machine, and how late that was, in their order. */
export type TokenStamps = { readonly writtenMs: number[]; readonly lateMs: number[] }

/** How much later than it was written each chunk was stamped, in milliseconds. */
export type StampDelaySnapshot = {
  readonly chunkMs: Percentiles
  /** Of the first token of each stream: the error of its TTFT. */
  readonly firstTokenMs: Percentiles
  /** How far the gap that was measured between two chunks is from that between their writing: the error of the gap. */
  readonly gapMs: Percentiles
  /** How late the metronome itself was, which is no part of the above. */
  readonly metronomeMs: Percentiles
  /** Nothing can be read before it was written, if two processes have one clock. */
  readonly earliestMs: number | null
}

export type StampDelays = {
  /** The stamps of a stream, on the clock of the machine, beside its beats. Chunks written outside of the span are left out. */
  readonly add: (stamps: TokenStamps, stampsMs: readonly number[]) => void
  readonly facts: () => StampDelaySnapshot
}

export function collectStampDelays(span: () => MeasuredWindow): StampDelays {
  const chunks = createHistogram()
  const firstTokens = createHistogram()
  const gaps = createHistogram()
  const calibrationServer = createHistogram()
  let earliestMs = Number.POSITIVE_INFINITY
  return {
    add: ({ writtenMs, lateMs }, stampsMs) => {
      const { fromMs, toMs } = span()
      let before: number | null = null
      for (const [index, stampMs] of stampsMs.entries()) {
        const atMs = writtenMs[index] ?? Number.NaN
        const delayMs = stampMs - atMs
        if (atMs >= fromMs && atMs < toMs) {
          chunks.record(delayMs)
          if (index === 0) firstTokens.record(delayMs)
          // Both ends of a gap have a delay, and only what they differ by is in it.
          if (before !== null) gaps.record(Math.abs(delayMs - before))
          calibrationServer.record(lateMs[index] ?? Number.NaN)
          earliestMs = Math.min(earliestMs, delayMs)
        }
        before = delayMs
      }
    },
    facts: () => ({
      chunkMs: percentilesOf(chunks),
      firstTokenMs: percentilesOf(firstTokens),
      gapMs: percentilesOf(gaps),
      metronomeMs: percentilesOf(calibrationServer),
      earliestMs: Number.isFinite(earliestMs) ? earliestMs : null,
    }),
  }
}

/** When the tokens of a stream were stamped, out of what its observation says; `originMs` is that of its clock. */
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

/** What was measured of a load of streams. */
export type CalibrationData = {
  readonly load: StreamLoad
  /** Turnpike with every judge on. */
  readonly turnpike: StampDelaySnapshot
  /** A reader that does nothing else. */
  readonly raw: StampDelaySnapshot
  /** Streams whose observation has another number of tokens than were written. */
  readonly tokenCountMismatches: number
  /** The verdict of the run, as of any other. */
  readonly run: { readonly verdict: 'pass' | 'fail' | 'inconclusive'; readonly reasons: readonly string[] }
  readonly eventLoopDelayMs: EventLoopDelay
  /** The p99 of all chunks that is still good enough; null: any is. */
  readonly maxP99Ms: number | null
}

/** How far instants that Turnpike states of streams can be trusted on this machine under this load. */
export type CalibrationResult = {
  readonly verdict: 'pass' | 'fail' | 'inconclusive'
  readonly reasons: readonly string[]
  /** Below these, a TTFT and a gap between chunks say nothing about a target; null where that is not known. */
  readonly measurableFromMs: { readonly ttft: number | null; readonly gap: number | null }
} & Omit<CalibrationData, 'run'>

/** So far apart two readings of one clock may seem. */
const clockSlackMs = 0.05
/** Of the chunks that were to be written in the time that counts. */
const leastWritten = 0.95

export function calibrate({ run, ...measured }: CalibrationData): CalibrationResult {
  const { turnpike } = measured
  const wrong = [...(run.verdict === 'fail' ? run.reasons : []), ...wrongs(measured)]
  const doubts = [...(run.verdict === 'inconclusive' ? run.reasons : []), ...doubtsOf(measured)]
  const verdict = wrong.length > 0 ? 'fail' : doubts.length > 0 ? 'inconclusive' : 'pass'
  const measurableFromMs = { ttft: turnpike.firstTokenMs.p99, gap: turnpike.gapMs.p99 }
  return { verdict, reasons: [...wrong, ...doubts], measurableFromMs, ...measured }
}

function wrongs({ turnpike, tokenCountMismatches, maxP99Ms }: Omit<CalibrationData, 'run'>): readonly string[] {
  const { p99 } = turnpike.chunkMs
  return [
    ...(tokenCountMismatches > 0
      ? [`${tokenCountMismatches} streams were read with another number of tokens than were written.`]
      : []),
    ...(maxP99Ms !== null && p99 !== null && p99 > maxP99Ms
      ? [`The p99 of all chunks is ${p99.toFixed(2)} ms, expected at most ${maxP99Ms} ms.`]
      : []),
  ]
}

function doubtsOf({ load, turnpike, raw }: Omit<CalibrationData, 'run'>): readonly string[] {
  const stepMs = (1000 * load.tokensPerWrite) / load.perSecond
  const planned = load.streams * load.perSecond * load.seconds
  const who = [
    ['Turnpike', turnpike],
    ['the bare reader', raw],
  ] as const
  return who.flatMap(([reader, { chunkMs, firstTokenMs, metronomeMs, earliestMs }]) => [
    ...(earliestMs !== null && earliestMs < -clockSlackMs
      ? [
          `A chunk was read ${(-earliestMs).toFixed(3)} ms before it was written: the two processes have no clock in common.`,
        ]
      : []),
    ...(chunkMs.count < leastWritten * planned
      ? [`${chunkMs.count} chunks were written for ${reader} in the time that counts, expected ${planned}.`]
      : []),
    ...(metronomeMs.p99 !== null && metronomeMs.p99 > stepMs
      ? [
          `The metronome itself was ${metronomeMs.p99.toFixed(1)} ms late (p99) for ${reader}, expected at most ${stepMs} ms.`,
        ]
      : []),
    ...(reader === 'Turnpike' ? tooFew(firstTokenMs, load) : []),
  ])
}

const tooFew = ({ count, p99 }: Percentiles, load: StreamLoad): readonly string[] =>
  p99 !== null
    ? []
    : [
        `${count} streams began in the time that counts, too few for a p99: 299 are needed, with streams of ${streamMs(load) / 1000} s.`,
      ]

/** A certificate for people. */
export function formatCalibration(calibration: CalibrationResult): string {
  const { verdict, reasons, turnpike, raw, eventLoopDelayMs } = calibration
  const rows = [
    row('every chunk', turnpike.chunkMs),
    row('first tokens', turnpike.firstTokenMs),
    row('every chunk, bare reader', raw.chunkMs),
    row('first tokens, bare reader', raw.firstTokenMs),
    row('error of gaps', turnpike.gapMs),
    row('metronome behind its schedule', turnpike.metronomeMs),
  ]
  const { p99, max } = eventLoopDelayMs
  return [
    `${verdict.toUpperCase()}  ${loadOf(calibration)}`,
    ...reasons.map(reason => `  - ${reason}`),
    floorOf(calibration),
    '',
    plainTable(['written to stamped, ms', 'p50', 'p90', 'p99', 'p99.9', 'max', 'count'], rows),
    '',
    `event loop delay: p99 ${p99.toFixed(2)} ms, at most ${max.toFixed(2)} ms`,
    '',
  ].join('\n')
}

const row = (name: string, { p50, p90, p99, p999, max, count }: Percentiles): readonly string[] => [
  name,
  ...[p50, p90, p99, p999, max].map(milliseconds),
  count.toLocaleString('en'),
]

/** Rounded up, for it is a bound. */
const milliseconds = (ms: number | null): string => (ms === null ? '–' : (Math.ceil(ms * 100) / 100).toFixed(2))

const loadOf = ({ load: { streams, perSecond, tokensPerWrite, seconds } }: CalibrationResult): string => {
  const written = tokensPerWrite === 1 ? '' : `, ${tokensPerWrite} written at once`
  return `${streams.toLocaleString('en')} streams of ${perSecond} tokens a second${written}, watched for ${seconds} s`
}

function floorOf({ measurableFromMs: { ttft, gap } }: CalibrationResult): string {
  if (ttft === null || gap === null)
    return 'What times say about a target on this machine under this load is not known.'
  return `On this machine under this load, a TTFT below ${milliseconds(ttft)} ms and a gap between chunks below ${milliseconds(gap)} ms say nothing about a target.`
}
