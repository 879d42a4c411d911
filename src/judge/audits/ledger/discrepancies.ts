import { absDifference, formatPico } from '../../../lib/money.ts'
import { type Example, earliestExamples, type Say, truncateExample } from '../../checks/findings.ts'
import { type Discrepancy, type DiscrepancyKind, discrepancyKinds } from '../audit.ts'
import type { ChargeBounds, ChargeTotals } from './charge.ts'

/** A difference between what was claimed and what was billed. The amount is below zero when too little was. */
type BalanceDifference = Example & { readonly amount: bigint }

/** Collects the differences by name, and accuses their clause. */
export type Discrepancies = {
  readonly report: (kind: DiscrepancyKind, difference: BalanceDifference, refusals?: number) => void
  /** Gives a difference its name: at once where it is plain, else at the end. */
  readonly classify: (difference: BalanceDifference, suspects: DifferenceContext) => void
  /** Requests that were charged, without a replay among them, and whether the balance accounts for them. */
  readonly recordEvidence: (isRight: boolean) => void
  /** Names what is still open. To be called once, when all that was found is here. */
  readonly finish: () => void
  readonly list: () => readonly Discrepancy[]
  readonly snapshot: () => DiscrepancySnapshot
  /** What others have found, and said. */
  readonly merge: (snapshot: DiscrepancySnapshot) => void
}

/** What was found, and what has no name yet: that hangs on what was found in all accounts. Plain data. */
export type DiscrepancySnapshot = {
  readonly found: ReadonlyMap<DiscrepancyKind, DifferenceSum>
  readonly undecided: readonly Undecided[]
  readonly evidence: { readonly right: number; readonly wrong: number }
}

type DifferenceSum = { readonly count: number; readonly amount: bigint; readonly examples: readonly Example[] }

type Undecided = { readonly kind: DiscrepancyKind; readonly difference: BalanceDifference }

/** More than this do not wait for a better name. */
const maxUndecided = 1_000

export function createDiscrepancies(say: Say<'ledger'>): Discrepancies {
  const found = new Map<DiscrepancyKind, DifferenceSum>()
  let undecided: readonly Undecided[] = []
  const evidence = { right: 0, wrong: 0 }

  function report(kind: DiscrepancyKind, difference: BalanceDifference, refusals = 0) {
    const { message, requestIds } = difference
    tally(found, kind, foundOnce(difference))
    say.broken(clauseOf(kind, refusals), `${kind}: ${message}`, requestIds)
  }

  return {
    report,
    classify: (difference, suspects) => {
      const kind = classifyDifference(difference.amount, suspects)
      const isPlain = suspects.totals.chargedRequests === 0 || !couldBeReplays(difference.amount, suspects)
      if (isPlain || undecided.length >= maxUndecided) report(kind, difference, suspects.totals.refusals)
      else undecided = [...undecided, { kind, difference }]
    },
    recordEvidence: isRight => {
      if (isRight) evidence.right++
      else evidence.wrong++
    },
    finish: () => {
      // Where all is well but for requests with replays among them, the replays are to blame.
      const areReplaysToBlame = evidence.right > 0 && evidence.wrong === 0
      for (const { kind, difference } of undecided) report(areReplaysToBlame ? 'replay-billed' : kind, difference)
      undecided = []
    },
    list: () => {
      const all = new Map(found)
      for (const { kind, difference } of undecided) tally(all, kind, foundOnce(difference))
      return discrepancyKinds.flatMap(kind => {
        const sum = all.get(kind)
        return sum === undefined
          ? []
          : [{ kind, count: sum.count, amountUsd: formatPico(sum.amount), examples: sum.examples }]
      })
    },
    snapshot: () => ({ found: new Map(found), undecided, evidence: { ...evidence } }),
    merge: snapshot => {
      for (const [kind, sum] of snapshot.found) tally(found, kind, sum)
      undecided = [...undecided, ...snapshot.undecided]
      evidence.right += snapshot.evidence.right
      evidence.wrong += snapshot.evidence.wrong
    },
  }
}

/** `refusals`: of the RPC proxy, among the requests that the difference arose from. */
function clauseOf(kind: DiscrepancyKind, refusals: number) {
  if (kind === 'replay-billed') return 'rpc.replay.charge'
  return kind === 'billed-for-failure' && refusals > 0 ? 'rpc.refused.free' : 'billing.conservation'
}

const foundOnce = ({ amount, message, requestIds }: BalanceDifference): DifferenceSum => {
  return { count: 1, amount, examples: [truncateExample({ message, requestIds })] }
}

function tally(
  sums: Map<DiscrepancyKind, DifferenceSum>,
  kind: DiscrepancyKind,
  { count, amount, examples }: DifferenceSum,
): void {
  const sum = sums.get(kind) ?? { count: 0, amount: 0n, examples: [] }
  sums.set(kind, {
    count: sum.count + count,
    amount: sum.amount + amount,
    examples: earliestExamples([...sum.examples, ...examples]),
  })
}

/** What is known of the requests that a difference arose from. */
type DifferenceContext = {
  readonly totals: ChargeTotals
  /** The last few of their charges: one of them may be the difference. */
  readonly lastCharges: readonly ChargeBounds[]
  /** The smallest difference that can be seen. */
  readonly resolution: bigint
}

/**
 * The most telling name for an exact difference. `excess` is below zero when too little left the balance. Where a charge
 * taken twice and a replay that was charged look the same, it is the former: a replay repeats a charge, too.
 */
function classifyDifference(excess: bigint, suspects: DifferenceContext): DiscrepancyKind {
  const { requests, charged, chargedRequests, replayed, replays } = suspects.totals
  const isCharge = is(charged) || isOneOf('charged')

  if (requests === 0) return 'phantom'
  if (excess < 0n) return chargedRequests === 1 && !isCharge ? 'wrong-amount' : 'unbilled'
  if (replays > 0 && (chargedRequests === 0 || (!isCharge && (is(replayed) || isOneOf('replay')))))
    return 'replay-billed'
  if (isCharge) return 'billed-twice'
  if (chargedRequests === 0) return 'billed-for-failure'
  return chargedRequests === 1 && replays === 0 ? 'wrong-amount' : 'balance-drift'

  function is(amount: bigint): boolean {
    return amount > 0n && absDifference(excess < 0n ? -excess : excess, amount) <= toleranceOf(suspects)
  }
  function isOneOf(sort: ChargeBounds['kind']): boolean {
    return suspects.lastCharges.some(charge => charge.kind === sort && is(charge.said))
  }
}

/** Whether replays alone may account for a difference: no more was taken than what they would have cost. */
const couldBeReplays = (excess: bigint, suspects: DifferenceContext): boolean =>
  excess > 0n && excess <= suspects.totals.replayed + toleranceOf(suspects)

const toleranceOf = ({ totals, resolution }: DifferenceContext): bigint => resolution + totals.max - totals.min
