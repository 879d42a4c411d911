import type { Percentiles } from '../../judge/results.ts'
import type { CallFacts, Report } from '../../report/document.ts'
import type { Family } from './samples.ts'

/**
 * The metrics of the verdict of a run. All are gauges with the label `scenario`, which the next run of the scenario
 * replaces. Their names differ from those of a live run, so an old verdict does not look like a current one.
 */
export function verdictFamilies(report: Report): readonly Family[] {
  const { scenario } = report.run
  return familiesOf(report).map(({ labels, samples, ...family }) => ({
    ...family,
    labels: ['scenario', ...labels],
    samples: () => samples().map(sample => ({ ...sample, labels: { scenario, ...sample.labels } })),
  }))
}

function familiesOf(report: Report): readonly Family[] {
  const { verdict, run, load, billing, clauses, thresholds, capacity } = report
  const calls = report.calls.filter(({ stage }) => stage === null)
  const judged = clauses.filter(({ verdict }) => verdict === 'pass' || verdict === 'fail')
  const ofCalls = (percentiles: (snapshot: CallFacts) => Percentiles) =>
    calls.flatMap(snapshot => quantiles(percentiles(snapshot), { call: snapshot.call }))

  return [
    last('verdict', '1 for the verdict of the run, 0 for the others.', ['verdict'], verdicts, each => [
      { verdict: each },
      each === verdict ? 1 : 0,
    ]),
    last(
      'info',
      'Run information; the value is always 1.',
      ['run_id', 'seed', 'version', 'ended'],
      [run],
      ({ id, seed, version, ended }) => [{ run_id: id, seed: String(seed), version, ended }, 1],
    ),
    last('start_timestamp_seconds', 'Start time of the run.', [], [Date.parse(run.startedAt) / 1000], unlabeled),
    last('duration_seconds', 'Duration of the run.', [], [run.durationMs / 1000], unlabeled),
    last(
      'threshold_ok',
      '1 if the threshold was met, 0 if it was crossed.',
      ['threshold'],
      thresholds,
      ({ expression, verdict: each }) => [
        { threshold: expression },
        each === 'inconclusive' ? null : each === 'pass' ? 1 : 0,
      ],
    ),
    last('violations', 'Violations of the clause.', ['clause'], judged, ({ id, violated }) => [
      { clause: id },
      violated,
    ]),
    last('discrepancies', 'Differences between claimed and billed amounts.', ['kind'], billing.discrepancies, each => [
      { kind: each.kind },
      each.count,
    ]),
    last('requests', 'Requests by outcome.', ['outcome'], outcomes, outcome => [{ outcome }, load[outcome]]),
    last('credits', 'RPC credits, expected and claimed.', ['by'], ['expected', 'claimed'] as const, by => [
      { by },
      Number(by === 'expected' ? billing.expectedCredits : billing.claimedCredits),
    ]),
    last('usd', 'USD, expected, claimed and billed.', ['by'], ['expected', 'claimed', 'billed'] as const, by => {
      const amount = { expected: billing.expectedUsd, claimed: billing.claimedUsd, billed: billing.billedUsd }[by]
      return [{ by }, amount === null ? null : Number(amount)]
    }),
    last('good_ratio', 'Ratio of good responses to arrivals due.', ['call'], calls, ({ call, goodRatio }) => [
      { call },
      goodRatio,
    ]),
    last(
      'request_duration_seconds',
      'Time from due to end of complete 2xx responses.',
      ['call', 'quantile'],
      ofCalls(snapshot => snapshot.latencyMs),
      same,
    ),
    last(
      'ttft_seconds',
      'Time from sent to first token of streams.',
      ['call', 'quantile'],
      ofCalls(snapshot => snapshot.ttftMs),
      same,
    ),
    last('lateness_seconds', 'Time from due to sent.', ['quantile'], quantiles(load.latenessMs, {}), same),
    last(
      'capacity_rate',
      'Confirmed capacity in arrivals per second.',
      ['stage'],
      capacity,
      ({ stage, ratePerSecond }) => [{ stage }, ratePerSecond],
    ),
    last(
      'capacity_info',
      'Capacity search; the value is always 1.',
      ['stage', 'status'],
      capacity,
      ({ stage, status }) => [{ stage, status }, 1],
    ),
  ]
}

const verdicts = ['pass', 'fail', 'inconclusive'] as const
const outcomes = ['answered', 'failed', 'dropped'] as const

/** The labels and the value of a sample; null: no sample. */
type Row = readonly [labels: Readonly<Record<string, string>>, value: number | null]

const unlabeled = (value: number): Row => [{}, value]
const same = (row: Row): Row => row

/** A percentile with too few values is null. */
const quantiles = (
  { p50, p90, p95, p99, p999 }: Percentiles,
  labels: Readonly<Record<string, string>>,
): readonly Row[] =>
  Object.entries({ '0.5': p50, '0.9': p90, '0.95': p95, '0.99': p99, '0.999': p999 }).map(([quantile, ms]) => [
    { ...labels, quantile },
    ms === null ? null : ms / 1000,
  ])

function last<Item>(
  name: string,
  help: string,
  labels: readonly string[],
  items: readonly Item[],
  row: (item: Item) => Row,
): Family {
  const samples = items.map(row).flatMap(([own, value]) => (value === null ? [] : [{ labels: own, value }]))
  return { name: `turnpike_last_run_${name}`, kind: 'gauge', help: `Last run: ${help}`, labels, samples: () => samples }
}
