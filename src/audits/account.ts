import type { Say } from '../checks/docket.ts'
import { formatPico } from '../lib/money.ts'
import type { Charge } from './charge.ts'
import type { Discrepancies } from './discrepancies.ts'
import { addCharge, nameDifference, nothing, type Turnover } from './turnover.ts'

/** One request, as its account sees it. `balance` is what the answer said the caller had before it, in pico-USD. */
export type Entry = {
  readonly seq: number
  readonly sentMs: number
  readonly endMs: number
  /** null: a success that does not say what it cost. */
  readonly charge: Charge | null
  readonly balance: bigint | null
}

/**
 * own-charge: the request's own charge was already taken off · ambiguous: so, or another fault · unknown: a success did
 * not say what it cost
 */
type Reading = 'fits' | 'own-charge' | 'ambiguous' | 'fault' | 'unknown'

export type AccountRules = {
  /** A charge is in the balance so long after the answer that it belongs to. */
  readonly settleMs: number
  /** The smallest difference that a balance shows, in pico-USD. */
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

/**
 * One caller's account. A balance that was shown to a request must lie between what is left when everything that may
 * have been charged by then was, and what is left when only that was which certainly had been. When a request was
 * alone, the two are one: a quiet point, from which the reckoning starts anew, so that one fault is told once.
 */
export function createAccount(rules: AccountRules, discrepancies: Discrepancies, say: Say<'ledger'>): Account {
  /** In the order of sending; the first `judged` of them have been judged and can still touch a later one. */
  let entries: Entry[] = []
  let judged = 0
  let opening: bigint | null = null
  let latest: bigint | null = null
  /** The last balance that was certain, and what was charged for sure since then. */
  let anchor: bigint | null = null
  let settled: Turnover = nothing
  /** After a definite fault nothing is said until the next quiet point. */
  let silenced = false

  const isSettledBefore = (entry: Entry, instantMs: number) => entry.endMs + rules.settleMs <= instantMs

  function judge(entry: Entry) {
    const { balance } = entry
    if (balance !== null) {
      opening ??= balance
      latest = balance
      const others = entries.filter(other => other !== entry && other.sentMs <= entry.endMs)
      const before = others.filter(other => isSettledBefore(other, entry.sentMs))
      const isQuiet = before.length === others.length
      const possible = others.reduce(addCharge, settled)
      const certain = before.reduce(addCharge, settled)
      const reading = anchor === null ? 'fits' : read(entry, anchor - balance, certain, possible)
      if (rules.judged && !silenced && anchor !== null) tell(reading, entry, anchor - balance, certain, possible)
      if (isQuiet && reading !== 'ambiguous')
        return restart(entry, reading === 'own-charge' ? balance + ownCharge(entry) : balance)
    }
    judged++
    retire(entry)
  }

  /** What a balance means that shows so much spent since the anchor. */
  function read(entry: Entry, spent: bigint, certain: Turnover, possible: Turnover): Reading {
    const fits = (amount: bigint) =>
      amount >= certain.least - rules.resolution && amount <= possible.most + rules.resolution
    if (possible.unknown) return 'unknown'
    if (fits(spent)) return 'fits'
    const own = ownCharge(entry)
    if (own === 0n || !fits(spent - own)) return 'fault'
    // An earlier request at the same price, billed twice, would look the same. Time will tell.
    const alone = certain.requests === possible.requests && !possible.lastCharges.includes(own)
    return alone ? 'own-charge' : 'ambiguous'
  }

  function tell(reading: Reading, entry: Entry, spent: bigint, certain: Turnover, possible: Turnover) {
    if (reading === 'fits') {
      say.kept('billing.balance-before')
      say.kept('billing.conservation')
      if (certain.least === possible.most && possible.replayed > 0n) say.kept('rpc.replay.charge')
    }
    if (reading === 'own-charge') {
      const own = formatPico(ownCharge(entry))
      say.broken('billing.balance-before', `the balance shown is lower by ${own} USD, the request's own charge`, [
        entry.seq,
      ])
    }
    if (reading !== 'fault') return
    silenced = true
    const excess = spent > possible.most ? spent - possible.most : spent - certain.least
    const range = certain.least === possible.most ? '' : `${formatPico(certain.least)} to `
    const because = `${formatPico(spent)} USD left the balance over ${possible.requests} requests that cost ${range}${formatPico(possible.most)}`
    const kind = nameDifference(excess, possible, rules.resolution)
    discrepancies.report(kind, excess, because, [...possible.lastSeqs, entry.seq])
  }

  /** The entry was alone, so its balance accounts for all that came before. */
  function restart(entry: Entry, balance: bigint) {
    anchor = balance
    settled = nothing
    silenced = false
    entries = entries.slice(entries.indexOf(entry))
    judged = 1
  }

  /** Judged entries that are settled for this one are settled for all that follow. */
  function retire(entry: Entry) {
    const done = entries.slice(0, judged).filter(other => isSettledBefore(other, entry.sentMs))
    if (done.length === 0) return
    settled = done.reduce(addCharge, settled)
    entries = entries.filter(other => !done.includes(other))
    judged -= done.length
  }

  const judgeWhile = (isReady: (entry: Entry) => boolean) => {
    for (let entry = entries[judged]; entry !== undefined && isReady(entry); entry = entries[judged]) judge(entry)
  }

  return {
    add: (entry, watermarkMs) => {
      const behind = entries.findLastIndex(other => other.sentMs <= entry.sentMs)
      entries.splice(behind + 1, 0, entry)
      judgeWhile(waiting => waiting.endMs < watermarkMs)
    },
    conclude: () => judgeWhile(() => true),
    billed: () => (opening === null || latest === null ? null : opening - latest),
  }
}

/** What the request itself was charged; a replay was not. */
const ownCharge = ({ charge }: Entry): bigint => (charge?.sort === 'charged' ? charge.said : 0n)
