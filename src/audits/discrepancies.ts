import { type Example, maxExamples, type Say, shorten } from '../checks/docket.ts'
import { formatPico } from '../lib/money.ts'
import { mayBeReplays, nameDifference, type Suspects } from './difference.ts'
import type { Discrepancy, DiscrepancyKind } from './results.ts'

/** A difference between what was claimed and what was billed. The amount is below zero when too little was. */
export type Difference = Example & { readonly amount: bigint }

/** Collects the differences by name, and accuses their clause. */
export type Discrepancies = {
  readonly report: (kind: DiscrepancyKind, difference: Difference, refusals?: number) => void
  /** Gives a difference its name: at once where it is plain, else at the end. */
  readonly name: (difference: Difference, suspects: Suspects) => void
  /** Requests that were charged, without a replay among them, and whether the balance accounts for them. */
  readonly witness: (isRight: boolean) => void
  /** Names what is still open. To be called once. */
  readonly conclude: () => void
  readonly list: () => readonly Discrepancy[]
}

type Undecided = { readonly kind: DiscrepancyKind; readonly difference: Difference }

/** More than this do not wait for a better name. */
const mostUndecided = 1_000

export function createDiscrepancies(say: Say<'ledger'>): Discrepancies {
  const found = new Map<DiscrepancyKind, { count: number; amount: bigint; examples: Example[] }>()
  let undecided: Undecided[] = []
  const witnesses = { right: 0, wrong: 0 }

  function report(kind: DiscrepancyKind, difference: Difference, refusals = 0) {
    const { because, seqs } = difference
    tally(found, kind, difference)
    say.broken(clauseOf(kind, refusals), `${kind}: ${because}`, seqs)
  }

  return {
    report,
    name: (difference, suspects) => {
      const kind = nameDifference(difference.amount, suspects)
      const isPlain = suspects.turnover.chargedRequests === 0 || !mayBeReplays(difference.amount, suspects)
      if (isPlain || undecided.length >= mostUndecided) report(kind, difference, suspects.turnover.refusals)
      else undecided.push({ kind, difference })
    },
    witness: isRight => {
      if (isRight) witnesses.right++
      else witnesses.wrong++
    },
    conclude: () => {
      // Where all is well but for requests with replays among them, the replays are to blame.
      const areReplaysToBlame = witnesses.right > 0 && witnesses.wrong === 0
      for (const { kind, difference } of undecided) report(areReplaysToBlame ? 'replay-billed' : kind, difference)
      undecided = []
    },
    list: () => {
      const all = new Map([...found].map(([kind, sum]) => [kind, { ...sum, examples: [...sum.examples] }]))
      for (const { kind, difference } of undecided) tally(all, kind, difference)
      return [...all].map(([kind, { count, amount, examples }]) => ({
        kind,
        count,
        amountUsd: formatPico(amount),
        examples,
      }))
    },
  }
}

/** `refusals`: of the RPC proxy, among the requests that the difference arose from. */
function clauseOf(kind: DiscrepancyKind, refusals: number) {
  if (kind === 'replay-billed') return 'rpc.replay.charge'
  return kind === 'billed-for-failure' && refusals > 0 ? 'rpc.refused.free' : 'billing.conservation'
}

function tally(
  sums: Map<DiscrepancyKind, { count: number; amount: bigint; examples: Example[] }>,
  kind: DiscrepancyKind,
  { amount, because, seqs }: Difference,
): void {
  const sum = sums.get(kind) ?? { count: 0, amount: 0n, examples: [] }
  sums.set(kind, sum)
  sum.count++
  sum.amount += amount
  if (sum.examples.length < maxExamples) sum.examples.push(shorten({ because, seqs }))
}
