import type { Cancel, Clock } from '../../lib/clock.ts'
import {
  createLeasedBudget,
  createSharedBudget,
  giveBackLeft,
  grant,
  leftOf,
  type SharedBudget,
  setFinal,
  takeWanted,
} from '../../produce/budget/shared-budget.ts'
import type { RunState } from './run-state.ts'

/** The part of a budget that one shard may spend. Every other shard takes its part from the same budget. */
export type Lease = {
  readonly budget: SharedBudget
  /** Takes a first part. Must end before the load starts. */
  readonly begin: () => Promise<void>
  /** Gives back what is left. A lease that never ends counts as spent. */
  readonly end: () => Promise<void>
}

/** `shard`: from 0. Amounts are in pico-USD. */
export type LeaseTerms = {
  readonly shard: number
  readonly limit: bigint | null
  readonly least: bigint
  readonly paidElsewhere: bigint
}

/** How often a shard checks whether it needs more, and once parts are scarce, whether another shard does. */
const everyMs = 20
/** How often it asks Redis as long as there is enough for all. */
const idleMs = 200

/**
 * `limit`: the budget of the run; null: it has none. `least`: what the most expensive arrival may cost. `paidElsewhere`:
 * what wallets of other shards may pay. A shard asks for more while less than half of its last part is left, so that a
 * request rarely waits for an answer. If nothing is left in Redis, an arrival waits, and the other shards give back what
 * they do not use. Only when all of them have done so and it is not enough, the budget is reached.
 */
export function createLease(
  state: Pick<RunState, 'lease'>,
  { shard, limit, least, paidElsewhere }: LeaseTerms,
  clock: Clock,
): Lease {
  if (limit === null) return { budget: createSharedBudget(paidElsewhere), begin: async () => {}, end: async () => {} }
  const terms = { limit, least }
  const budget = createLeasedBudget(paidElsewhere)
  let granted = 0n
  let part = 0n
  let latest = { asks: 0, isOlderAsk: false }
  let askedMs = Number.NEGATIVE_INFINITY
  let givenBack = 0n
  let answered: number | null = 0
  let cancel: Cancel = () => {}
  let asking: Promise<void> = Promise.resolve()
  let hasEnded = false

  /**
   * `lacking`: what an arrival that waits lacks. `isSpare`: whether to take a part in advance. Sums only grow, so a lost
   * response does no harm.
   */
  const ask = async (lacking: bigint, isSpare: boolean): Promise<void> => {
    askedMs = clock.nowMs()
    if (latest.isOlderAsk || hasEnded) {
      givenBack = giveBackLeft(budget)
      answered = hasEnded ? null : latest.asks
    }
    const reply = await state.lease(shard, { ...terms, givenBack, lacking, isSpare, answered })
    latest = reply
    if (reply.granted > granted) {
      part = reply.granted - granted
      granted = reply.granted
      grant(budget, part)
    } else if (isSpare) part = 0n
    if (reply.isFinal) setFinal(budget)
  }
  const watch = (): void => {
    if (hasEnded) return
    const [wanted, left] = [takeWanted(budget), leftOf(budget)]
    const lacking = wanted > left ? wanted - left : left < 0n ? -left : 0n
    // Once a part in advance was refused, none will be granted.
    const isSpare = part > 0n && (left * 2n < part || left < 2n * least)
    const isDue = latest.asks > 0 || clock.nowMs() >= askedMs + idleMs
    // Without a response, the shard gets no more money. A run that cannot reach Redis ends for that reason.
    if (lacking > 0n || isSpare || isDue) asking = ask(lacking, isSpare).catch(() => {})
    void asking.then(() => {
      if (!hasEnded) cancel = clock.at(clock.nowMs() + everyMs, watch)
    })
  }
  return {
    budget,
    begin: async () => {
      await ask(0n, true)
      watch()
    },
    end: async () => {
      hasEnded = true
      cancel()
      await asking
      await ask(0n, false)
    },
  }
}
