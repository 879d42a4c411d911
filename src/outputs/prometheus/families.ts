import type { WorkerHealth } from '../../judge/judge-run.ts'
import { OTHER_NAME } from '../../judge/metrics/request-stats.ts'
import type { CapacityResult, TrialOutcome, TrialResult } from '../../judge/results.ts'
import { formatPico } from '../../lib/money.ts'
import type { PushCounts } from '../../observation/log-lines.ts'
import type { Timing } from '../../plan/plan.ts'
import { boundsOf, finishedTrials } from '../progress-snapshot.ts'
import {
  cellSamples,
  counter,
  type ExpositionSource,
  type Family,
  gauge,
  overflowedSeries,
  requestSamples,
  type Sample,
  thresholdSamples,
} from './samples.ts'

export const histogramFamilies: readonly { readonly name: string; readonly timing: Timing; readonly help: string }[] = [
  {
    name: 'turnpike_request_duration_seconds',
    timing: 'latency',
    help: 'Time from due to end of complete 2xx responses.',
  },
  {
    name: 'turnpike_service_time_seconds',
    timing: 'service-time',
    help: 'Time from sent to end of complete 2xx responses.',
  },
  { name: 'turnpike_ttft_seconds', timing: 'ttft', help: 'Time from sent to first token of streams.' },
  {
    name: 'turnpike_time_per_output_token_seconds',
    timing: 'tpot',
    help: 'Mean time per token of a stream after its first token.',
  },
  { name: 'turnpike_inter_token_seconds', timing: 'itl', help: 'Gaps between tokens of streams.' },
  { name: 'turnpike_inter_chunk_seconds', timing: 'icl', help: 'Gaps between token chunks of streams.' },
  { name: 'turnpike_lateness_seconds', timing: 'lateness', help: 'Time from due to sent, caused by the harness.' },
]

/** Maximum callers with their own series; the others share those of `OTHER_NAME`. */
export const maxExportedCallers = 50

export function families(source: ExpositionSource): readonly Family[] {
  const { metrics, meters, billing, tallies, limits, thresholds, run } = source
  const shown = new Set<string>()
  /** A caller with its own series keeps them. */
  const callerOf = (name: string): string => {
    if (shown.size < maxExportedCallers) shown.add(name)
    return shown.has(name) ? name : OTHER_NAME
  }
  const unshown = (rows: readonly { readonly caller: string }[]) =>
    new Set(rows.map(({ caller }) => caller).filter(name => callerOf(name) === OTHER_NAME)).size
  const byCaller = <Row extends { readonly caller: string }>(
    rows: readonly Row[],
    labelsOf: (row: Row) => Readonly<Record<string, string>>,
    amountOf: (row: Row) => number | null,
    join: (a: number, b: number) => number = sum,
  ): readonly Sample[] =>
    joined(
      rows.flatMap(row => {
        const value = amountOf(row)
        return value === null ? [] : [{ labels: { caller: callerOf(row.caller), ...labelsOf(row) }, value }]
      }),
      join,
    )
  const charged = (amountOf: (charge: ReturnType<typeof meters.charges>[number]) => number | null) => () =>
    meters.charges().flatMap(charge => {
      const value = amountOf(charge)
      return value === null ? [] : [{ labels: { call: charge.call, network: charge.network }, value }]
    })
  const ofLimit = (amountOf: (limit: ReturnType<typeof limits>[number]) => number | null) => () =>
    byCaller(limits(), ({ scope, tier }) => ({ scope, tier }), amountOf)
  const ofPushes = (name: keyof PushCounts) => () => {
    const tally = source.pushed()
    return tally === null ? [] : [{ labels: {}, value: tally[name] }]
  }
  const usd = (pico: bigint) => Number(formatPico(pico))
  const credits = (network: string, count: bigint) => (network === 'none' ? null : Number(count))

  return [
    counter('turnpike_requests_total', 'Total requests sent.', ['call', 'stage', 'outcome', 'status_class'], () =>
      requestSamples(metrics),
    ),
    counter(
      'turnpike_good_responses_total',
      'Total complete 2xx responses that met every SLO.',
      ['call', 'stage'],
      () => cellSamples(metrics, ({ good }) => good),
    ),
    counter('turnpike_output_tokens_total', 'Total output tokens of complete 2xx responses.', ['call', 'stage'], () =>
      cellSamples(metrics, ({ outputTokens }) => outputTokens).filter(({ value }) => value > 0),
    ),
    counter('turnpike_arrivals_dropped_total', 'Total arrivals that were due but never sent.', ['call', 'stage'], () =>
      cellSamples(metrics, ({ dropped }) => dropped),
    ),
    gauge('turnpike_in_flight', 'Current number of requests in flight.', [], one(source.inFlight)),
    gauge('turnpike_offered_rate', 'Arrivals due per second; no value if responses set the pace.', [], () => {
      const { offeredPerSecond } = source.stage()
      return offeredPerSecond === null ? [] : [{ labels: {}, value: offeredPerSecond }]
    }),
    gauge('turnpike_stage_info', 'Current stage; the value is always 1.', ['stage'], () => [
      { labels: { stage: source.stage().name }, value: 1 },
    ]),

    counter(
      'turnpike_expected_credits_total',
      'Total RPC credits by the price list.',
      ['call', 'network'],
      charged(({ network, expectedCredits }) => credits(network, expectedCredits)),
    ),
    counter(
      'turnpike_claimed_credits_total',
      'Total RPC credits that responses claimed.',
      ['call', 'network'],
      charged(({ network, claimedCredits }) => credits(network, claimedCredits)),
    ),
    counter(
      'turnpike_expected_usd_total',
      'Total USD by the price list.',
      ['call', 'network'],
      charged(({ expectedPicoUsd }) => usd(expectedPicoUsd)),
    ),
    counter(
      'turnpike_claimed_usd_total',
      'Total USD that responses claimed.',
      ['call', 'network'],
      charged(({ claimedPicoUsd }) => usd(claimedPicoUsd)),
    ),
    gauge('turnpike_billed_usd', 'USD deducted so far from the balances in responses.', [], () => {
      const { billedUsd } = billing()
      return billedUsd === null ? [] : [{ labels: {}, value: Number(billedUsd) }]
    }),
    gauge('turnpike_balance_usd', 'USD balance in the latest response.', ['caller'], () =>
      byCaller(
        meters.balances(),
        () => ({}),
        row => row.usd,
      ),
    ),
    gauge('turnpike_balance_diem', 'DIEM balance in the latest response.', ['caller'], () =>
      byCaller(
        meters.balances(),
        () => ({}),
        row => row.diem,
      ),
    ),
    gauge('turnpike_discrepancies', 'Differences between claimed and billed amounts.', ['kind'], () =>
      billing().discrepancies.map(({ kind, count }) => ({ labels: { kind }, value: count })),
    ),

    gauge(
      'turnpike_ratelimit_remaining',
      'Remaining rate limit in the latest response.',
      ['caller', 'scope', 'tier', 'unit'],
      () =>
        (['requests', 'tokens'] as const).flatMap(unit =>
          byCaller(
            meters.remaining(),
            ({ scope, tier }) => ({ scope, tier, unit }),
            row => row[unit],
            Math.min,
          ),
        ),
    ),
    gauge(
      'turnpike_ratelimit_requests',
      'Requests that the rate limit allows per window.',
      ['caller', 'scope', 'tier'],
      () =>
        byCaller(
          limits(),
          ({ scope, tier }) => ({ scope, tier }),
          row => row.limit,
          Math.min,
        ),
    ),
    counter(
      'turnpike_ratelimit_accepted_total',
      'Total requests that the rate limit accepted.',
      byLimit,
      ofLimit(row => row.accepted),
    ),
    counter(
      'turnpike_ratelimit_rejected_total',
      'Total requests that the rate limit rejected.',
      byLimit,
      ofLimit(row => row.rejected),
    ),
    counter(
      'turnpike_unexpected_429_total',
      'Total 429 responses within the rate limit.',
      byLimit,
      ofLimit(row => row.unexpected429),
    ),
    counter(
      'turnpike_missing_429_total',
      'Total requests accepted above the rate limit.',
      byLimit,
      ofLimit(row => row.missing429),
    ),
    counter('turnpike_abuse_block_responses_total', 'Total responses from the abuse block.', ['caller'], () =>
      byCaller(
        [...meters.blocks()].map(([caller, count]) => ({ caller, count })),
        () => ({}),
        row => row.count,
      ),
    ),

    counter('turnpike_violations_total', 'Total violations of the clause.', ['clause'], () =>
      tallies().map(({ id, violated }) => ({ labels: { clause: id }, value: violated })),
    ),
    ...searchFamilies(source),
    ...workerFamilies(source),
    gauge('turnpike_threshold_ok', '1 if the threshold is met so far, 0 if it is crossed.', ['threshold'], () =>
      thresholdSamples(thresholds()),
    ),
    gauge('turnpike_run_info', 'Current run; the value is always 1.', ['run_id', 'scenario', 'seed', 'version'], () => [
      { labels: { run_id: run.id, scenario: run.scenario, seed: String(run.seed), version: run.version }, value: 1 },
    ]),
    gauge('turnpike_label_overflow', `Label values that share the series ${OTHER_NAME}.`, ['label'], () => [
      { labels: { label: 'call' }, value: overflowedSeries(metrics) },
      { labels: { label: 'caller' }, value: unshown(limits()) },
    ]),
    counter('turnpike_push_failures_total', 'Total pushes that the receiver did not accept.', [], ofPushes('failures')),
    counter('turnpike_push_lost_samples_total', 'Total samples that were never pushed.', [], ofPushes('lostSamples')),
  ]
}

const byLimit = ['caller', 'scope', 'tier']

const sum = (a: number, b: number): number => a + b

const one = (value: () => number) => (): readonly Sample[] => [{ labels: {}, value: value() }]

/** Joins samples with the same labels. */
function joined(samples: readonly Sample[], join: (a: number, b: number) => number): readonly Sample[] {
  const byLabels = new Map<string, Sample>()
  for (const sample of samples) {
    const key = JSON.stringify(sample.labels)
    const known = byLabels.get(key)
    byLabels.set(key, known === undefined ? sample : { ...sample, value: join(known.value, sample.value) })
  }
  return [...byLabels.values()]
}

/** The state of each capacity search. Rates are arrivals per second of all callers together. */
export function searchFamilies({ capacity, stage }: Pick<ExpositionSource, 'capacity' | 'stage'>): readonly Family[] {
  const ofSearches = (value: (search: CapacityResult) => number | null) => () =>
    capacity().flatMap(search => sample({ stage: search.stage }, value(search)))
  const ofFinished = (value: (trials: readonly TrialResult[]) => number | null) =>
    ofSearches(search => value(finishedTrials(search, stage().name)))

  return [
    gauge(
      'turnpike_capacity_rate',
      'Confirmed capacity in arrivals per second.',
      ['stage'],
      ofSearches(({ ratePerSecond }) => ratePerSecond),
    ),
    gauge(
      'turnpike_capacity_trial_rate',
      'Arrivals per second of the latest trial.',
      ['stage'],
      ofSearches(({ trials }) => trials.at(-1)?.offeredPerSecond ?? null),
    ),
    gauge(
      'turnpike_capacity_trial_good_ratio',
      'Ratio of good responses to arrivals due in the latest trial.',
      ['stage'],
      ofSearches(({ trials }) => trials.at(-1)?.goodRatio ?? null),
    ),
    gauge('turnpike_capacity_trial_info', 'Latest trial; the value is always 1.', ['stage', 'purpose'], () =>
      capacity().flatMap(({ stage: name, trials }) =>
        trials.slice(-1).flatMap(({ purpose }) => sample({ stage: name, purpose }, 1)),
      ),
    ),
    gauge(
      'turnpike_capacity_sustained_rate',
      'Highest sustained rate below every exceeded rate.',
      ['stage'],
      ofFinished(trials => boundsOf(trials).sustainedPerSecond),
    ),
    gauge(
      'turnpike_capacity_exceeded_rate',
      'Lowest rate that exceeded the capacity.',
      ['stage'],
      ofFinished(trials => boundsOf(trials).exceededPerSecond),
    ),
    gauge('turnpike_capacity_trials', 'Finished trials.', ['stage', 'outcome'], () =>
      capacity().flatMap(search =>
        [...byOutcome(finishedTrials(search, stage().name))].flatMap(([outcome, count]) =>
          sample({ stage: search.stage, outcome }, count),
        ),
      ),
    ),
  ]
}

/** The workers on other machines, one series for each shard. The last values of a lost worker no longer apply. */
export function workerFamilies({ machines }: Pick<ExpositionSource, 'machines'>): readonly Family[] {
  const named = () => machines().flatMap(({ name, ...rest }, at) => (name === null ? [] : [{ name, at, ...rest }]))
  const labelsOf = ({ name, at }: { readonly name: string; readonly at: number }) => ({
    worker: name,
    shard: String(at + 1),
  })
  const healthy = (value: (health: WorkerHealth) => number) => () =>
    named().flatMap(worker =>
      worker.health === null || worker.state === 'lost' ? [] : sample(labelsOf(worker), value(worker.health)),
    )
  const labels = ['worker', 'shard']

  return [
    gauge('turnpike_worker_up', '1 for a worker on another machine, 0 if it was lost.', labels, () =>
      named().flatMap(worker => sample(labelsOf(worker), worker.state === 'lost' ? 0 : 1)),
    ),
    gauge(
      'turnpike_worker_info',
      'Worker on another machine; the value is always 1.',
      [...labels, 'version', 'node'],
      () =>
        named().flatMap(worker => {
          const { health } = worker
          return health === null ? [] : sample({ ...labelsOf(worker), version: health.version, node: health.node }, 1)
        }),
    ),
    gauge(
      'turnpike_worker_cores',
      'Cores that the worker may use.',
      labels,
      healthy(({ cores }) => cores),
    ),
    gauge(
      'turnpike_worker_used_cores',
      'Cores in use by the worker.',
      labels,
      healthy(({ usedCores }) => usedCores),
    ),
    gauge(
      'turnpike_worker_memory_bytes',
      'Memory that the worker may use.',
      labels,
      healthy(({ memoryBytes }) => memoryBytes),
    ),
    gauge(
      'turnpike_worker_resident_memory_bytes',
      'Memory in use by the worker.',
      labels,
      healthy(({ rssBytes }) => rssBytes),
    ),
  ]
}

/** An unknown value has no sample; it is not 0. */
const sample = (labels: Sample['labels'], value: number | null): readonly Sample[] =>
  value === null ? [] : [{ labels, value }]

function byOutcome(trials: readonly TrialResult[]): ReadonlyMap<TrialOutcome, number> {
  const counts = new Map<TrialOutcome, number>()
  for (const { outcome } of trials) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return counts
}
