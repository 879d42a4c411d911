import { formatPico } from '../../../lib/money.ts'
import type { Say } from '../../checks/findings.ts'
import { noSpendListener, type SpendListener } from '../audit.ts'
import { createOverlapBounds, type RequestInterval, type SumBounds } from '../overlap-bounds.ts'
import {
  type AmountRange,
  addToTotals,
  type Balances,
  type ChargeBounds,
  type ChargeTotals,
  createCurrencies,
  excessOver,
  formatRange,
  isWithin,
  type PaidByCurrency,
  totalsBetween,
  zeroTotals,
} from './charge.ts'
import type { Discrepancies } from './discrepancies.ts'

/** One request, as its account sees it. It is settled when its charge is in the balance for sure. */
export type LedgerEntry = RequestInterval & {
  readonly id: number
  /** null: a success that does not say what it cost. */
  readonly charge: ChargeBounds | null
  readonly paid: PaidByCurrency | null
  /** What the caller had before the request, as the answer said it; null: not both are stated. Which is spent first is open. */
  readonly balances: Balances | null
  /** The day, by the clock of the target, that the request lies in; null: the one or the other. */
  readonly day: number | null
}

type AccountOptions = {
  /** The last digit of a balance, in pico-USD. */
  readonly grain: bigint
  readonly judged: boolean
}

export type LedgerAccount = {
  /** Entries added later were sent at `watermarkMs` or after it. */
  readonly add: (entry: LedgerEntry, watermarkMs: number) => void
  readonly finish: () => void
  /** What left the balance between the first and the last that was shown; null when none was. */
  readonly billed: () => bigint | null
}

/** A fault cites at most this many of the latest requests. */
const maxRecent = 8

/**
 * One caller's account. The balance shown to a request must lie between two bounds: everything that may have been charged
 * by then was charged, or only what certainly was. For a request that was alone, the two bounds are equal. Such a settled
 * balance is a checkpoint from which the account starts anew, so that one fault is reported once. A balance out of bounds
 * waits for the next checkpoint, where it is known whether the charge was wrong or the balance that was shown.
 */
export function createAccount(
  options: AccountOptions,
  discrepancies: Discrepancies,
  say: Say<'ledger'>,
  spend: Pick<SpendListener, 'shown'> = noSpendListener,
): LedgerAccount {
  // Two currencies are shown, each to its last digit.
  const resolution = 2n * options.grain
  const judgeCurrencies = createCurrencies(options.grain, say)
  let opening: bigint | null = null
  let latest: bigint | null = null
  /** The last checkpoint, and the first one since a fault: a difference too small to see once adds up over many. */
  let checkpoint: BalanceCheckpoint | null = null
  let origin: BalanceCheckpoint | null = null
  let pending: PendingMismatch | null = null
  /** Whether a missing charge came in later: then the balances shown are old, and the charges are right. */
  let isStale = false
  let recent: LedgerEntry[] = []
  const unanswered = createUnansweredCharges()
  const bounds = createOverlapBounds<LedgerEntry, ChargeTotals>(zeroTotals, addToTotals, (entry, view) => {
    const balance = balanceOf(entry)
    if (balance !== null) {
      opening ??= balance
      spend.shown(entry.shownMs, latest === null ? null : latest - balance)
      latest = balance
      if (options.judged) {
        judge(entry, balance, view)
        judgeCurrencies(entry, view)
      }
    }
    recent.push(entry)
    if (recent.length > maxRecent) recent.shift()
    if (entry.charge?.kind === 'unknown') unanswered.add(entry.charge.max, entry.settledMs)
  })

  function judge(entry: LedgerEntry, balance: bigint, { certain, before, possible }: SumBounds<ChargeTotals>) {
    const isQuiet = certain.requests === before.requests && possible.requests === before.requests + 1
    const here = (shown: bigint): BalanceCheckpoint => {
      const others = totalsBetween(addToTotals(zeroTotals, entry), possible)
      return { balance: shown, certain, possible: others, unanswered: unanswered.at(entry.sentMs), day: entry.day }
    }
    // At midnight an account is given the credits of the day.
    if (checkpoint === null || checkpoint.day === null || checkpoint.day !== entry.day) return moveOn(here(balance))
    const unpriced = possible.unpriced - (entry.charge === null ? 1 : 0)
    if (unpriced > checkpoint.certain.unpriced) {
      if (unpriced === certain.unpriced) moveOn(here(balance))
      return
    }

    const spent = checkpoint.balance - balance
    const range = spentSince(checkpoint, certain.min, possible.max - (entry.charge?.max ?? 0n))
    if (isQuiet) judgeSettled(entry, here, spent, range, totalsBetween(checkpoint.certain, before))
    else if (!isWithin(spent, range, resolution)) pending ??= { id: entry.id, spent, range, missing: null }
    else if (pending === null) say.kept('billing.balance-before')
  }

  function judgeSettled(
    entry: LedgerEntry,
    here: (balance: bigint) => BalanceCheckpoint,
    spent: bigint,
    range: AmountRange,
    totals: ChargeTotals,
  ) {
    const { id } = entry
    const balance = balanceOf(entry) ?? 0n
    const own = ownCharge(entry)
    const charges = recent.map(ownCharge).filter(charge => charge > 0n)
    const areAllKnown = totals.chargedRequests <= charges.length
    switch (diagnoseBalance({ spent, range, resolution, own, charges, areAllKnown })) {
      case 'fits':
        if (pending !== null && couldBeRealLoss(pending, spent, range, resolution)) return moveOn(here(balance))
        return passSettled(here(balance), totals, id)
      case 'own-charge': {
        const message = `the balance shown is lower by ${formatPico(own)} USD, the request's own charge, expected the one before it`
        say.broken('billing.balance-before', message, [id])
        return restart(here(balance + own))
      }
      case 'either':
        pending ??= { id, spent, range, missing: null }
        return
      case 'stale': {
        const missing = charges.at(-1) ?? null
        // What was missing the last time has come in, for now it is another charge.
        if (pending !== null && pending.missing !== null && pending.missing !== missing) {
          isStale = true
          failPending()
        }
        pending ??= { id, spent, range, missing }
        return
      }
      case 'fault':
        failDifference({ id, spent, range, totals })
        return restart(here(balance))
    }
  }

  /** Everything since the checkpoint is accounted for. */
  function passSettled(quiet: BalanceCheckpoint, { replays, chargedRequests, refusals }: ChargeTotals, id: number) {
    if (pending === null) say.kept('billing.balance-before')
    else failDisplayedBalance(pending, 'a later one was right', say)
    say.kept('billing.conservation')
    if (refusals > 0) say.kept('rpc.refused.free')
    if (replays > 0) say.kept('rpc.replay.charge')
    else if (chargedRequests > 0) discrepancies.recordEvidence(true)

    const first = origin ?? quiet
    restart(quiet)
    const spent = first.balance - quiet.balance
    const range = spentSince(first, quiet.certain.min, quiet.certain.max)
    if (isWithin(spent, range, resolution)) origin = first
    else {
      const message = describeSpent(spent, range, totalsBetween(first.certain, quiet.certain).requests)
      discrepancies.report('balance-drift', { amount: excessOver(spent, range), message, requestIds: [id] })
    }
  }

  function failDifference({
    id,
    spent,
    range,
    totals,
  }: {
    id: number
    spent: bigint
    range: AmountRange
    totals: ChargeTotals
  }) {
    if (totals.chargedRequests > 0 && totals.replays === 0) discrepancies.recordEvidence(false)
    const message = describeSpent(spent, range, totals.requests)
    const requestIds = [...recent.map(other => other.id), id]
    const lastCharges = recent.flatMap(({ charge }) => (charge === null ? [] : [charge]))
    discrepancies.classify(
      { amount: excessOver(spent, range), message, requestIds },
      { totals, lastCharges, resolution },
    )
  }

  function failPending() {
    if (pending === null) return
    if (isStale && pending.missing !== null)
      failDisplayedBalance(pending, 'what is missing was the last charge, which came in later', say)
    else failUnresolved(pending, discrepancies)
    pending = null
  }

  function restart(from: BalanceCheckpoint) {
    checkpoint = from
    origin = from
    recent = []
    pending = null
  }

  /** Starts anew where the account so far cannot be completed. */
  function moveOn(from: BalanceCheckpoint) {
    failPending()
    restart(from)
  }

  return {
    add: bounds.add,
    finish: () => {
      bounds.finish()
      failPending()
    },
    billed: () => (opening === null || latest === null ? null : opening - latest),
  }
}

/** Both currencies together, where a DIEM counts as a USD. */
const balanceOf = ({ balances }: LedgerEntry): bigint | null => balances && balances.usd + balances.diem

/** What the request itself was charged; a replay was not. */
const ownCharge = ({ charge }: LedgerEntry): bigint => (charge?.kind === 'charged' ? charge.said : 0n)

const describeSpent = (spent: bigint, range: AmountRange, requests: number): string =>
  `${formatPico(spent)} USD left the balance over ${requests} requests that cost ${formatRange(range)}`

/** A balance from which later ones are computed. */
type BalanceCheckpoint = {
  readonly balance: bigint
  /** The requests whose charges were certainly in it, and those whose charges may have been. The same where it is settled. */
  readonly certain: ChargeTotals
  readonly possible: ChargeTotals
  /** The most that earlier requests without an answer can still take. */
  readonly unanswered: bigint
  readonly day: number | null
}

/** What was charged since the checkpoint; `min` and `max` are sums since the beginning, as those of the checkpoint are. */
const spentSince = ({ certain, possible, unanswered }: BalanceCheckpoint, min: bigint, max: bigint): AmountRange => ({
  min: min - possible.min,
  max: max - certain.max + unanswered,
})

/**
 * What the balance of a request that was alone means. fits: it accounts for everything · own-charge: the request's own
 * charge was already taken off · either: so, or an earlier charge at the same price was taken twice · stale: the last
 * charge is missing, because it was lost or because the balance is an old one · fault: anything else
 */
type BalanceDiagnosis = 'fits' | 'own-charge' | 'either' | 'stale' | 'fault'

type SettledBalance = {
  /** What left the balance since the checkpoint, and how much of it is accounted for. */
  readonly spent: bigint
  readonly range: AmountRange
  readonly resolution: bigint
  readonly own: bigint
  /** The charges since the checkpoint, at least the last few, in order; whether these are all. */
  readonly charges: readonly bigint[]
  readonly areAllKnown: boolean
}

function diagnoseBalance({ spent, range, resolution, own, charges, areAllKnown }: SettledBalance): BalanceDiagnosis {
  if (isWithin(spent, range, resolution)) return 'fits'
  const last = charges.at(-1) ?? 0n
  if (last > 0n && isWithin(spent + last, range, resolution)) return 'stale'
  if (own === 0n || !isWithin(spent - own, range, resolution)) return 'fault'
  return areAllKnown && !charges.includes(own) ? 'own-charge' : 'either'
}

/** A balance that was out of bounds: the charges may be wrong, or the balance that was shown. */
type PendingMismatch = {
  readonly id: number
  /** What had left the balance since the checkpoint, and what is accounted for. */
  readonly spent: bigint
  readonly range: AmountRange
  /** The last charge, where it is that which is missing. */
  readonly missing: bigint | null
}

/** Whether a later balance fits even if the amount is really lost: then what is open about its charges hides the loss. */
export function couldBeRealLoss(
  mismatch: PendingMismatch,
  spent: bigint,
  range: AmountRange,
  resolution: bigint,
): boolean {
  return isWithin(spent - excessOver(mismatch.spent, mismatch.range), range, resolution)
}

/** The charges are right, so the balance that was shown was wrong. */
function failDisplayedBalance({ id, spent, range }: PendingMismatch, evidence: string, say: Say<'ledger'>): void {
  const message = `${formatPico(spent)} USD had left the balance shown, expected ${formatRange(range)}; ${evidence}`
  say.broken('billing.balance-before', message, [id])
}

/** The balance stayed out of bounds, though the exact amount is not known. */
function failUnresolved({ id, spent, range }: PendingMismatch, discrepancies: Discrepancies): void {
  const amount = excessOver(spent, range)
  const message = `${formatPico(spent)} USD left the balance, expected ${formatRange(range)}`
  discrepancies.report(amount < 0n ? 'unbilled' : 'balance-drift', { amount, message, requestIds: [id] })
}

/** A request without an answer may still be done, and charged, this long after it was given up. */
const maxChargeDelayMs = 600_000
const bucketMs = 1_000

/** What requests without an answer can still take from a balance. Keeps a sum for each second, not each request. */
function createUnansweredCharges(): {
  /** Instants are added in ascending order, more or less. */
  readonly add: (max: bigint, givenUpMs: number) => void
  readonly at: (instantMs: number) => bigint
} {
  let buckets: { readonly untilMs: number; max: bigint }[] = []
  return {
    add: (max, givenUpMs) => {
      const untilMs = Math.ceil(givenUpMs / bucketMs) * bucketMs + maxChargeDelayMs
      const last = buckets.at(-1)
      if (last !== undefined && last.untilMs >= untilMs) last.max += max
      else buckets.push({ untilMs, max })
    },
    at: instantMs => {
      if (buckets[0] !== undefined && buckets[0].untilMs < instantMs)
        buckets = buckets.filter(({ untilMs }) => untilMs >= instantMs)
      return buckets.reduce((sum, { max }) => sum + max, 0n)
    },
  }
}
