import type { Say } from '../checks/docket.ts'
import { formatPico } from '../lib/money.ts'
import { type Anchor, describeRange, excessOf, fits, type Range, rangeSince } from './anchor.ts'
import type { Charge } from './charge.ts'
import type { Discrepancies } from './discrepancies.ts'
import { createLateCharges } from './late-charges.ts'
import { createReckoning, type Span, type View } from './reckoning.ts'
import { addCharge, nothing, since, type Turnover } from './turnover.ts'

/** One request, as its account sees it. It is settled when its charge is in the balance for sure. */
export type Entry = Span & {
  readonly seq: number
  /** null: a success that does not say what it cost. */
  readonly charge: Charge | null
  /** What the answer said the caller had before the request, in pico-USD; null: nothing. */
  readonly balance: bigint | null
  /** The day, by the clock of the target, that the request lies in; null: the one or the other. */
  readonly day: number | null
}

export type AccountRules = {
  /** The smallest difference between two balances that can be seen, in pico-USD. */
  readonly resolution: bigint
  readonly judged: boolean
}

export type Account = {
  /** Entries added later were sent at `watermarkMs` or after it. */
  readonly add: (entry: Entry, watermarkMs: number) => void
  readonly conclude: () => void
  /** What left the balance between the first and the last that was shown; null when none was. */
  readonly billed: () => bigint | null
}

/** A balance that was out of bounds while others were under way. */
type Suspicion = { readonly seq: number; readonly spent: bigint; readonly range: Range }

/** So many of the latest requests are named with a fault. */
const recentKept = 8

/**
 * One caller's account. A balance that was shown to a request must lie between what is left when everything that may
 * have been charged by then was, and what is left when only that was which certainly had been. When a request was alone,
 * the two are one: a quiet point, from which the reckoning starts anew, so that one fault is told once. What is out of
 * bounds in between is told at the next quiet point, when it is known whether the money was wrong or what was shown.
 */
export function createAccount(rules: AccountRules, discrepancies: Discrepancies, say: Say<'ledger'>): Account {
  const { resolution } = rules
  let opening: bigint | null = null
  let latest: bigint | null = null
  /** The last quiet point, and the first one since a fault: what is too little to be seen once is seen over many. */
  let anchor: Anchor | null = null
  let origin: Anchor | null = null
  let suspicion: Suspicion | null = null
  let recent: readonly Entry[] = []
  const late = createLateCharges()
  const reckoning = createReckoning<Entry, Turnover>(nothing, addCharge, (entry, view) => {
    if (entry.balance !== null) {
      opening ??= entry.balance
      latest = entry.balance
      if (rules.judged) judge(entry, entry.balance, view)
    }
    recent = [...recent, entry].slice(-recentKept)
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
    if (fits(spent, range, resolution)) {
      if (suspicion === null) say.kept('billing.balance-before')
      if (isQuiet) settle(entry, here(balance))
      return
    }
    const suspect = { seq: entry.seq, spent, range }
    if (!isQuiet) {
      suspicion ??= suspect
      return
    }
    const own = ownCharge(entry)
    const lastCharge = recent.map(ownCharge).findLast(charge => charge > 0n) ?? 0n
    // A balance from before the last charge, or that charge lost: which of them, a later balance shows.
    const isStale = lastCharge > 0n && fits(spent + lastCharge, range, resolution)
    if (isStale) suspicion ??= suspect
    else if (own === 0n || !fits(spent - own, range, resolution)) {
      accuse(suspect, since(anchor.certain, before))
      restart(here(balance))
    } else if (mayBeAnother(own, since(anchor.certain, before))) {
      suspicion ??= suspect
    } else {
      const because = `the balance shown is lower by ${formatPico(own)} USD, the request's own charge, expected the one before it`
      say.broken('billing.balance-before', because, [entry.seq])
      restart(here(balance + own))
    }
  }

  /** Everything since the anchor is accounted for. */
  function settle(entry: Entry, quiet: Anchor) {
    if (anchor === null || origin === null) return
    if (suspicion !== null) {
      const because = `${formatPico(suspicion.spent)} USD had left the balance shown, expected ${describeRange(suspicion.range)}; a later one was right`
      say.broken('billing.balance-before', because, [suspicion.seq])
    }
    const { replays, chargedRequests } = since(anchor.certain, quiet.certain)
    say.kept('billing.conservation')
    if (replays > 0) say.kept('rpc.replay.charge')
    else if (chargedRequests > 0) discrepancies.witness(true)

    const first: Anchor = origin
    restart(quiet)
    const spent = first.balance - quiet.balance
    const range = rangeSince(first, quiet.certain.least, quiet.certain.most)
    if (fits(spent, range, resolution)) origin = first
    else {
      const { requests } = since(first.certain, quiet.certain)
      const because = describe(spent, range, requests)
      discrepancies.report('balance-drift', { amount: excessOf(spent, range), because, seqs: [entry.seq] })
    }
  }

  /** An earlier request at the same price, charged twice, would look the same as one's own charge. Time will tell. */
  function mayBeAnother(own: bigint, turnover: Turnover): boolean {
    return turnover.chargedRequests > recentKept || recent.some(other => ownCharge(other) === own)
  }

  function accuse({ seq, spent, range }: Suspicion, turnover: Turnover) {
    if (turnover.chargedRequests > 0 && turnover.replays === 0) discrepancies.witness(false)
    const because = describe(spent, range, turnover.requests)
    const seqs = [...recent.map(other => other.seq), seq]
    const lastCharges = recent.flatMap(({ charge }) => (charge === null ? [] : [charge]))
    discrepancies.name({ amount: excessOf(spent, range), because, seqs }, { turnover, lastCharges, resolution })
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

  /** Out of bounds is out of bounds, though nobody can say by how much in the end. */
  function tellSuspicion() {
    if (suspicion === null) return
    const { seq, spent, range } = suspicion
    const amount = excessOf(spent, range)
    const because = `${formatPico(spent)} USD left the balance, expected ${describeRange(range)}`
    discrepancies.report(amount < 0n ? 'unbilled' : 'balance-drift', { amount, because, seqs: [seq] })
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

/** What the request itself was charged; a replay was not. */
const ownCharge = ({ charge }: Entry): bigint => (charge?.sort === 'charged' ? charge.said : 0n)

const describe = (spent: bigint, range: Range, requests: number): string =>
  `${formatPico(spent)} USD left the balance over ${requests} requests that cost ${describeRange(range)}`
