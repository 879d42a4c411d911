import type { Percentiles } from '../metrics/histogram.ts'
import type { EventLoopDelay } from '../observation/log.ts'
import type { DelayFacts } from './delays.ts'
import { type StreamLoad, streamMs } from './stream-load.ts'

/** What was measured of a load of streams. */
export type Measured = {
  readonly load: StreamLoad
  /** Turnpike with every judge on. */
  readonly turnpike: DelayFacts
  /** A reader that does nothing else. */
  readonly bare: DelayFacts
  /** Streams whose observation has another number of tokens than were written. */
  readonly misread: number
  /** The verdict of the run, as of any other. */
  readonly run: { readonly verdict: 'pass' | 'fail' | 'inconclusive'; readonly because: readonly string[] }
  readonly eventLoopDelayMs: EventLoopDelay
  /** The p99 of all chunks that is still good enough; null: any is. */
  readonly mostMs: number | null
}

/** How far instants that Turnpike states of streams can be trusted on this machine under this load. */
export type Certificate = {
  readonly verdict: 'pass' | 'fail' | 'inconclusive'
  readonly because: readonly string[]
  /** Below these, a TTFT and a gap between chunks say nothing about a target; null where that is not known. */
  readonly floorMs: { readonly ttft: number | null; readonly gap: number | null }
} & Omit<Measured, 'run'>

/** So far apart two readings of one clock may seem. */
const clockSlackMs = 0.05
/** Of the chunks that were to be written in the time that counts. */
const leastWritten = 0.95

export function certify({ run, ...measured }: Measured): Certificate {
  const { turnpike } = measured
  const wrong = [...(run.verdict === 'fail' ? run.because : []), ...wrongs(measured)]
  const doubts = [...(run.verdict === 'inconclusive' ? run.because : []), ...doubtsOf(measured)]
  const verdict = wrong.length > 0 ? 'fail' : doubts.length > 0 ? 'inconclusive' : 'pass'
  const floorMs = { ttft: turnpike.firstTokenMs.p99, gap: turnpike.gapMs.p99 }
  return { verdict, because: [...wrong, ...doubts], floorMs, ...measured }
}

function wrongs({ turnpike, misread, mostMs }: Omit<Measured, 'run'>): readonly string[] {
  const { p99 } = turnpike.chunkMs
  return [
    ...(misread > 0 ? [`${misread} streams were read with another number of tokens than were written.`] : []),
    ...(mostMs !== null && p99 !== null && p99 > mostMs
      ? [`The p99 of all chunks is ${p99.toFixed(2)} ms, expected at most ${mostMs} ms.`]
      : []),
  ]
}

function doubtsOf({ load, turnpike, bare }: Omit<Measured, 'run'>): readonly string[] {
  const stepMs = (1000 * load.atOnce) / load.perSecond
  const planned = load.streams * load.perSecond * load.seconds
  const who = [
    ['Turnpike', turnpike],
    ['the bare reader', bare],
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
