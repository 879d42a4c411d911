import { formatPico } from '../../../lib/money.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { noSpendListener, type SpendListener } from '../audit.ts'
import { createOverlapBounds, type RequestInterval, type SumBounds } from '../overlap-bounds.ts'
import {
  type Balances,
  type ChargeBounds,
  describeSpent,
  excessOver,
  formatRange,
  isCharge,
  isWithin,
  type PaidByCurrency,
} from './charge.ts'
import {
  type BalanceCheckpoint,
  createUnansweredCharges,
  diagnoseBalance,
  mayBeHeld,
  type PendingMismatch,
  spentSince,
} from './checkpoint.ts'
import { type Credit, creditAtFault, maxSuspects } from './credits.ts'
import type { Discrepancies } from './discrepancies.ts'
import { createHangUpJudge } from './hang-ups.ts'
import type { AmountRange } from './prices.ts'
import { createWrongDisplays, type ShownCredit } from './shown.ts'
import {
  addToTotals,
  type ChargeTotals,
  createCurrencies,
  createKeptCharge,
  heldOfOthers,
  totalsBetween,
  zeroTotals,
} from './totals.ts'

/** One request as its account sees it. It is settled when the balance certainly includes its charge. */
export type LedgerEntry = RequestInterval & {
  readonly id: number
  /** null: a success that does not state its cost. */
  readonly charge: ChargeBounds | null
  readonly paid: PaidByCurrency | null
  /**
   * The balances before the request, as its response states them; null if one is missing. Which is spent first is open.
   */
  readonly balances: Balances | null
  /** What it adds to the credit of a wallet; null: it does not pay. */
  readonly credit: Credit | null
  /** How much more than its charge the service may hold of the balance until it has settled. */
  readonly held: bigint
  /** Further places where the response shows the credit. */
  readonly shown: readonly ShownCredit[]
  /** The day of the request on the target's clock; null if it is uncertain. */
  readonly day: number | null
}

type AccountOptions = {
  /** The last digit of a balance, in pico-USD, as far as the balances so far show it. */
  readonly lastDigit: () => bigint
  readonly judged: boolean
  readonly isWallet: boolean
}

export type LedgerAccount = {
  /** Entries added later were sent at `watermarkMs` or later. */
  readonly add: (entry: LedgerEntry, watermarkMs: number) => void
  readonly finish: () => void
  /** The decrease between the first and the last balance shown, without what payments added; null if none was shown. */
  readonly billed: () => bigint | null
}

const unstatedCost: Obstacle = { text: 'a success states no cost, and its list price is not known', clause: null }
const overlapping: Obstacle = { text: 'requests overlapped whenever a balance was shown', clause: null }
const fewDigits: Obstacle = { text: 'balances have too few digits to show these charges', clause: null }

/** At most this many of the latest charges may explain a difference. */
const maxRecent = 8
/** A finding cites at most this many of the latest requests. */
const maxCited = 1_000

/**
 * One caller's account. A balance shown to a request must lie between two bounds: one includes all possible charges up
 * to then, the other only the certain ones. For a request that did not overlap others, the bounds are equal. Such a
 * settled balance becomes a checkpoint from which the account restarts, so that one fault is reported once. A balance
 * out of bounds waits for the next checkpoint, which shows whether the charge or the displayed balance was wrong.
 */
export function createAccount(
  options: AccountOptions,
  discrepancies: Discrepancies,
  reporter: ClauseReporter<'ledger'>,
  spend: Pick<SpendListener, 'shown'> = noSpendListener,
): LedgerAccount {
  const conserved = options.isWallet ? 'wallet.charge' : 'billing.conservation'
  const clauseOfAll = options.isWallet ? 'wallet.charge' : null
  // Two currencies are shown, each rounded to its last digit.
  let resolution = 2n * options.lastDigit()
  const judgeCurrencies = createCurrencies(options.lastDigit, reporter)
  let opening: bigint | null = null
  let latest: bigint | null = null
  /** By payments since the opening balance. */
  let credited = 0n
  /**
   * The last checkpoint, and the first one since a fault. A difference too small to see once adds up over many
   * requests.
   */
  let checkpoint: BalanceCheckpoint | null = null
  let origin: BalanceCheckpoint | null = null
  let pending: PendingMismatch | null = null
  /** Whether a missing charge arrived later. Then displayed balances are old, and the charges are correct. */
  let isStale = false
  let recent: LedgerEntry[] = []
  /** The payments since the checkpoint, and some before it. */
  let credits: Credit[] = []
  let earlierCredits: readonly Credit[] = []
  const wrongDisplays = createWrongDisplays(reporter)
  /** The latest requests since the checkpoint, and since the origin. */
  let sinceCheckpoint: number[] = []
  let sinceOrigin: number[] = []
  const unanswered = createUnansweredCharges()
  const hangUps = createHangUpJudge(discrepancies, reporter)
  const bounds = createOverlapBounds(zeroTotals, addToTotals, judgeNext, createKeptCharge())

  function judgeNext(entry: LedgerEntry, view: SumBounds<ChargeTotals>) {
    const balance = balanceOf(entry)
    resolution = 2n * options.lastDigit()
    if (balance !== null) {
      opening ??= balance
      spend.shown(entry.shownMs, latest === null ? null : latest - balance)
      latest = balance
      if (options.judged) {
        judge(entry, balance, view)
        judgeCurrencies(entry, view)
      }
    }
    if (entry.credit !== null) {
      credits = withLatest(credits, entry.credit)
      if (opening !== null) credited += entry.credit.min
    }
    if (options.judged && entry.shown.length > 0) judgeShown(entry, view)
    recent.push(entry)
    if (recent.length > maxRecent) recent.shift()
    sinceCheckpoint = withLatest(sinceCheckpoint, entry.id)
    sinceOrigin = withLatest(sinceOrigin, entry.id)
    if (entry.charge?.kind === 'unknown') unanswered.add(entry.charge.max, entry.settledMs)
    hangUps.add(entry)
  }

  function checkpointAt(entry: LedgerEntry, balance: bigint, view: SumBounds<ChargeTotals>): BalanceCheckpoint {
    const { sentMs, day } = entry
    const possible = totalsBetween(addToTotals(zeroTotals, entry), view.possible)
    return { balance, certain: view.certain, possible, unanswered: unanswered.at(sentMs), day }
  }

  function judge(entry: LedgerEntry, balance: bigint, view: SumBounds<ChargeTotals>) {
    const { certain, before, possible } = view
    // At midnight an account receives its daily credits.
    if (checkpoint === null || checkpoint.day === null || checkpoint.day !== entry.day)
      return moveOn(checkpointAt(entry, balance, view))
    const unpriced = possible.unpriced - (entry.charge === null ? 1 : 0)
    if (unpriced > checkpoint.certain.unpriced) {
      reporter.unjudged(conserved, unstatedCost)
      if (unpriced === certain.unpriced) moveOn(checkpointAt(entry, balance, view))
      return
    }

    const spent = checkpoint.balance - balance
    const range = spentSince(checkpoint, certain, possible, entry)
    if (isQuiet(view)) judgeSettled(entry, view, spent, range, totalsBetween(checkpoint.certain, before))
    else if (!isWithin(spent, range, resolution)) {
      if (pending !== null && !mayBeHeld(pending)) return
      pending = {
        requestIds: [...sinceCheckpoint, entry.id],
        ...{ spent, range, missing: null, held: heldOfOthers(entry, view) + resolution },
        left: totalsBetween(checkpoint.certain, possible).left,
      }
    } else if (pending === null) {
      reporter.pass('billing.balance-before')
      reporter.unjudged(conserved, overlapping)
    }
  }

  /** Judges the other places that show the credit. What is out of bounds waits until the charges are known to be right. */
  function judgeShown(entry: LedgerEntry, view: SumBounds<ChargeTotals>) {
    const [first] = entry.shown
    if (checkpoint === null && entry.credit !== null && first !== undefined && isQuiet(view)) {
      // The first balance of a wallet may be the one after its first payment.
      const certain = addToTotals(view.certain, entry)
      restart({ ...checkpointAt(entry, first.picoUsd, view), certain, possible: certain })
      credits = [entry.credit]
      return
    }
    if (checkpoint === null || checkpoint.day === null || checkpoint.day !== entry.day) return
    if (view.possible.unpriced > checkpoint.certain.unpriced) return
    // Whether such a place includes DIEM is open.
    if (entry.balances !== null && entry.balances.diem !== 0n) return
    const { charge, credit } = entry
    const before = spentSince(checkpoint, view.certain, view.possible, entry)
    const own = { min: (charge?.min ?? 0n) - (credit?.max ?? 0n), max: (charge?.max ?? 0n) - (credit?.min ?? 0n) }
    for (const shown of entry.shown) {
      const isBefore = shown.when === 'before'
      const min = before.min + (shown.when === 'after' ? own.min : 0n)
      const range = { min, max: before.max + (isBefore ? 0n : own.max) }
      const spent = checkpoint.balance - shown.picoUsd
      const isRight = isWithin(spent, range, options.lastDigit() + shown.lastDigit)
      if (isRight) reporter.pass(shown.clause)
      else if (spent > range.max && spent <= range.max + heldOfOthers(entry, view)) continue
      else wrongDisplays.add(shown, spent, range, [...sinceCheckpoint, entry.id])
      // The same response shows another balance.
      if (!isRight && isBefore && entry.balances !== null && isQuiet(view) && pending === null) wrongDisplays.confirm()
    }
  }

  function judgeSettled(
    entry: LedgerEntry,
    view: SumBounds<ChargeTotals>,
    spent: bigint,
    range: AmountRange,
    totals: ChargeTotals,
  ) {
    const here = (shown: bigint) => checkpointAt(entry, shown, view)
    const upToHere = () => [...sinceCheckpoint, entry.id]
    const balance = balanceOf(entry) ?? 0n
    const own = ownCharge(entry)
    const charges = recent.map(ownCharge).filter(charge => charge > 0n)
    const difference = { spent, range, resolution, totals, charges, atMs: entry.sentMs, requestIds: upToHere }
    if (hangUps.explains(difference)) return restart(here(balance))
    const areAllKnown = totals.chargedRequests <= charges.length
    switch (diagnoseBalance({ spent, range, resolution, own, charges, areAllKnown })) {
      case 'fits':
        if (pending !== null && !mayBeHeld(pending) && couldBeRealLoss(pending, spent, range, resolution))
          return moveOn(here(balance))
        return passSettled(here(balance), totals, entry)
      case 'own-charge': {
        const message = `the displayed balance is lower by ${formatPico(own)} USD, the request's own charge, expected the balance before the request`
        reporter.fail('billing.balance-before', message, upToHere())
        return restart(here(balance + own))
      }
      case 'either':
        pending ??= { requestIds: upToHere(), spent, range, missing: null, held: 0n, left: totals.left }
        return
      case 'stale': {
        const missing = charges.at(-1) ?? null
        // The charge that was missing last time has arrived, since another one is missing now.
        if (pending !== null && pending.missing !== null && pending.missing !== missing) {
          isStale = true
          failPending()
        }
        pending ??= { requestIds: upToHere(), spent, range, missing, held: 0n, left: totals.left }
        return
      }
      case 'fault':
        failDifference({ requestIds: upToHere(), spent, range, totals })
        return restart(here(balance))
    }
  }

  /** All charges since the checkpoint are explained. */
  function passSettled(quiet: BalanceCheckpoint, totals: ChargeTotals, { id, sentMs: atMs }: LedgerEntry) {
    const { replays, chargedRequests, refusals, charged } = totals
    const chargedSinceOrigin = quiet.certain.charged - (origin ?? quiet).certain.charged
    wrongDisplays.confirm()
    if (pending === null) reporter.pass('billing.balance-before')
    else if (!mayBeHeld(pending)) failDisplayedBalance(pending, 'a later balance was correct', reporter)
    // A charge below the last digit of a balance shows only in a sum of several.
    if (charged > 0n && charged + chargedSinceOrigin <= resolution) reporter.unjudged(conserved, fewDigits)
    else reporter.pass(conserved)
    for (const { clause } of credits) reporter.pass(clause)
    if (refusals > 0) reporter.pass('rpc.refused.free')
    hangUps.pass(totals.left, atMs)
    if (replays > 0) reporter.pass('rpc.replay.charge')
    else if (chargedRequests > 0) discrepancies.recordEvidence(true)

    const first = origin ?? quiet
    const ofOrigin = sinceOrigin
    restart(quiet)
    const spent = first.balance - quiet.balance
    const range = spentSince(first, quiet.certain, quiet.certain, null)
    if (isWithin(spent, range, resolution)) {
      origin = first
      sinceOrigin = ofOrigin
    } else {
      const { requests, max } = totalsBetween(first.certain, quiet.certain)
      const amount = excessOver(spent, range)
      const fault = creditAtFault(amount, { recent: earlierCredits, earlier: [] }, max, resolution)
      const message = describeSpent(spent, range, requests)
      const difference = { amount, message, requestIds: [...ofOrigin, id] }
      discrepancies.report(fault?.kind ?? 'balance-drift', { ...difference, clause: fault?.clause ?? clauseOfAll })
    }
  }

  function failDifference({
    requestIds,
    spent,
    range,
    totals,
  }: {
    requestIds: readonly number[]
    spent: bigint
    range: AmountRange
    totals: ChargeTotals
  }) {
    if (totals.chargedRequests > 0 && totals.replays === 0) discrepancies.recordEvidence(false)
    const message = describeSpent(spent, range, totals.requests)
    const amount = excessOver(spent, range)
    const fault = creditAtFault(amount, { recent: credits, earlier: earlierCredits }, totals.max, resolution)
    if (fault !== null) return discrepancies.report(fault.kind, { amount, message, requestIds, clause: fault.clause })
    const lastCharges = recent.flatMap(({ charge }) => (charge === null ? [] : [charge]))
    discrepancies.classify({ amount, message, requestIds, clause: clauseOfAll }, { totals, lastCharges, resolution })
  }

  function failPending() {
    if (pending === null) return
    if (isStale && pending.missing !== null)
      failDisplayedBalance(pending, 'the missing amount was the last charge, which arrived later', reporter)
    else failUnresolved(pending)
    pending = null
  }

  function restart(from: BalanceCheckpoint) {
    checkpoint = from
    origin = from
    recent = []
    sinceCheckpoint = []
    sinceOrigin = []
    earlierCredits = [...earlierCredits, ...credits].slice(-maxSuspects)
    credits = []
    wrongDisplays.drop()
    pending = null
  }

  /** The balance stayed out of bounds, although the exact amount is unknown. */
  function failUnresolved({ requestIds, spent, range, left }: PendingMismatch): void {
    const amount = excessOver(spent, range)
    const message = `${formatPico(spent)} USD left the balance, expected ${formatRange(range)}`
    if (left > 0) return void hangUps.report({ amount, message, requestIds })
    const charges = range.max - range.min
    const fault = creditAtFault(
      amount,
      { recent: credits, earlier: earlierCredits },
      charges < 0n ? -charges : charges,
      resolution,
    )
    const kind = fault?.kind ?? (amount < 0n ? 'unbilled' : 'balance-drift')
    discrepancies.report(kind, { amount, message, requestIds, clause: fault?.clause ?? clauseOfAll })
  }

  /** Restarts the account if its history cannot be completed. */
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
    billed: () => (opening === null || latest === null ? null : opening - latest + credited),
  }
}

/** Whether the request did not overlap others. */
const isQuiet = ({ certain, before, possible }: SumBounds<ChargeTotals>): boolean =>
  certain.requests === before.requests && possible.requests === before.requests + 1

function withLatest<Item>(items: Item[], item: Item): Item[] {
  items.push(item)
  return items.length < 2 * maxCited ? items : items.slice(-maxCited)
}

/** Both currencies together; a DIEM counts as a USD. */
const balanceOf = ({ balances }: LedgerEntry): bigint | null => balances && balances.usd + balances.diem

/** The charge of the request itself; none for a replay. */
const ownCharge = ({ charge }: LedgerEntry): bigint => (isCharge(charge) ? charge.said : 0n)

/** Whether a later balance also fits if the amount is really lost. Then the open charges hide the loss. */
export function couldBeRealLoss(
  mismatch: Pick<PendingMismatch, 'spent' | 'range'>,
  spent: bigint,
  range: AmountRange,
  resolution: bigint,
): boolean {
  return isWithin(spent - excessOver(mismatch.spent, mismatch.range), range, resolution)
}

/** The charges are correct, so the displayed balance was wrong. */
function failDisplayedBalance(
  { requestIds, spent, range }: PendingMismatch,
  evidence: string,
  reporter: ClauseReporter<'ledger'>,
): void {
  const message = `${formatPico(spent)} USD had left the displayed balance, expected ${formatRange(range)}; ${evidence}`
  reporter.fail('billing.balance-before', message, requestIds)
}
