import { latenessMs, type Observation } from '../observation/observation.ts'
import type { Timing } from '../plan/plan.ts'
import { isGood, isSuccess, type Slo } from './good.ts'
import {
  createHistogram,
  emptyHistogram,
  type Histogram,
  type HistogramFacts,
  mergeHistograms,
  type Recorder,
} from './histogram.ts'
import { outputTokens } from './output-tokens.ts'
import { gapsMs, gapTimings, singleTimings, timingMs } from './timing-values.ts'

/** What a set of observations adds up to. */
export type Figures = {
  /** Requests handed to the transport: the answered and the failed. */
  readonly sent: number
  /** Complete answers, of any status. */
  readonly answered: number
  readonly failed: number
  /** Arrivals that were due and never sent. */
  readonly dropped: number
  /** Arrivals for which nobody had given the credentials; they are not among the dropped. */
  readonly leftOut: number
  readonly good: number
  readonly statuses: ReadonlyMap<number, number>
  readonly failures: ReadonlyMap<string, number>
  /** Of complete 2xx answers that said how many they were, and how many answers that is. */
  readonly outputTokens: number
  readonly answersWithTokens: number
  /** Of complete 2xx answers, but for lateness, which is of everything sent. Empty where nothing was recorded. */
  readonly timing: (timing: Timing) => Histogram
}

/** Figures as plain data, to be added to others. */
export type FiguresFacts = Omit<Figures, 'timing'> & { readonly histograms: ReadonlyMap<Timing, HistogramFacts> }

/** Figures that grow. Histograms are made when first needed. */
export type Cell = {
  readonly figures: Figures
  readonly add: (o: Observation) => void
  readonly facts: () => FiguresFacts
  readonly absorb: (facts: FiguresFacts) => void
}

/** What statuses beyond `maxStatuses` distinct ones are counted as. */
export const OTHER_STATUS = 0
const maxStatuses = 32

export function createCell(slo: Slo): Cell {
  const histograms = new Map<Timing, Recorder>()
  const statuses = new Map<number, number>()
  const failures = new Map<string, number>()
  const figures = {
    sent: 0,
    answered: 0,
    failed: 0,
    dropped: 0,
    leftOut: 0,
    good: 0,
    statuses,
    failures,
    outputTokens: 0,
    answersWithTokens: 0,
    timing: (timing: Timing) => histograms.get(timing) ?? emptyHistogram,
  }

  const histogramOf = (timing: Timing): Recorder => {
    let histogram = histograms.get(timing)
    if (histogram === undefined) {
      histogram = createHistogram()
      histograms.set(timing, histogram)
    }
    return histogram
  }

  const record = (timing: Timing, ms: number | null) => {
    if (ms !== null) histogramOf(timing).record(ms)
  }

  const addSuccess = (o: Observation) => {
    if (isGood(o, slo)) figures.good++
    for (const timing of singleTimings) record(timing, timingMs(timing, o))
    for (const timing of gapTimings) for (const ms of gapsMs(timing, o) ?? []) record(timing, ms)
    const tokens = outputTokens(o)
    if (tokens === null) return
    figures.outputTokens += tokens
    figures.answersWithTokens++
  }

  const add = (o: Observation) => {
    if (o.outcome.kind === 'dropped') {
      if (o.outcome.reason === 'no-credentials') figures.leftOut++
      else figures.dropped++
      return
    }
    figures.sent++
    record('lateness', latenessMs(o))
    if (o.outcome.kind === 'failed') {
      figures.failed++
      increase(failures, o.outcome.reason, 1)
      return
    }
    figures.answered++
    increaseStatus(statuses, o.outcome.status, 1)
    if (isSuccess(o)) addSuccess(o)
  }

  return {
    figures,
    add,
    facts: () => {
      const { timing: _, ...counts } = figures
      return { ...counts, histograms: new Map([...histograms].map(([timing, each]) => [timing, each.facts()])) }
    },
    absorb: facts => {
      for (const name of counted) figures[name] += facts[name]
      for (const [status, count] of facts.statuses) increaseStatus(statuses, status, count)
      for (const [reason, count] of facts.failures) increase(failures, reason, count)
      for (const [timing, histogram] of facts.histograms) histogramOf(timing).absorb(histogram)
    },
  }
}

const counted = [
  'sent',
  'answered',
  'failed',
  'dropped',
  'leftOut',
  'good',
  'outputTokens',
  'answersWithTokens',
] as const satisfies (keyof Figures)[]

export function sumFigures(parts: readonly Figures[]): Figures {
  const total = (count: (part: Figures) => number) => parts.reduce((sum, part) => sum + count(part), 0)
  const statuses = new Map<number, number>()
  const failures = new Map<string, number>()
  for (const part of parts) {
    for (const [status, count] of part.statuses) increaseStatus(statuses, status, count)
    for (const [reason, count] of part.failures) increase(failures, reason, count)
  }
  const merged = new Map<Timing, Histogram>()
  return {
    sent: total(part => part.sent),
    answered: total(part => part.answered),
    failed: total(part => part.failed),
    dropped: total(part => part.dropped),
    leftOut: total(part => part.leftOut),
    good: total(part => part.good),
    statuses,
    failures,
    outputTokens: total(part => part.outputTokens),
    answersWithTokens: total(part => part.answersWithTokens),
    timing: timing => {
      const histogram = merged.get(timing) ?? mergeHistograms(parts.map(part => part.timing(timing)))
      merged.set(timing, histogram)
      return histogram
    },
  }
}

function increase<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

function increaseStatus(statuses: Map<number, number>, status: number, by: number): void {
  increase(statuses, statuses.has(status) || statuses.size < maxStatuses ? status : OTHER_STATUS, by)
}
