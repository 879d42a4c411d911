import { createHistogram, type Percentiles, percentilesOf } from '../metrics/histogram.ts'
import type { StreamRecord } from '../observation/observation.ts'
import type { Span } from './stream-load.ts'

/** When the tokens of one stream were written, on the clock of the machine, and how late that was, in their order. */
export type Beats = { readonly writtenMs: number[]; readonly lateMs: number[] }

/** How much later than it was written each chunk was stamped, in milliseconds. */
export type DelayFacts = {
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

export type Delays = {
  /** The stamps of a stream, on the clock of the machine, beside its beats. Chunks written outside of the span are left out. */
  readonly add: (beats: Beats, stampsMs: readonly number[]) => void
  readonly facts: () => DelayFacts
}

export function collectDelays(span: () => Span): Delays {
  const chunks = createHistogram()
  const firstTokens = createHistogram()
  const gaps = createHistogram()
  const metronome = createHistogram()
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
          metronome.record(lateMs[index] ?? Number.NaN)
          earliestMs = Math.min(earliestMs, delayMs)
        }
        before = delayMs
      }
    },
    facts: () => ({
      chunkMs: percentilesOf(chunks),
      firstTokenMs: percentilesOf(firstTokens),
      gapMs: percentilesOf(gaps),
      metronomeMs: percentilesOf(metronome),
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
