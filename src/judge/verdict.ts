import { clauses as contractClauses } from '../contract/clauses.ts'
import { clausesMatching } from '../contract/promises.ts'
import { formatDuration, plural } from '../lib/format.ts'
import { formatPico, pico } from '../lib/money.ts'
import type { LogFooter, RunInfo } from '../observation/log-lines.ts'
import { isLocalFault, type LocalFault } from '../observation/observation.ts'
import { isSystemStage, type Plan } from '../plan/plan.ts'
import { suggestion } from './answers.ts'
import type { Billing } from './audits/audit.ts'
import { describeShared, type SharedAccount } from './audits/shared-accounts.ts'
import { isConclusive } from './capacity/result.ts'
import { type Comparison, outcomeStatus } from './compare/comparison.ts'
import { endedByItself, savingNote } from './ended-early.ts'
import type { ClauseTally, Finding } from './findings/findings.ts'
import type { RunMetrics } from './metrics/request-stats.ts'
import { describeHeldBack } from './metrics/value-range.ts'
import type { OpenPayment } from './open-payments.ts'
import { type CallProof, unprovenBlocks, unprovenLimits, unprovenReasons } from './proof.ts'
import type { CapacityResult, LimitResult, ThresholdResult, Verdict } from './results.ts'
import { canFail, secondsOf } from './threshold-reach.ts'
import { isLedgerJudged, missingClauses, unjudgedProbes, unspokenRefusals } from './undecided.ts'

export type RunVerdict = {
  readonly verdict: Verdict
  /** Sentences; never empty. */
  readonly reasons: readonly string[]
}

/** Everything that decides the verdict on a run. */
export type VerdictInput = {
  readonly plan: Plan
  readonly head: Pick<RunInfo, 'target' | 'inventedKeys' | 'suggestedTarget'>
  /** How the run ended. `truncated`: its log has no footer, for example after a kill. */
  readonly ended: LogFooter['ended'] | 'truncated'
  readonly durationMs: number
  readonly metrics: RunMetrics
  readonly load: {
    readonly sent: number
    readonly answered: number
    readonly failed: number
    readonly dropped: number
    readonly failures: Readonly<Record<string, number>>
    /** Responses of the abuse block, in stages that do not provoke it. */
    readonly blocked: number
    readonly workers: readonly {
      /** From 1. */
      readonly worker: number
      readonly callers: number
      readonly sent: number
      readonly lost: boolean
    }[]
  }
  readonly clauses: readonly ClauseTally[]
  readonly findings: readonly Finding[]
  readonly billing: Billing
  readonly capacity: readonly CapacityResult[]
  /** In the order of the plan's thresholds. */
  readonly thresholds: readonly ThresholdResult[]
  readonly limits: readonly LimitResult[]
  readonly proofs: readonly CallProof[]
  readonly openPayments: readonly OpenPayment[]
  /** Callers that share an account by mistake. */
  readonly sharedAccounts: readonly SharedAccount[]
}

/**
 * Fail outranks inconclusive: an observed violation remains one, however the run ended. The inconclusive reasons follow
 * the failures.
 */
export function reachVerdict(run: VerdictInput): RunVerdict {
  const failures = failReasons(run)
  const open = inconclusiveReasons(run)
  const names = run.plan.only?.names ?? []
  const selection =
    names.length === 0 ? [] : [`Only ${names.join(', ')} ${names.length === 1 ? 'was' : 'were'} judged.`]
  const notes = [...savingNote(run), ...selection, ...fewerKeysNote(run.plan), ...notOfferedNote(run.plan)]
  if (failures.length > 0) return { verdict: 'fail', reasons: [...failures, ...open, ...notes] }
  if (open.length > 0) return { verdict: 'inconclusive', reasons: [...open, ...notes] }
  const found = run.capacity.map(({ stage, reason }) => `Capacity in ${stage}: ${reason}`)
  return { verdict: 'pass', reasons: [passSummary(run), ...found, ...notes] }
}

/** What the verdict is not about, because there were fewer keys than callers. */
function fewerKeysNote({ fewerKeys }: Plan): readonly string[] {
  if (fewerKeys == null) return []
  const { given, of, leftOut } = fewerKeys
  const left = leftOut.length === 0 ? '' : ` Left out: ${leftOut.join(', ')}.`
  return [`The run had ${plural(given, 'key')} for ${plural(of, 'caller')}.${left}`]
}

/** What the verdict is not about, because the target does not offer it. */
const notOfferedNote = ({ notOffered }: Plan): readonly string[] =>
  notOffered.length === 0 ? [] : [`Left out, since the target does not offer what they call: ${notOffered.join(', ')}.`]

/**
 * The verdict on a run that must be no worse than its baselines: a regression is a failure. If the comparison cannot
 * tell, the run is inconclusive, unless it fails anyway.
 */
export function withComparison(run: RunVerdict, comparison: Comparison): RunVerdict {
  const added = outcomeStatus[comparison.verdict]
  const order = ['fail', 'inconclusive', 'pass'] as const
  const verdict = order.find(status => status === run.verdict || status === added) ?? run.verdict
  const own = run.verdict === 'pass' && added !== 'pass' ? [] : run.reasons
  const compared = comparison.reasons.map(reason => `Against the baseline: ${reason}`)
  // Failures come before inconclusive reasons.
  const reasons = added === 'fail' && run.verdict === 'inconclusive' ? [...compared, ...own] : [...own, ...compared]
  return { verdict, reasons }
}

function failReasons({ findings, billing, thresholds, clauses }: VerdictInput): readonly string[] {
  return [
    ...[...new Set(findings.map(({ clause }) => clause))].map(id => {
      // Several judges may have found it.
      const count = findings.reduce((sum, finding) => sum + (finding.clause === id ? finding.count : 0), 0)
      const { section, text } = contractClauses[id]
      return `${plural(count, 'violation')} of ${id} (§${section}): ${text}${maskNote(id, clauses)}`
    }),
    ...billing.discrepancies
      .filter(({ count }) => count > 0)
      .map(
        ({ kind, count, amountUsd }) =>
          `${plural(count, 'billing discrepancy', 'billing discrepancies')} "${kind}", $${amountUsd} in total.`,
      ),
    ...ofVerdict(thresholds, 'fail', 'crossed'),
  ]
}

/** A reason names at most this many masked clauses. The section on clauses lists all of them. */
const maxMasked = 3

/** Other clauses that a violation hides. */
function maskNote(id: ClauseTally['id'], clauses: readonly ClauseTally[]): string {
  const hidden = clauses.filter(({ because, verdict }) => because?.clause === id && verdict !== 'fail')
  if (hidden.length === 0) return ''
  const more = hidden.length - maxMasked
  const named = hidden.slice(0, maxMasked).map(clause => clause.id)
  return ` It masks ${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}.`
}

function inconclusiveReasons(run: VerdictInput): readonly string[] {
  const { plan, ended, load, clauses, thresholds, metrics, proofs } = run
  // If --only selects clauses, they alone decide.
  const isOfClauses = plan.only !== null && plan.only.clauses !== null
  const failed = isOfClauses ? 0 : uncovered(run, 'failed')
  const localFaults = localFaultsOf(metrics).reduce((sum, [, count]) => sum + count, 0)
  const dropped = isOfClauses ? 0 : Math.max(0, uncovered(run, 'dropped') - localFaults)
  const judged = thresholds.length > 0 || clauses.some(clause => clause.judged > 0)
  return [
    endedByItself(ended) ? null : endings[ended](run),
    ...run.sharedAccounts.map(describeShared),
    ...localFaultReasons(metrics),
    load.sent === 0 ? `No request was ${load.workers.some(({ lost }) => lost) ? 'recorded' : 'sent'}.` : null,
    load.sent > 0 && load.answered === 0 ? `None of ${plural(load.sent, 'request')} got a complete response.` : null,
    load.blocked > 0
      ? `${plural(load.blocked, 'response')} came from the abuse block, so these results describe the block and not the service.`
      : null,
    ...ofVerdict(thresholds, 'inconclusive', 'inconclusive'),
    failed > 0
      ? `${plural(failed, 'request')} failed${failureCounts(run)}, and the scenario has no threshold for failures.`
      : null,
    dropped > 0
      ? `${plural(dropped, 'arrival was', 'arrivals were')} dropped and never sent, and the scenario has no threshold for drops${heldBackNote(metrics)}.`
      : null,
    ...paymentReasons(run.openPayments),
    ...notExercised(run),
    ...(isOfClauses ? [] : unconfirmedSearches(run)),
    // A run that ended early, or without any response, has a better explanation.
    ...(endedByItself(ended) && load.answered > 0 && !isOfClauses
      ? [
          ...unprovenReasons(plan, proofs, metrics.select({ call: null, stage: null })),
          ...unspokenRefusals(run),
          ...unjudgedProbes(run),
          ...missingClauses(run),
          ...unprovenBlocks(plan, clauses),
          ...unprovenLimits(plan, run.limits),
        ]
      : []),
    load.answered > 0 && !judged && !isOfClauses
      ? 'Nothing was judged: no clause was exercised, and the scenario has no threshold.'
      : null,
  ].filter(reason => reason !== null)
}

/** Which drops are of Turnpike's own making. */
function heldBackNote(metrics: RunMetrics): string {
  const text = describeHeldBack(metrics.cells())
  return text === null ? '' : `: ${text}`
}

/** The payments that may have been settled: how many, how much, and whose. */
export function paymentReasons(payments: readonly OpenPayment[]): readonly string[] {
  if (payments.length === 0) return []
  const total = payments.reduce((sum, { usd }) => sum + pico(usd), 0n)
  const named = payments.slice(0, maxNamed).map(({ id }) => id)
  const more = payments.length > maxNamed ? `, and ${payments.length - maxNamed} more` : ''
  return [
    `The outcome of ${plural(payments.length, 'payment')} is unknown (${named.join(', ')}${more}): $${formatPico(total)} may be spent. Read the balance of each wallet before you pay again.`,
  ]
}

const maxNamed = 5

/** The calls and clauses of --only that the run says nothing about. */
function notExercised({ plan: { only, calls }, metrics, clauses }: VerdictInput): readonly string[] {
  const isExercised = (name: string) =>
    Object.hasOwn(calls, name)
      ? metrics.select({ call: name, stage: null }).answered > 0
      : clausesMatching(name).some(id => clauses.some(clause => clause.id === id && clause.judged > 0))
  return (only?.names ?? [])
    .filter(name => !isExercised(name))
    .map(name => `No response exercised ${name}, so there is no verdict on it.`)
}

/** The machine that runs Turnpike could not open connections: what to do, by the reason. */
function localFaultReasons(metrics: RunMetrics): readonly string[] {
  return localFaultsOf(metrics).map(
    ([reason, count]) =>
      `Turnpike could not send ${plural(count, 'request')} because of its own machine, not of the target: ${remedies[reason]}`,
  )
}

const localFaultsOf = (metrics: RunMetrics): readonly (readonly [LocalFault, number])[] =>
  [...metrics.all().drops].flatMap(([reason, count]) => (isLocalFault(reason) ? [[reason, count] as const] : []))

const remedies: Readonly<Record<LocalFault, string>> = {
  'no-file-descriptors': 'it has no free file descriptor. Raise "ulimit -n", or lower bounds: max-in-flight.',
  'no-local-ports':
    'it has no free local address or port. Open fewer connections at a time, or widen net.ipv4.ip_local_port_range.',
  'no-memory': 'it has no memory for another connection. Lower bounds: max-in-flight, or use a larger machine.',
  'not-permitted': 'it does not permit the connection. Check its firewall and its sandbox.',
}

const endings: Readonly<Record<Exclude<VerdictInput['ended'], 'complete' | 'decided'>, (run: VerdictInput) => string>> =
  {
    interrupted: ({ durationMs }) => `The run was interrupted after ${formatDuration(durationMs)}.`,
    'wrong-target': ({ head }) => `Something other than the service answered at ${head.target}.${suggestion(head)}`,
    'target-unreachable': ({ head }) => `The target ${head.target} never responded.`,
    unauthorized: ({ head: { target, inventedKeys } }) =>
      inventedKeys
        ? `The target ${target} does not know the keys that Turnpike invented for it; set TURNPIKE_KEYS.`
        : `The target ${target} rejected every key with 401.`,
    'budget-reached': ({ durationMs }) =>
      `The run reached its budget after ${formatDuration(durationMs)} and ended early.`,
    'violation-found': ({ durationMs }) =>
      `The run ended at the first violation, after ${formatDuration(durationMs)} (--fail-fast).`,
    'worker-lost': run => `${lostWorkers(run)} The run ended early, after ${formatDuration(run.durationMs)}.`,
    truncated: ({ durationMs, load: { sent, workers } }) =>
      sent === 0 && workers.length > 0 && workers.every(({ lost }) => lost)
        ? `${workers.length === 1 ? 'The worker left no' : `None of ${workers.length} workers left a`} result, so it is unknown what was sent.`
        : `The recording stops at ${formatDuration(durationMs)}; the run was probably killed.`,
  }

function lostWorkers({ load: { workers } }: VerdictInput): string {
  const lost = workers.filter(({ lost }) => lost)
  if (lost.length === 0) return 'A worker was paused or unreachable for too long.'
  const callers = lost.reduce((sum, worker) => sum + worker.callers, 0)
  const sent = lost.reduce((sum, worker) => sum + worker.sent, 0)
  const [noun, possessive] = lost.length === 1 ? ['Worker', 'its'] : ['Workers', 'their']
  const names = `${noun} ${lost.map(({ worker }) => worker).join(', ')} of ${workers.length}`
  const recovered = `${plural(sent, 'request')} of ${possessive} ${plural(callers, 'caller')}`
  return `${names} crashed. ${recovered} ${sent === 1 ? 'was' : 'were'} recovered.`
}

/** Searches that confirmed no rate. A threshold on its capacity is decided by what its trials prove, or says why not. */
function unconfirmedSearches({ plan, capacity }: VerdictInput): readonly string[] {
  const reported = plan.thresholds.filter(({ measure }) => measure.kind === 'capacity')
  return capacity
    .filter(search => !isConclusive(search) && !reported.some(({ stage }) => stage === search.stage))
    .map(({ stage, reason }) => `The search in ${stage} found no capacity: ${reason}`)
}

const ofVerdict = (thresholds: readonly ThresholdResult[], verdict: Verdict, word: string): readonly string[] =>
  thresholds.filter(t => t.verdict === verdict).map(t => `Threshold ${word}: ${t.expression}: ${t.message}.`)

/**
 * Failures or drops that no threshold of the plan covers and no search provoked. A threshold that cannot fail covers none. A threshold without a stage covers the
 * system stages too.
 */
function uncovered({ plan, load, metrics, capacity }: VerdictInput, kind: 'failed' | 'dropped'): number {
  const about = plan.thresholds.filter(threshold => {
    const { measure, call, stage } = threshold
    if (!('count' in measure) || measure.count.kind !== kind) return false
    const { sent, dropped } = call === null && stage === null ? metrics.all() : metrics.select(threshold)
    return canFail(threshold, { requests: sent + dropped, seconds: secondsOf(threshold, plan) })
  })
  if (about.some(({ call, stage }) => call === null && stage === null)) return 0
  const covered = metrics
    .cells()
    .filter(cell => !isSystemStage(cell.stage))
    .filter(
      cell =>
        about.some(({ call, stage }) => (call ?? cell.call) === cell.call && (stage ?? cell.stage) === cell.stage) ||
        capacity.some(({ stage }) => stage === cell.stage),
    )
    .reduce((sum, { stats }) => sum + stats[kind], 0)
  return load[kind] - covered
}

function failureCounts({ load: { failures } }: VerdictInput): string {
  const counted = Object.entries(failures).toSorted((a, b) => b[1] - a[1])
  return counted.length === 0 ? '' : ` (${counted.map(([reason, count]) => `${reason} ${count}`).join(', ')})`
}

function passSummary({ plan, load, clauses, thresholds }: VerdictInput): string {
  const passed = clauses.filter(clause => clause.verdict === 'pass').length
  const met = thresholds.length === 0 ? '' : `, ${plural(thresholds.length, 'threshold')} met`
  const balanced = isLedgerJudged(clauses) && !plan.only?.clauses ? ', no billing discrepancy' : ''
  return `${plural(load.answered, 'response')} checked: ${plural(passed, 'clause')} passed${met}${balanced}.`
}
