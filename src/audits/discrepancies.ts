import { type Example, earliestExamples, type Say, truncateExample } from '../checks/findings.ts'
import { formatPico } from '../lib/money.ts'
import { mayBeReplays, nameDifference, type Suspects } from './difference.ts'
import { type Discrepancy, type DiscrepancyKind, discrepancyKinds } from './results.ts'

/** A difference between what was claimed and what was billed. The amount is below zero when too little was. */
export type Difference = Example & { readonly amount: bigint }

/** Collects the differences by name, and accuses their clause. */
export type Discrepancies = {
  readonly report: (kind: DiscrepancyKind, difference: Difference, refusals?: number) => void
  /** Gives a difference its name: at once where it is plain, else at the end. */
  readonly name: (difference: Difference, suspects: Suspects) => void
  /** Requests that were charged, without a replay among them, and whether the balance accounts for them. */
  readonly witness: (isRight: boolean) => void
  /** Names what is still open. To be called once, when all that was found is here. */
  readonly conclude: () => void
  readonly list: () => readonly Discrepancy[]
  readonly facts: () => DiscrepancyFacts
  /** What others have found, and said. */
  readonly absorb: (facts: DiscrepancyFacts) => void
}

/** What was found, and what has no name yet: that hangs on what was found in all accounts. Plain data. */
export type DiscrepancyFacts = {
  readonly found: ReadonlyMap<DiscrepancyKind, Found>
  readonly undecided: readonly Undecided[]
  readonly witnesses: { readonly right: number; readonly wrong: number }
}

type Found = { readonly count: number; readonly amount: bigint; readonly examples: readonly Example[] }

type Undecided = { readonly kind: DiscrepancyKind; readonly difference: Difference }

/** More than this do not wait for a better name. */
const mostUndecided = 1_000

export function createDiscrepancies(say: Say<'ledger'>): Discrepancies {
  const found = new Map<DiscrepancyKind, Found>()
  let undecided: readonly Undecided[] = []
  const witnesses = { right: 0, wrong: 0 }

  function report(kind: DiscrepancyKind, difference: Difference, refusals = 0) {
    const { because, seqs } = difference
    tally(found, kind, foundOnce(difference))
    say.broken(clauseOf(kind, refusals), `${kind}: ${because}`, seqs)
  }

  return {
    report,
    name: (difference, suspects) => {
      const kind = nameDifference(difference.amount, suspects)
      const isPlain = suspects.turnover.chargedRequests === 0 || !mayBeReplays(difference.amount, suspects)
      if (isPlain || undecided.length >= mostUndecided) report(kind, difference, suspects.turnover.refusals)
      else undecided = [...undecided, { kind, difference }]
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
      const all = new Map(found)
      for (const { kind, difference } of undecided) tally(all, kind, foundOnce(difference))
      return discrepancyKinds.flatMap(kind => {
        const sum = all.get(kind)
        return sum === undefined
          ? []
          : [{ kind, count: sum.count, amountUsd: formatPico(sum.amount), examples: sum.examples }]
      })
    },
    facts: () => ({ found: new Map(found), undecided, witnesses: { ...witnesses } }),
    absorb: facts => {
      for (const [kind, sum] of facts.found) tally(found, kind, sum)
      undecided = [...undecided, ...facts.undecided]
      witnesses.right += facts.witnesses.right
      witnesses.wrong += facts.witnesses.wrong
    },
  }
}

/** `refusals`: of the RPC proxy, among the requests that the difference arose from. */
function clauseOf(kind: DiscrepancyKind, refusals: number) {
  if (kind === 'replay-billed') return 'rpc.replay.charge'
  return kind === 'billed-for-failure' && refusals > 0 ? 'rpc.refused.free' : 'billing.conservation'
}

const foundOnce = ({ amount, because, seqs }: Difference): Found => {
  return { count: 1, amount, examples: [truncateExample({ because, seqs })] }
}

function tally(sums: Map<DiscrepancyKind, Found>, kind: DiscrepancyKind, { count, amount, examples }: Found): void {
  const sum = sums.get(kind) ?? { count: 0, amount: 0n, examples: [] }
  sums.set(kind, {
    count: sum.count + count,
    amount: sum.amount + amount,
    examples: earliestExamples([...sum.examples, ...examples]),
  })
}
