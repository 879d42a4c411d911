import type { Cancel, Clock } from '../../lib/clock.ts'
import { createSharedBudget, grant, leftOf, type SharedBudget } from '../../produce/drivers/budget.ts'
import type { RunState } from './run-state.ts'

/** The part of a budget that one shard may spend. Every other shard takes its part from the same budget. */
export type Lease = {
  readonly budget: SharedBudget
  /** Takes a first part. Must end before the load starts. */
  readonly begin: () => Promise<void>
  /** Gives back what is left. A lease that never ends counts as spent. */
  readonly end: () => Promise<void>
}

export type LeaseTerms = { readonly limit: bigint | null; readonly least: bigint; readonly paidElsewhere: bigint }

/** How often a shard looks whether it needs more. */
const everyMs = 20

/**
 * `limit`: the budget of the run; null: it has none. `least`: what the most expensive arrival may cost. `paidElsewhere`:
 * what wallets of other shards may pay. All in pico-USD. A shard asks for more while less than half of the last part is
 * left, so that a request rarely waits for an answer.
 */
export function createLease(
  state: Pick<RunState, 'lease' | 'giveBack'>,
  { limit, least, paidElsewhere }: LeaseTerms,
  clock: Clock,
): Lease {
  if (limit === null)
    return { budget: createSharedBudget(undefined, paidElsewhere), begin: async () => {}, end: async () => {} }
  const budget = createSharedBudget(0n, paidElsewhere)
  let part = 0n
  let cancel: Cancel = () => {}
  let asking: Promise<void> = Promise.resolve()
  let hasEnded = false

  const ask = async (): Promise<void> => {
    part = await state.lease(least, limit)
    grant(budget, part)
  }
  /** Once nothing was left for it, nothing will be. */
  const needsMore = (): boolean => {
    const left = leftOf(budget)
    return part > 0n && (left * 2n < part || left < 2n * least)
  }
  const watch = (): void => {
    if (hasEnded) return
    // No answer means no more money. A run that cannot reach Redis ends for that reason.
    if (needsMore()) asking = ask().catch(() => {})
    void asking.then(() => {
      if (!hasEnded) cancel = clock.at(clock.nowMs() + everyMs, watch)
    })
  }
  return {
    budget,
    begin: async () => {
      await ask()
      watch()
    },
    end: async () => {
      hasEnded = true
      cancel()
      await asking
      const left = leftOf(budget)
      if (left > 0n) await state.giveBack(left)
    },
  }
}
