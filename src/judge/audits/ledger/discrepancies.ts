import type { ClausesOf } from '../../../contract/clauses.ts'
import { absDifference, formatPico } from '../../../lib/money.ts'
import { type Causes, type CausesSnapshot, createCauses, type Example } from '../../findings/causes.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { fieldsBy, into, mapBy, sum, sumBigint } from '../../merge.ts'
import { type Discrepancy, type DiscrepancyKind, discrepancyKinds } from '../audit.ts'
import type { ChargeBounds } from './charge.ts'
import type { ChargeTotals } from './totals.ts'

/** A difference between the claimed and the billed amount. Negative if too little was billed. */
type BalanceDifference = Pick<Example, 'message' | 'requestIds'> & {
  readonly amount: bigint
  /** The clause that it violates, whatever its kind, unless replays were billed; null: that of its kind. */
  readonly clause: ClausesOf<'ledger'> | null
}

/** Classifies the differences and reports them under their clause. */
export type Discrepancies = {
  readonly report: (kind: DiscrepancyKind, difference: BalanceDifference, refusals?: number) => void
  /** Classifies a difference: immediately if it is clear, otherwise at the end. */
  readonly classify: (difference: BalanceDifference, context: DifferenceContext) => void
  /** Charged requests without replays, and whether the balance matches them. */
  readonly recordEvidence: (isRight: boolean) => void
  /** Classifies the remaining differences. Call once, when all differences are known. */
  readonly finish: () => void
  readonly list: () => readonly Discrepancy[]
  readonly snapshot: () => DiscrepancySnapshot
  /** Evidence and differences that other workers reported. */
  readonly merge: (snapshot: DiscrepancySnapshot) => void
}

/** The evidence and the unclassified differences, which depend on the evidence from all accounts. Plain data. */
export type DiscrepancySnapshot = {
  readonly found: ReadonlyMap<DiscrepancyKind, DifferenceSum>
  readonly undecided: readonly Undecided[]
  readonly evidence: { readonly right: number; readonly wrong: number }
}

type DifferenceSum = { readonly count: number; readonly amount: bigint; readonly causes: CausesSnapshot }

type MutableSum = { count: number; amount: bigint; readonly causes: Causes }

type Undecided = { readonly kind: DiscrepancyKind; readonly difference: BalanceDifference }

/** At most this many differences wait for a better classification. */
const maxUndecided = 1_000

export function createDiscrepancies(reporter: ClauseReporter<'ledger'>): Discrepancies {
  const found: Sums = new Map()
  let undecided: readonly Undecided[] = []
  const evidence = { right: 0, wrong: 0 }

  function report(kind: DiscrepancyKind, difference: BalanceDifference, refusals = 0) {
    const { message, requestIds } = difference
    const clause = clauseOf(kind, refusals, difference)
    if (!reporter.promises(clause)) return
    addDifference(found, kind, difference)
    reporter.fail(clause, `${kind}: ${message}`, requestIds)
  }

  return {
    report,
    classify: (difference, context) => {
      const kind = classifyDifference(difference.amount, context)
      const isPlain = context.totals.chargedRequests === 0 || !couldBeReplays(difference.amount, context)
      if (isPlain || undecided.length >= maxUndecided) report(kind, difference, context.totals.refusals)
      else undecided = [...undecided, { kind, difference }]
    },
    recordEvidence: isRight => {
      if (isRight) evidence.right++
      else evidence.wrong++
    },
    finish: () => {
      // If only request groups with replays differ, the replays are the cause.
      const areReplaysTheCause = evidence.right > 0 && evidence.wrong === 0
      for (const { kind, difference } of undecided) report(areReplaysTheCause ? 'replay-billed' : kind, difference)
      undecided = []
    },
    list: () => {
      const all: Sums = new Map()
      mergeSums(all, snapshotOf(found))
      for (const { kind, difference } of undecided)
        if (reporter.promises(clauseOf(kind, 0, difference))) addDifference(all, kind, difference)
      return discrepancyKinds.flatMap(kind => {
        const sum = all.get(kind)
        return sum === undefined
          ? []
          : [{ kind, count: sum.count, amountUsd: formatPico(sum.amount), examples: sum.causes.examples() }]
      })
    },
    snapshot: () => ({
      found: snapshotOf(found),
      undecided,
      evidence: { ...evidence },
    }),
    merge: snapshot => {
      mergeSums(found, snapshot.found)
      undecided = [...undecided, ...snapshot.undecided]
      evidence.right += snapshot.evidence.right
      evidence.wrong += snapshot.evidence.wrong
    },
  }
}

/** `refusals`: rejected RPC requests among those that caused the difference. */
function clauseOf(kind: DiscrepancyKind, refusals: number, { clause }: BalanceDifference): ClausesOf<'ledger'> {
  if (kind === 'replay-billed') return 'rpc.replay.charge'
  if (clause !== null) return clause
  return kind === 'billed-for-failure' && refusals > 0 ? 'rpc.refused.free' : 'billing.conservation'
}

type Sums = Map<DiscrepancyKind, MutableSum>

const emptySum = (): MutableSum => ({ count: 0, amount: 0n, causes: createCauses() })

function addDifference(sums: Sums, kind: DiscrepancyKind, { amount, message, requestIds }: BalanceDifference): void {
  const sum = sums.get(kind) ?? emptySum()
  sums.set(kind, sum)
  sum.count++
  sum.amount += amount
  sum.causes.add(message, requestIds)
}

const mergeSums = mapBy(fieldsBy<DifferenceSum, MutableSum>({ count: sum, amount: sumBigint, causes: into }), emptySum)

const snapshotOf = (sums: Sums): DiscrepancySnapshot['found'] =>
  new Map([...sums].map(([kind, { causes, ...rest }]) => [kind, { ...rest, causes: causes.snapshot() }]))

/** Facts about the requests that caused a difference. */
type DifferenceContext = {
  readonly totals: ChargeTotals
  /** The last few of their charges. One of them may be the difference. */
  readonly lastCharges: readonly ChargeBounds[]
  /** The smallest visible difference. */
  readonly resolution: bigint
}

/**
 * The most specific kind of an exact difference. `excess` is negative if too little was billed. If a charge taken twice
 * and a charged replay look the same, the kind is the former: a replay repeats a charge too.
 */
function classifyDifference(excess: bigint, context: DifferenceContext): DiscrepancyKind {
  const { requests, charged, chargedRequests, replayed, replays } = context.totals
  const isCharge = is(charged) || isOneOf('charged')

  if (requests === 0) return 'phantom'
  if (excess < 0n) return chargedRequests === 1 && !isCharge ? 'wrong-amount' : 'unbilled'
  if (replays > 0 && (chargedRequests === 0 || (!isCharge && (is(replayed) || isOneOf('replay')))))
    return 'replay-billed'
  if (isCharge) return 'billed-twice'
  if (chargedRequests === 0) return 'billed-for-failure'
  return chargedRequests === 1 && replays === 0 ? 'wrong-amount' : 'balance-drift'

  function is(amount: bigint): boolean {
    return amount > 0n && absDifference(excess < 0n ? -excess : excess, amount) <= toleranceOf(context)
  }
  function isOneOf(kind: ChargeBounds['kind']): boolean {
    return context.lastCharges.some(charge => charge.kind === kind && is(charge.said))
  }
}

/** Whether replays alone may explain a difference: at most their cost was taken. */
const couldBeReplays = (excess: bigint, context: DifferenceContext): boolean =>
  excess > 0n && excess <= context.totals.replayed + toleranceOf(context)

const toleranceOf = ({ totals, resolution }: DifferenceContext): bigint => resolution + totals.max - totals.min
