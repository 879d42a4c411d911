import { exceedsCapacity, type TrialOutcome } from '../../judge/capacity/judge-trial.ts'
import type { CapacityResult, TrialResult } from '../../judge/capacity/result.ts'
import { OTHER_NAME } from '../../judge/metrics/request-stats.ts'
import { formatPico } from '../../lib/money.ts'
import type { PushCounts } from '../../observation/log.ts'
import type { Timing } from '../../plan/plan.ts'
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
  { name: 'turnpike_request_duration_seconds', timing: 'latency', help: 'Due to end of complete 2xx answers.' },
  { name: 'turnpike_service_time_seconds', timing: 'service-time', help: 'Send to end of complete 2xx answers.' },
  { name: 'turnpike_ttft_seconds', timing: 'ttft', help: 'Send to first token of streams.' },
  { name: 'turnpike_time_per_output_token_seconds', timing: 'tpot', help: 'Pace of streams after the first token.' },
  { name: 'turnpike_inter_token_seconds', timing: 'itl', help: 'Gaps between the tokens of streams.' },
  { name: 'turnpike_inter_chunk_seconds', timing: 'icl', help: 'Gaps between the token chunks of streams.' },
  { name: 'turnpike_lateness_seconds', timing: 'lateness', help: 'Due to send: the fault of the harness.' },
]

/** Callers with series of their own; the rest share those of `OTHER_NAME`. */
export const maxExportedCallers = 50

export function families(source: ExpositionSource): readonly Family[] {
  const { metrics, meters, billing, tallies, limits, thresholds, run } = source
  const shown = new Set<string>()
  /** A caller who had series of its own keeps them. */
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
    counter('turnpike_requests_total', 'Requests sent.', ['call', 'stage', 'outcome', 'status_class'], () =>
      requestSamples(metrics),
    ),
    counter('turnpike_good_responses_total', 'Complete 2xx answers that met every SLO.', ['call', 'stage'], () =>
      cellSamples(metrics, ({ good }) => good),
    ),
    counter('turnpike_output_tokens_total', 'Tokens of complete 2xx answers.', ['call', 'stage'], () =>
      cellSamples(metrics, ({ outputTokens }) => outputTokens).filter(({ value }) => value > 0),
    ),
    counter('turnpike_arrivals_dropped_total', 'Arrivals due, never sent.', ['call', 'stage'], () =>
      cellSamples(metrics, ({ dropped }) => dropped),
    ),
    gauge('turnpike_in_flight', 'Requests sent and not ended.', [], one(source.inFlight)),
    gauge('turnpike_offered_rate', 'Arrivals due each second; none where the answers set the pace.', [], () => {
      const { offeredPerSecond } = source.stage()
      return offeredPerSecond === null ? [] : [{ labels: {}, value: offeredPerSecond }]
    }),
    gauge('turnpike_stage_info', 'Always 1, of the stage that is under way.', ['stage'], () => [
      { labels: { stage: source.stage().name }, value: 1 },
    ]),

    counter(
      'turnpike_expected_credits_total',
      'RPC credits by our tariff.',
      ['call', 'network'],
      charged(({ network, expectedCredits }) => credits(network, expectedCredits)),
    ),
    counter(
      'turnpike_claimed_credits_total',
      'RPC credits as answered.',
      ['call', 'network'],
      charged(({ network, claimedCredits }) => credits(network, claimedCredits)),
    ),
    counter(
      'turnpike_expected_usd_total',
      'USD by our tariff.',
      ['call', 'network'],
      charged(({ expectedPicoUsd }) => usd(expectedPicoUsd)),
    ),
    counter(
      'turnpike_claimed_usd_total',
      'USD as answered.',
      ['call', 'network'],
      charged(({ claimedPicoUsd }) => usd(claimedPicoUsd)),
    ),
    gauge('turnpike_billed_usd', 'Taken from the balances that were shown so far.', [], () => {
      const { billedUsd } = billing()
      return billedUsd === null ? [] : [{ labels: {}, value: Number(billedUsd) }]
    }),
    gauge('turnpike_balance_usd', 'As last shown to the caller.', ['caller'], () =>
      byCaller(
        meters.balances(),
        () => ({}),
        row => row.usd,
      ),
    ),
    gauge('turnpike_balance_diem', 'As last shown to the caller.', ['caller'], () =>
      byCaller(
        meters.balances(),
        () => ({}),
        row => row.diem,
      ),
    ),
    gauge('turnpike_discrepancies', 'Differences between what was claimed and what was billed.', ['kind'], () =>
      billing().discrepancies.map(({ kind, count }) => ({ labels: { kind }, value: count })),
    ),

    gauge('turnpike_ratelimit_remaining', 'As last shown to the caller.', ['caller', 'scope', 'tier', 'unit'], () =>
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
      'Requests that the limit allows in a window.',
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
      'Requests that a limit let through.',
      byLimit,
      ofLimit(row => row.accepted),
    ),
    counter(
      'turnpike_ratelimit_rejected_total',
      'Requests that a limit turned away.',
      byLimit,
      ofLimit(row => row.rejected),
    ),
    counter(
      'turnpike_unexpected_429_total',
      '429 within the limits.',
      byLimit,
      ofLimit(row => row.unexpected429),
    ),
    counter(
      'turnpike_missing_429_total',
      'Let through beyond the limits.',
      byLimit,
      ofLimit(row => row.missing429),
    ),
    counter('turnpike_abuse_block_responses_total', 'Answers of the abuse block.', ['caller'], () =>
      byCaller(
        [...meters.blocks()].map(([caller, count]) => ({ caller, count })),
        () => ({}),
        row => row.count,
      ),
    ),

    counter('turnpike_violations_total', 'Violations of a clause.', ['clause'], () =>
      tallies().map(({ id, violated }) => ({ labels: { clause: id }, value: violated })),
    ),
    ...searchFamilies(source),
    gauge('turnpike_threshold_ok', '1: holds so far, 0: crossed.', ['threshold'], () => thresholdSamples(thresholds())),
    gauge('turnpike_run_info', 'Always 1.', ['run_id', 'scenario', 'seed', 'version'], () => [
      { labels: { run_id: run.id, scenario: run.scenario, seed: String(run.seed), version: run.version }, value: 1 },
    ]),
    gauge('turnpike_label_overflow', `Values of a label that share ${OTHER_NAME}.`, ['label'], () => [
      { labels: { label: 'call' }, value: overflowedSeries(metrics) },
      { labels: { label: 'caller' }, value: unshown(limits()) },
    ]),
    counter('turnpike_push_failures_total', 'Pushes that the receiver did not take.', [], ofPushes('failures')),
    counter('turnpike_push_lost_samples_total', 'Samples never pushed.', [], ofPushes('lostSamples')),
  ]
}

const byLimit = ['caller', 'scope', 'tier']

const sum = (a: number, b: number): number => a + b

const one = (value: () => number) => (): readonly Sample[] => [{ labels: {}, value: value() }]

/** Samples with the same labels as one. */
function joined(samples: readonly Sample[], join: (a: number, b: number) => number): readonly Sample[] {
  const byLabels = new Map<string, Sample>()
  for (const sample of samples) {
    const key = JSON.stringify(sample.labels)
    const known = byLabels.get(key)
    byLabels.set(key, known === undefined ? sample : { ...sample, value: join(known.value, sample.value) })
  }
  return [...byLabels.values()]
}

/** The state of each search for a capacity. Rates are arrivals a second of all callers together. */
export function searchFamilies({ capacity, stage }: Pick<ExpositionSource, 'capacity' | 'stage'>): readonly Family[] {
  const ofSearches = (value: (search: CapacityResult) => number | null) => () =>
    capacity().flatMap(search => sample({ stage: search.stage }, value(search)))
  const ofOver = (value: (over: readonly TrialResult[]) => number | null) =>
    ofSearches(search => value(trialsOver(search, stage().name)))

  return [
    gauge(
      'turnpike_capacity_rate',
      'Arrivals a second that a search has confirmed.',
      ['stage'],
      ofSearches(({ ratePerSecond }) => ratePerSecond),
    ),
    gauge(
      'turnpike_capacity_trial_rate',
      'Arrivals a second of the latest trial of a search.',
      ['stage'],
      ofSearches(({ trials }) => trials.at(-1)?.offeredPerSecond ?? null),
    ),
    gauge(
      'turnpike_capacity_trial_good_ratio',
      'Good answers of all that was due in the latest trial, so far.',
      ['stage'],
      ofSearches(({ trials }) => trials.at(-1)?.goodRatio ?? null),
    ),
    gauge('turnpike_capacity_trial_info', 'Always 1, of the latest trial.', ['stage', 'purpose'], () =>
      capacity().flatMap(({ stage: name, trials }) =>
        trials.slice(-1).flatMap(({ purpose }) => sample({ stage: name, purpose }, 1)),
      ),
    ),
    gauge(
      'turnpike_capacity_sustained_rate',
      'The highest rate that held, below all that broke.',
      ['stage'],
      ofOver(over => boundsOf(over).heldPerSecond),
    ),
    gauge(
      'turnpike_capacity_exceeded_rate',
      'The lowest rate that broke.',
      ['stage'],
      ofOver(over => boundsOf(over).brokenPerSecond),
    ),
    gauge('turnpike_capacity_trials', 'Trials that are over.', ['stage', 'outcome'], () =>
      capacity().flatMap(search =>
        [...byOutcome(trialsOver(search, stage().name))].flatMap(([outcome, count]) =>
          sample({ stage: search.stage, outcome }, count),
        ),
      ),
    ),
  ]
}

/** An unknown value is not 0: it has no sample. */
const sample = (labels: Sample['labels'], value: number | null): readonly Sample[] =>
  value === null ? [] : [{ labels, value }]

/** Without the current trial, whose outcome is not certain yet. */
const trialsOver = ({ stage, trials }: CapacityResult, stageNow: string): readonly TrialResult[] =>
  stage === stageNow ? trials.slice(0, -1) : trials

/** The rates between which the capacity lies, by the trials so far. Of a rate that was tried again, the last trial counts. */
function boundsOf(over: readonly TrialResult[]): {
  readonly heldPerSecond: number | null
  readonly brokenPerSecond: number | null
} {
  const last = [...new Map(over.map(({ offeredPerSecond, outcome }) => [offeredPerSecond, outcome]))]
  const rates = (isOf: (outcome: TrialOutcome) => boolean) =>
    last.filter(([, outcome]) => isOf(outcome)).map(([perSecond]) => perSecond)
  const broken = Math.min(...rates(exceedsCapacity))
  const held = Math.max(...rates(outcome => outcome === 'sustained').filter(perSecond => perSecond < broken))
  return { heldPerSecond: finite(held), brokenPerSecond: finite(broken) }
}

/** The minimum or maximum of no values is infinite. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

function byOutcome(trials: readonly TrialResult[]): ReadonlyMap<TrialOutcome, number> {
  const counts = new Map<TrialOutcome, number>()
  for (const { outcome } of trials) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return counts
}
