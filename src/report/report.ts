import type { Billing, Discrepancy, LimitResult } from '../audits/audit.ts'
import type { CapacityResult } from '../capacity/result.ts'
import type { ClauseTally } from '../checks/findings.ts'
import type { Comparison } from '../compare/comparison.ts'
import type { JudgeName } from '../contract/clause.ts'
import type { ClauseId } from '../contract/clauses.ts'
import type { Percentiles } from '../metrics/histogram.ts'
import type { Series } from '../metrics/series.ts'
import type { EventLoopDelay, PushTally } from '../observation/log.ts'
import type { Status, ThresholdResult } from '../thresholds.ts'

export type { CapacityResult, TrialResult } from '../capacity/result.ts'
export type { Percentiles } from '../metrics/histogram.ts'
export type { Status, ThresholdResult } from '../thresholds.ts'

/** The machine contract of a run, `report.json`. Changes only ever add. */
export type Report = {
  readonly schema: 1
  readonly verdict: Status
  /** Why, in sentences; never empty. */
  readonly because: readonly string[]
  readonly run: RunFacts
  readonly load: LoadFacts
  readonly calls: readonly CallFacts[]
  readonly billing: ReportedBilling
  readonly limits: readonly LimitResult[]
  readonly clauses: readonly ClauseTally[]
  readonly findings: readonly ReportedFinding[]
  readonly thresholds: readonly ThresholdResult[]
  /** One for each stage that searched for a capacity. */
  readonly capacity: readonly CapacityResult[]
  /** null: a report of a version that did not have it. */
  readonly plan: PlanFacts | null
  readonly series: Series | null
  /** null: the run was compared with no other. */
  readonly comparison: Comparison | null
}

/** What was to be sent, in words where it is for people. */
export type PlanFacts = {
  readonly callers: { readonly count: number; readonly tier: string; readonly shared: boolean }
  readonly budgetUsd: string | null
  readonly forecast: {
    readonly requests: number
    readonly durationMs: number
    readonly credits: number
    readonly worstUsd: string | null
  }
  readonly stages: readonly {
    readonly name: string
    readonly startMs: number
    readonly durationMs: number
    readonly callers: number
    readonly load: string
  }[]
  readonly calls: readonly {
    readonly call: string
    readonly kind: string
    readonly slo: Readonly<Record<string, number>>
  }[]
}

export type RunFacts = {
  readonly id: string
  readonly scenario: string
  readonly question: string | null
  readonly seed: number
  readonly version: string
  readonly target: string
  readonly profile: string
  /** ISO 8601, UTC. */
  readonly startedAt: string
  readonly durationMs: number
  /** How the run ended. `cut-short`: its log has no end, as after a kill. */
  readonly ended:
    | 'complete'
    | 'interrupted'
    | 'target-unreachable'
    | 'keys-refused'
    | 'budget-reached'
    | 'worker-lost'
    | 'cut-short'
}

export type LoadFacts = {
  /** Requests that the plan forecast. */
  readonly planned: number
  /** Those handed to the transport: `answered` and `failed` add up to it. The program's own requests are among them. */
  readonly sent: number
  /** Complete answers, of any status. */
  readonly answered: number
  readonly failed: number
  /** Arrivals that were due and never sent. */
  readonly dropped: number
  /** Arrivals for which nobody had given the credentials. */
  readonly leftOut: number
  readonly failures: Readonly<Record<string, number>>
  /** Answers of the abuse block, in stages that did not mean to cause it. */
  readonly blocked: number
  readonly latenessMs: Percentiles
  readonly eventLoopDelayMs: EventLoopDelay | null
  /** Observations that were judged but are not in the record, since the disk had not kept up. */
  readonly unrecorded: number
  /** Of the remote write, until the report was made; null: there was none. */
  readonly pushed: PushTally | null
  /** One for each worker, in their order. */
  readonly workers: readonly WorkerFacts[]
}

/** What a worker says of itself. How far apart they began tells how far apart their callers were. */
export type WorkerFacts = {
  /** From 1. */
  readonly worker: number
  readonly callers: number
  /** It ended without saying what it had done. */
  readonly isLost: boolean
  /** When it began its first stage, in milliseconds on the clock of the run; null: it did not, or did not say so. */
  readonly beganMs: number | null
  readonly sent: number
  readonly latenessMs: Percentiles
  readonly eventLoopDelayMs: EventLoopDelay | null
}

export type CallFacts = {
  readonly call: string
  /** null: over all stages. */
  readonly stage: string | null
  /** Requests sent: `statuses` and `failed` add up to it. */
  readonly count: number
  /** Complete answers by status; `other` where there were too many distinct ones. */
  readonly statuses: Readonly<Record<string, number>>
  readonly failed: number
  readonly dropped: number
  readonly latencyMs: Percentiles
  readonly serviceTimeMs: Percentiles
  readonly ttftMs: Percentiles
  readonly ttfctMs: Percentiles
  readonly tpotMs: Percentiles
  readonly itlMs: Percentiles
  readonly iclMs: Percentiles
  readonly outputTokens: number
  readonly outputTokensPerSecond: number | null
  /** Complete answers, of any status. */
  readonly achievedPerSecond: number | null
  readonly goodputPerSecond: number | null
  /** Good answers as a share of all that were due, failures and drops included; null of a probe. */
  readonly goodRatio: number | null
}

export type ReportedFinding = {
  readonly clause: ClauseId
  readonly section: string
  readonly says: string
  readonly check: JudgeName
  readonly count: number
  readonly because: string
  readonly examples: readonly ReportedExample[]
}

export type ReportedBilling = Omit<Billing, 'discrepancies'> & {
  readonly discrepancies: readonly ReportedDiscrepancy[]
}

export type ReportedDiscrepancy = Omit<Discrepancy, 'examples'> & { readonly examples: readonly ReportedExample[] }

export type ReportedExample = {
  readonly seqs: readonly number[]
  readonly because: string
  readonly evidence: readonly Evidence[]
}

/** What is needed to file a bug: the request without its secret, and what came back. Bounded. */
export type Evidence = {
  readonly seq: number
  readonly caller: string
  readonly stage: string
  readonly call: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | null
    /**
     * The request as a command for a shell, behind the one that it repeats. The key of this caller is in `TURNPIKE_KEY`,
     * that of a second one in `TURNPIKE_OTHER_KEY`. null where it is too long, or where others of the finding have one.
     */
    readonly curl: string | null
  } | null
  readonly outcome: string
  readonly headers: Readonly<Record<string, string>>
  /** The beginning of the body as it was read. */
  readonly body: string
  readonly dueMs: number
  readonly sentMs: number | null
  readonly headersMs: number | null
  readonly endMs: number | null
}
