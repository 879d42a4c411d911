import { type Example, maxExamples, type Say } from '../checks/docket.ts'
import { formatPico } from '../lib/money.ts'
import type { Discrepancy, DiscrepancyKind } from './results.ts'

/** Collects the differences between what was claimed and what was billed, by name, and accuses their clause. */
export type Discrepancies = {
  readonly report: (kind: DiscrepancyKind, amount: bigint, because: string, seqs: readonly number[]) => void
  readonly list: () => readonly Discrepancy[]
}

export function createDiscrepancies(say: Say<'ledger'>): Discrepancies {
  const found = new Map<DiscrepancyKind, { count: number; amount: bigint; examples: Example[] }>()
  return {
    report: (kind, amount, because, seqs) => {
      const sum = found.get(kind) ?? { count: 0, amount: 0n, examples: [] }
      found.set(kind, sum)
      sum.count++
      sum.amount += amount
      if (sum.examples.length < maxExamples) sum.examples.push({ because, seqs })
      say.broken(kind === 'replay-billed' ? 'rpc.replay.charge' : 'billing.conservation', `${kind}: ${because}`, seqs)
    },
    list: () =>
      [...found].map(([kind, { count, amount, examples }]) => ({
        kind,
        count,
        amountUsd: formatPico(amount),
        examples,
      })),
  }
}
