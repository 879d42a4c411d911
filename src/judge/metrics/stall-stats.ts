import type { Observation } from '../../observation/observation.ts'
import {
  createHistogram,
  emptyHistogram,
  type Histogram,
  type HistogramSnapshot,
  mergeHistograms,
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

/** Plain data, for merging. */
export type StallStatsSnapshot = {
  readonly longest: HistogramSnapshot | null
  readonly perToken: HistogramSnapshot | null
  readonly gaps: number
  readonly fewestSteps: number
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
  const [longest, perToken] = [lazyHistogram(), lazyHistogram()]
  let gaps = 0
  let fewestSteps = Number.POSITIVE_INFINITY
  return {
    stats: {
      get longest() {
        return longest.current()
      },
      get perToken() {
        return perToken.current()
      },
      get gaps() {
        return gaps
      },
      get fewestSteps() {
        return fewestSteps
      },
    },
    add: o => {
      const hasPace = timingMs('tpot', o) !== null
      if (hasPace) fewestSteps = Math.min(fewestSteps, tokenSteps(o))
      if (o.stalls === undefined) return
      const { count, longestMs } = o.stalls
      longest.own().record(longestMs)
      gaps += gapsPerStall * count
      if (hasPace) perToken.own().record(longestMs / tokenSteps(o))
    },
    snapshot: () => ({ longest: longest.snapshot(), perToken: perToken.snapshot(), gaps, fewestSteps }),
    merge: snapshot => {
      if (snapshot.longest !== null) longest.own().merge(snapshot.longest)
      if (snapshot.perToken !== null) perToken.own().merge(snapshot.perToken)
      gaps += snapshot.gaps
      fewestSteps = Math.min(fewestSteps, snapshot.fewestSteps)
    },
  }
}

function lazyHistogram() {
  let histogram: ReturnType<typeof createHistogram> | null = null
  return {
    current: (): Histogram => histogram ?? emptyHistogram,
    own: () => {
      histogram ??= createHistogram()
      return histogram
    },
    snapshot: () => histogram?.snapshot() ?? null,
  }
}

export const mergeStalls = (parts: readonly StallStats[]): StallStats => ({
  longest: mergeHistograms(parts.map(part => part.longest)),
  perToken: mergeHistograms(parts.map(part => part.perToken)),
  gaps: parts.reduce((sum, part) => sum + part.gaps, 0),
  fewestSteps: Math.min(Number.POSITIVE_INFINITY, ...parts.map(part => part.fewestSteps)),
})
