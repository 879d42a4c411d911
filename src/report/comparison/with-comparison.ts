import type { Comparison } from '../../compare/comparison.ts'
import type { Report } from '../document.ts'
import { outcomeStatus } from '../sections/comparison.ts'

/**
 * The report of a run that was asked to be no worse than its baselines: a regression is a failure, and where it cannot be
 * told the run is inconclusive, unless it fails anyway.
 */
export function withComparison(report: Report, comparison: Comparison): Report {
  const added = outcomeStatus[comparison.verdict]
  const order = ['fail', 'inconclusive', 'pass'] as const
  const verdict = order.find(status => status === report.verdict || status === added) ?? report.verdict
  const kept = report.verdict === 'pass' && added !== 'pass' ? [] : report.because
  const reasons = comparison.because.map(reason => `Against the baseline: ${reason}`)
  // What fails comes first, and doubts behind it.
  const because = added === 'fail' && report.verdict === 'inconclusive' ? [...reasons, ...kept] : [...kept, ...reasons]
  return { ...report, verdict, because, comparison }
}
