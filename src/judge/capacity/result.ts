import { count, formatDuration, formatRate, formatRatio, plural } from '../../lib/format.ts'
import type { SearchTerms, Timing } from '../../plan/plan.ts'
import type { CapacityResult, TrialOutcome, TrialResult } from '../results.ts'

import { exceedsCapacity, isHarnessLimit } from './judge-trial.ts'
import { maxTrials, type SearchConclusion } from './next-trial.ts'

/** Whether the rate of a trial exceeded the capacity of the target. */
export const wasExceeded = ({ outcome }: Pick<TrialResult, 'outcome'>): boolean => exceedsCapacity(outcome)

/** Whether the target alone decided a search; otherwise the run is inconclusive. */
export const isConclusive = ({ status }: Pick<CapacityResult, 'status'>): boolean =>
  status === 'found' || status === 'above-range' || status === 'below-range'

/** The outcome of a trial, in a few words. */
export const trialLabels: Readonly<Record<TrialOutcome, string>> = {
  sustained: 'sustained',
  'slo-missed': 'too many bad responses',
  'queue-growing': 'the queue grew',
  unmeasured: 'an SLO could not be measured',
  'rate-limited': 'rejected by rate limits',
  'harness-late': 'Turnpike was too late',
  'harness-saturated': 'max-in-flight reached',
  blocked: 'callers blocked',
  'failure-limit': 'callers close to a block',
  unfinished: 'not finished',
}

/** `78.7/s`, `at least 180/s`, `less than 10/s`, `between 20/s and 40/s` or `not found`. */
export function capacityLabel(result: Ranged): string {
  if (result.status === 'found') return formatRate(result.ratePerSecond)
  const range = provenRange(result)
  return range === null ? 'not found' : rangeLabel(range)
}

/** `at least 180/s`, `less than 10/s` or `between 20/s and 40/s`. */
export function rangeLabel({ lowest, highest }: CapacityRange): string {
  if (highest === Number.POSITIVE_INFINITY) return `at least ${formatRate(lowest)}`
  return lowest === 0 ? `less than ${formatRate(highest)}` : `between ${formatRate(lowest)} and ${formatRate(highest)}`
}

export type CapacityRange = { readonly lowest: number; readonly highest: number }

type Ranged = Pick<CapacityResult, 'status' | 'ratePerSecond' | 'fromPerSecond'> & {
  readonly trials: readonly Pick<TrialResult, 'offeredPerSecond' | 'outcome'>[]
}

/**
 * The range that proves itself without an exact capacity, both ends included: the target sustained a rate, or did not, in
 * a trial. If it sustained a higher rate than one that it did not, the capacity lies between the two. null: it is known
 * exactly, or not at all.
 */
export function provenRange(result: Ranged): CapacityRange | null {
  const { status, ratePerSecond, fromPerSecond, trials } = result
  if (status === 'found') return null
  if (status === 'above-range') return { lowest: ratePerSecond ?? 0, highest: Number.POSITIVE_INFINITY }
  if (status === 'below-range') return { lowest: 0, highest: justBelow(fromPerSecond) }
  // The last outcome of a rate counts. Limits of Turnpike, of the tier, and of the time are not limits of the target.
  const outcomes = new Map<number, boolean>()
  for (const { offeredPerSecond, outcome } of trials)
    if (outcome === 'sustained' || exceedsCapacity(outcome)) outcomes.set(offeredPerSecond, outcome === 'sustained')
  if (outcomes.size === 0) return null
  const ratesThat = (wasSustained: boolean) =>
    [...outcomes].filter(([, was]) => was === wasSustained).map(([rate]) => rate)
  const sustained = Math.max(0, ...ratesThat(true))
  const exceeded = justBelow(Math.min(Number.POSITIVE_INFINITY, ...ratesThat(false)))
  return { lowest: Math.min(sustained, exceeded), highest: Math.max(sustained, exceeded) }
}

const justBelow = (rate: number): number => rate * (1 - Number.EPSILON)

/** What a search is about: its terms, the SLOs of its calls, and its callers. */
export type SearchSubject = Pick<CapacityResult, 'slo'> & {
  readonly terms: SearchTerms
  readonly callers: number
  readonly tier: string
}

/**
 * The result of a search, in one sentence or two, such as `197/s at chat TTFT ≤ 400 ms for 99 %, confirmed over 1,490
 * requests; at 206/s 36 missed chat ttft.`
 */
export function conclusionText(
  { status, perSecond, reason }: SearchConclusion,
  trials: readonly TrialResult[],
  subject: SearchSubject,
): string {
  const { fromPerSecond, toPerSecond } = subject.terms
  const last = trials.at(-1)
  const slo = sloText(subject)
  switch (status) {
    case 'found':
      return `${formatRate(perSecond)} at ${slo}, confirmed over ${requestsOf(last)}${exceededAbove(trials, perSecond ?? 0)}.`
    case 'above-range':
      return `at least ${formatRate(perSecond)} at ${slo}, confirmed over ${requestsOf(last)}; no higher rate was tried.`
    case 'below-range':
      return `less than ${formatRate(fromPerSecond)} at ${slo}: ${exceededText(last)}. No lower rate was tried.`
    case 'limited-by-tier':
      return `The rate limits of the callers came first: at ${formatRate(last?.offeredPerSecond ?? null)} ${plural(last?.refused ?? 0, 'request')} got 429. ${enoughCallers(subject)}${sustainedText(trials, slo)}`
    case 'harness-limited':
      return `${harnessLimitText(reason, harnessLimitAt(trials))} ${sustainedText(trials, slo)}`
    case 'inconclusive':
      if (reason === 'unmeasured') return unmeasuredText(last, subject)
      return `${inconclusiveText(reason)} before a rate between ${formatRate(fromPerSecond)} and ${formatRate(toPerSecond)} was confirmed. ${sustainedText(trials, slo)}`
  }
}

/** The timings with an SLO of which the last trial has no value: `chat TPOT cannot be measured: …`. */
function unmeasuredText(last: TrialResult | undefined, { slo }: SearchSubject): string {
  const all = (last?.calls ?? []).flatMap(({ call, timesMs }) =>
    Object.keys(slo[call] ?? {}).map(timing => ({ call, timing, values: timesMs[timing]?.count ?? 0 })),
  )
  const [fewest] = all.toSorted((a, b) => a.values - b.values)
  if (fewest === undefined) return 'An SLO cannot be measured.'
  const { call, timing } = fewest
  const why = timing === 'tpot' ? 'no usage in streams' : 'responses have no value of it'
  return `${call} ${timingName(timing)} cannot be measured: ${why}. Remove its SLO, or let the service send what it needs.`
}

/** The sentence names at most this many SLOs. */
const maxSlos = 4

const initials: readonly string[] = ['ttft', 'ttfct', 'tpot', 'itl', 'icl'] satisfies readonly Timing[]

/** `TTFT`, `service time`. */
export const timingName = (timing: string): string =>
  initials.includes(timing) ? timing.toUpperCase() : timing.replace('-', ' ')

/** `chat TTFT ≤ 400 ms and rpc latency ≤ 50 ms for 99 % of each call`. */
function sloText({ slo, terms: { mix, goodRatio } }: SearchSubject): string {
  const calls = Object.keys(mix)
  const all = calls.flatMap(call => {
    const bounds = Object.entries(slo[call] ?? {})
    if (bounds.length === 0) return [`${call} 2xx`]
    return bounds.map(([timing, ms]) => `${call} ${timingName(timing)} ≤ ${formatDuration(ms)}`)
  })
  const more = all.length - maxSlos
  const named = more > 0 ? [...all.slice(0, maxSlos), `${more} more`] : all
  return `${listed(named)} for ${formatRatio(goodRatio)}${calls.length > 1 ? ' of each call' : ''}`
}

/** `a, b and c`. */
const listed = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`

const requestsOf = (trial: TrialResult | undefined): string =>
  plural(trial?.calls.reduce((sum, { good, bad, refused }) => sum + good + bad + refused, 0) ?? 0, 'request')

function exceededAbove(trials: readonly TrialResult[], perSecond: number): string {
  const [lowest] = trials
    .filter(trial => wasExceeded(trial) && trial.offeredPerSecond > perSecond)
    .toReversed()
    .toSorted((a, b) => a.offeredPerSecond - b.offeredPerSecond)
  return lowest === undefined ? '' : `; ${exceededText(lowest)}`
}

/** `at 206/s 36 missed chat ttft`, `at 206/s the queue grew by 12/s`. */
function exceededText(trial: TrialResult | undefined): string {
  if (trial === undefined) return 'nothing was tried'
  const at = `at ${formatRate(trial.offeredPerSecond)}`
  if (trial.outcome !== 'queue-growing') return `${at} ${decidingMisses(trial)}`
  const growth = trial.inFlightGrowthPerSecond
  return `${at} the queue grew${growth === null || growth <= 0 ? '' : ` by ${formatRate(growth)}`}`
}

/** The sentence names at most this many kinds of bad responses. */
const maxMisses = 3

/** Why the responses were bad, of the calls with more bad responses than allowed: `36 missed chat ttft`. */
function decidingMisses({ calls, outcome }: TrialResult): string {
  const misses = calls
    .filter(({ isExceeded }) => isExceeded)
    .flatMap(({ call, missed, statuses, failures }) => [
      ...Object.entries(missed).map(([timing, times]) => ({ times, text: `${count(times)} missed ${call} ${timing}` })),
      ...Object.entries(statuses).map(([status, times]) => ({
        times,
        text: `${plural(times, `${call} request`)} got ${status}`,
      })),
      ...Object.entries(failures).map(([reason, times]) => ({
        times,
        text: `${plural(times, `${call} request`)} failed (${reason})`,
      })),
    ])
    .toSorted((a, b) => b.times - a.times)
  return misses.length === 0 ? trialLabels[outcome] : listed(misses.slice(0, maxMisses).map(({ text }) => text))
}

/** `chat ttft 36, chat status(503) 17, rpc failed 2`: the bad responses of a trial, by call; empty: there were none. */
export const missedText = ({ calls }: Pick<TrialResult, 'calls'>): string =>
  calls
    .flatMap(({ call, missed, statuses, failures }) => {
      const failed = Object.values(failures).reduce((sum, times) => sum + times, 0)
      return [
        ...Object.entries(missed).map(([timing, times]) => `${call} ${timing} ${count(times)}`),
        ...Object.entries(statuses).map(([status, times]) => `${call} status(${status}) ${count(times)}`),
        ...(failed > 0 ? [`${call} failed ${count(failed)}`] : []),
      ]
    })
    .join(', ')

/** How many callers would allow the whole range of a search; empty if the plan does not know more than there are. */
function enoughCallers({ terms: { toPerSecond, callerPerSecond }, callers, tier }: SearchSubject): string {
  const enough = callerPerSecond === null ? 0 : Math.ceil((toPerSecond / callerPerSecond) * (1 - 1e-9))
  if (enough <= callers) return ''
  return `${plural(enough, 'caller')} of tier ${tier} would allow up to ${formatRate(toPerSecond)}. `
}

const harnessLimitText = (reason: TrialOutcome, rate: string): string =>
  reason === 'harness-saturated'
    ? `Turnpike reached its own limit (max-in-flight) at ${rate}; raise it to test the target beyond that rate.`
    : `Turnpike itself was late or stalled at ${rate}, which may have decided the trial; use a faster machine or more workers to test the target at that rate.`

function inconclusiveText(reason: TrialOutcome): string {
  if (reason === 'blocked') return 'The service blocked callers for too many failures'
  if (reason === 'failure-limit') return 'Callers came close to a block for too many failures'
  if (reason === 'unfinished') return 'The stage ended'
  return `The search reached its limit of ${maxTrials} trials`
}

/** The lowest rate at which Turnpike reached a limit of its own, and never got beyond it. */
function harnessLimitAt(trials: readonly TrialResult[]): string {
  const rates = trials.filter(({ outcome }) => isHarnessLimit(outcome)).map(each => each.offeredPerSecond)
  const beyond = rates.filter(rate => rate > highestSustained(trials))
  return formatRate(Math.min(...(beyond.length === 0 ? rates : beyond)))
}

const highestSustained = (trials: readonly TrialResult[]): number =>
  Math.max(0, ...trials.filter(({ outcome }) => outcome === 'sustained').map(each => each.offeredPerSecond))

/** The highest sustained rate that was not confirmed, so it is not a capacity. */
function sustainedText(trials: readonly TrialResult[], slo: string): string {
  const highest = highestSustained(trials)
  return highest === 0
    ? `No rate was sustained at ${slo}.`
    : `The target sustained ${formatRate(highest)} at ${slo} in a trial, which was not confirmed.`
}
