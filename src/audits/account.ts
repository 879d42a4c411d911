import type { Say } from '../checks/findings.ts'
import { formatPico } from '../lib/money.ts'
import { type Anchor, rangeSince } from './anchor.ts'
import type { Charge } from './charge.ts'
import { createCurrencies } from './currencies.ts'
import type { Discrepancies } from './discrepancies.ts'
import { createLateCharges } from './late-charges.ts'
import type { Balances, Paid } from './paid.ts'
import { describeRange, excessOf, fits, type Range } from './range.ts'
import { readQuiet } from './reading.ts'
import { createReckoning, type Span, type View } from './reckoning.ts'
import { nobody, type SpendSink } from './spend-sink.ts'
import { accuseDisplay, accuseUndecided, mayBeMoney, type Suspicion } from './suspicion.ts'
import { addCharge, nothing, since, type Turnover } from './turnover.ts'

/** One request, as its account sees it. It is settled when its charge is in the balance for sure. */
export type Entry = Span & {
  readonly seq: number
  /** null: a success that does not say what it cost. */
  readonly charge: Charge | null
  readonly paid: Paid | null
  /** What the answer said the caller had before the request; null: not both of them. Which is spent first is open. */
  readonly balances: Balances | null
  /** The day, by the clock of the target, that the request lies in; null: the one or the other. */
  readonly day: number | null
}

export type AccountRules = {
  /** The last digit of a balance, in pico-USD. */
  readonly grain: bigint
  readonly judged: boolean
}

export type Account = {
  /** Entries added later were sent at `watermarkMs` or after it. */
  readonly add: (entry: Entry, watermarkMs: number) => void
  readonly conclude: () => void
  /** What left the balance between the first and the last that was shown; null when none was. */
  readonly billed: () => bigint | null
}

/** So many of the latest requests are named with a fault. */
const recentKept = 8

/**
 * One caller's account. A balance that was shown to a request must lie between what is left when everything that may
 * have been charged by then was, and what is left when only that was which certainly had been. When a request was alone,
 * the two are one: a quiet point, from which the reckoning starts anew, so that one fault is told once. What is out of
 * bounds in between is told at the next quiet point, when it is known whether the money was wrong or what was shown.
 */
export function createAccount(
  rules: AccountRules,
  discrepancies: Discrepancies,
  say: Say<'ledger'>,
  spend: Pick<SpendSink, 'shown'> = nobody,
): Account {
  // Two currencies are shown, each to its last digit.
  const resolution = 2n * rules.grain
  const judgeCurrencies = createCurrencies(rules.grain, say)
  let opening: bigint | null = null
  let latest: bigint | null = null
  /** The last quiet point, and the first one since a fault: what is too little to be seen once is seen over many. */
  let anchor: Anchor | null = null
  let origin: Anchor | null = null
  let suspicion: Suspicion | null = null
  /** Whether a charge was missing from a balance and came in later: then the balances are old, and the money is right. */
  let isStale = false
  let recent: Entry[] = []
  const late = createLateCharges()
  const reckoning = createReckoning<Entry, Turnover>(nothing, addCharge, (entry, view) => {
    const balance = balanceOf(entry)
    if (balance !== null) {
      opening ??= balance
      spend.shown(entry.shownMs, latest === null ? null : latest - balance)
      latest = balance
      if (rules.judged) {
        judge(entry, balance, view)
        judgeCurrencies(entry, view)
      }
    }
    recent.push(entry)
    if (recent.length > recentKept) recent.shift()
    if (entry.charge?.sort === 'unknown') late.add(entry.charge.most, entry.settledMs)
  })

  function judge(entry: Entry, balance: bigint, { certain, before, possible }: View<Turnover>) {
    const isQuiet = certain.requests === before.requests && possible.requests === before.requests + 1
    const here = (shown: bigint): Anchor => {
      const others = since(addCharge(nothing, entry), possible)
      return { balance: shown, certain, possible: others, late: late.at(entry.sentMs), day: entry.day }
    }
    // At midnight an account is given the credits of the day.
    if (anchor === null || anchor.day === null || anchor.day !== entry.day) return moveOn(here(balance))
    const unpriced = possible.unpriced - (entry.charge === null ? 1 : 0)
    if (unpriced > anchor.certain.unpriced) {
      if (unpriced === certain.unpriced) moveOn(here(balance))
      return
    }

    const spent = anchor.balance - balance
    const range = rangeSince(anchor, certain.least, possible.most - (entry.charge?.most ?? 0n))
    if (isQuiet) judgeQuiet(entry, here, spent, range, since(anchor.certain, before))
    else if (!fits(spent, range, resolution)) suspicion ??= { seq: entry.seq, spent, range, missing: null }
    else if (suspicion === null) say.kept('billing.balance-before')
  }

  function judgeQuiet(
    entry: Entry,
    here: (balance: bigint) => Anchor,
    spent: bigint,
    range: Range,
    turnover: Turnover,
  ) {
    const { seq } = entry
    const balance = balanceOf(entry) ?? 0n
    const own = ownCharge(entry)
    const charges = recent.map(ownCharge).filter(charge => charge > 0n)
    const areAllKnown = turnover.chargedRequests <= charges.length
    switch (readQuiet({ spent, range, resolution, own, charges, areAllKnown })) {
      case 'fits':
        if (suspicion !== null && mayBeMoney(suspicion, spent, range, resolution)) return moveOn(here(balance))
        return settle(here(balance), turnover, seq)
      case 'own-charge': {
        const because = `the balance shown is lower by ${formatPico(own)} USD, the request's own charge, expected the one before it`
        say.broken('billing.balance-before', because, [seq])
        return restart(here(balance + own))
      }
      case 'either':
        suspicion ??= { seq, spent, range, missing: null }
        return
      case 'stale': {
        const missing = charges.at(-1) ?? null
        // What was missing the last time has come in, for now it is another charge.
        if (suspicion !== null && suspicion.missing !== null && suspicion.missing !== missing) {
          isStale = true
          tellSuspicion()
        }
        suspicion ??= { seq, spent, range, missing }
        return
      }
      case 'fault':
        accuse({ seq, spent, range, turnover })
        return restart(here(balance))
    }
  }

  /** Everything since the anchor is accounted for. */
  function settle(quiet: Anchor, { replays, chargedRequests, refusals }: Turnover, seq: number) {
    if (suspicion === null) say.kept('billing.balance-before')
    else accuseDisplay(suspicion, 'a later one was right', say)
    say.kept('billing.conservation')
    if (refusals > 0) say.kept('rpc.refused.free')
    if (replays > 0) say.kept('rpc.replay.charge')
    else if (chargedRequests > 0) discrepancies.witness(true)

    const first = origin ?? quiet
    restart(quiet)
    const spent = first.balance - quiet.balance
    const range = rangeSince(first, quiet.certain.least, quiet.certain.most)
    if (fits(spent, range, resolution)) origin = first
    else {
      const because = describe(spent, range, since(first.certain, quiet.certain).requests)
      discrepancies.report('balance-drift', { amount: excessOf(spent, range), because, seqs: [seq] })
    }
  }

  function accuse({ seq, spent, range, turnover }: { seq: number; spent: bigint; range: Range; turnover: Turnover }) {
    if (turnover.chargedRequests > 0 && turnover.replays === 0) discrepancies.witness(false)
    const because = describe(spent, range, turnover.requests)
    const seqs = [...recent.map(other => other.seq), seq]
    const lastCharges = recent.flatMap(({ charge }) => (charge === null ? [] : [charge]))
    discrepancies.name({ amount: excessOf(spent, range), because, seqs }, { turnover, lastCharges, resolution })
  }

  function tellSuspicion() {
    if (suspicion === null) return
    if (isStale && suspicion.missing !== null)
      accuseDisplay(suspicion, 'what is missing was the last charge, which came in later', say)
    else accuseUndecided(suspicion, discrepancies)
    suspicion = null
  }

  function restart(from: Anchor) {
    anchor = from
    origin = from
    recent = []
    suspicion = null
  }

  /** Starts anew where what was before cannot be reckoned to its end. */
  function moveOn(from: Anchor) {
    tellSuspicion()
    restart(from)
  }

  return {
    add: reckoning.add,
    conclude: () => {
      reckoning.conclude()
      tellSuspicion()
    },
    billed: () => (opening === null || latest === null ? null : opening - latest),
  }
}

/** Both currencies together, where a DIEM counts as a USD. */
const balanceOf = ({ balances }: Entry): bigint | null => balances && balances.usd + balances.diem

/** What the request itself was charged; a replay was not. */
const ownCharge = ({ charge }: Entry): bigint => (charge?.sort === 'charged' ? charge.said : 0n)

const describe = (spent: bigint, range: Range, requests: number): string =>
  `${formatPico(spent)} USD left the balance over ${requests} requests that cost ${describeRange(range)}`
