import { formatDuration } from '../lib/format.ts'
import { toleratedLatenessMs } from '../metrics/harness-doubt.ts'
import type { Slice } from '../metrics/slices.ts'
import type { Status } from '../metrics/thresholds.ts'
import { mean, positionMs, positionOf, sumCells } from './estimates.ts'
import type { ComparedMeasure } from './measures.ts'

/** What a call did in a stage, in a run of which this is known. */
export type ComparedCell = {
  readonly slices: readonly Slice[]
  /** Arrivals of the stage, of whatever call, that were never sent. */
  readonly dropped: number
  /** Whether the run ended by itself. */
  readonly isComplete: boolean
  readonly verdict: Status
}

/**
 * Why a number is in doubt before it is looked at: the run did not do what it was to do, or what it shows may be the harness's
 * own doing. One that is late sends another load than the planned one and reads late what has come; one that drops
 * arrivals spares the target. null: there is no doubt.
 */
export function doubtOf(
  measure: ComparedMeasure,
  run: ComparedCell,
  baselines: readonly ComparedCell[],
  material: { readonly baseMs: number; readonly minimalEffect: number },
): string | null {
  if (!run.isComplete) return 'the run did not end by itself'
  if (baselines.some(({ isComplete }) => !isComplete)) return 'its baseline did not end by itself'
  if (measure.kind === 'share' || measure.kind === 'price') return null
  if (run.verdict === 'inconclusive') return 'the run is inconclusive'
  if (baselines.some(({ verdict }) => verdict === 'inconclusive')) return 'its baseline is inconclusive'
  if (run.dropped > 0) return 'arrivals of its stage were dropped'
  if (baselines.some(({ dropped }) => dropped > 0)) return 'arrivals of its stage were dropped in a baseline'
  return measure.percent === null ? null : latenessDoubt(measure.percent, run, baselines, material)
}

/** By the same percentile: what a median cannot show of the answers, a few late sendings cannot spoil either. */
function latenessDoubt(
  percent: number,
  run: ComparedCell,
  baselines: readonly ComparedCell[],
  { baseMs, minimalEffect }: { readonly baseMs: number; readonly minimalEffect: number },
): string | null {
  const late = latenessMs(run, percent)
  const lateBefore = baselines.map(baseline => latenessMs(baseline, percent))
  const latest = Math.max(late, ...lateBefore)
  const tolerated = toleratedLatenessMs(baseMs)
  if (latest > tolerated)
    return `the harness was late: p${percent} ${formatDuration(latest)}, tolerated ${formatDuration(tolerated)}`
  const before = mean(lateBefore)
  if (Math.abs(late - before) <= baseMs * minimalEffect) return null
  return `the harness was not as late as before: p${percent} ${formatDuration(late)}, was ${formatDuration(before)}`
}

function latenessMs({ slices }: ComparedCell, percent: number): number {
  const cells = sumCells(slices.map(({ times }) => times.lateness ?? []))
  return cells.length === 0 ? 0 : positionMs(positionOf(cells, percent / 100))
}
