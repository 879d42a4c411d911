import type { Observation } from '../../observation/observation.ts'
import { getOrAdd, type MergeRules, mergeFields, sum } from '../merge.ts'
import {
  createHistogram,
  emptyHistogram,
  type Histogram,
  type HistogramSnapshot,
  histogramSnapshots,
  type MutableHistogram,
  mergeHistograms,
  mergeHistogramsInto,
} from './histogram.ts'
import { timingMs, tokenSteps } from './timings.ts'

/** The stalls of Turnpike's event loop while it waited for a set of responses. Responses without a stall are left out. */
export type StallStats = {
  /** The longest stall of each response, in milliseconds. */
  readonly longest: Histogram
  /** The same, divided by the tokens after the first: what it adds to the TPOT of the response. */
  readonly perToken: Histogram
  /** Gaps between chunks that stalls may have changed. */
  readonly gaps: number
  /** Of all streams with a TPOT, the fewest tokens after the first. Infinite if there are none. */
  readonly fewestSteps: number
}

type StallHistogram = 'longest' | 'perToken'

/** Plain data, for merging. */
export type StallStatsSnapshot = Pick<StallStats, 'gaps' | 'fewestSteps'> & {
  readonly histograms: ReadonlyMap<StallHistogram, HistogramSnapshot>
}

type MutableStallStats = {
  readonly stats: StallStats
  readonly add: (o: Observation) => void
  readonly snapshot: () => StallStatsSnapshot
  readonly merge: (snapshot: StallStatsSnapshot) => void
}

/** A stall lengthens one gap of a stream and shortens the next. */
const gapsPerStall = 2

/** Histograms are created at the first stall. */
export function createStallStats(): MutableStallStats {
  const own = {
    histograms: new Map<StallHistogram, MutableHistogram>(),
    gaps: 0,
    fewestSteps: Number.POSITIVE_INFINITY,
    get longest(): Histogram {
      return own.histograms.get('longest') ?? emptyHistogram
    },
    get perToken(): Histogram {
      return own.histograms.get('perToken') ?? emptyHistogram
    },
  }
  const record = (name: StallHistogram, ms: number) => getOrAdd(own.histograms, name, createHistogram).record(ms)
  return {
    stats: own,
    add: o => {
      const hasPace = timingMs('tpot', o) !== null
      if (hasPace) own.fewestSteps = Math.min(own.fewestSteps, tokenSteps(o))
      if (o.stalls === undefined) return
      const { count, longestMs } = o.stalls
      record('longest', longestMs)
      own.gaps += gapsPerStall * count
      if (hasPace) record('perToken', longestMs / tokenSteps(o))
    },
    snapshot: () => {
      const { gaps, fewestSteps, histograms } = own
      return { gaps, fewestSteps, histograms: histogramSnapshots(histograms) }
    },
    merge: snapshot => void mergeFields(own, snapshot, rules),
  }
}

const rules: MergeRules<
  StallStatsSnapshot,
  { readonly histograms: Map<StallHistogram, MutableHistogram> } & StallStats
> = {
  histograms: mergeHistogramsInto,
  gaps: sum,
  fewestSteps: Math.min,
}

export const mergeStalls = (parts: readonly StallStats[]): StallStats => ({
  longest: mergeHistograms(parts.map(part => part.longest)),
  perToken: mergeHistograms(parts.map(part => part.perToken)),
  gaps: parts.reduce((sum, part) => sum + part.gaps, 0),
  fewestSteps: Math.min(Number.POSITIVE_INFINITY, ...parts.map(part => part.fewestSteps)),
})
