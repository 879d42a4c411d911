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
    if (entry.balance !== null) {
      opening ??= entry.balance
      latest = entry.balance
      const others = entries.filter(other => other !== entry && other.sentMs <= entry.endMs)
      const isQuiet = others.every(other => isSettledBefore(other, entry.sentMs))
      const possible = others.reduce(addCharge, settled)
      const certain = others.filter(other => isSettledBefore(other, entry.sentMs)).reduce(addCharge, settled)
      if (anchor !== null && rules.judged && !silenced && !possible.unknown) {
        compare(entry, entry.balance, anchor, certain, possible)
      }
      if (isQuiet) return restart(entry, entry.balance)
    }
    judged++
    retire(entry)
  }

  function compare(entry: Entry, balance: bigint, from: bigint, certain: Turnover, possible: Turnover) {
    const spent = from - balance
    const fits = (amount: bigint) =>
      amount >= certain.least - rules.resolution && amount <= possible.most + rules.resolution
    if (fits(spent)) {
      say.kept('billing.balance-before')
      say.kept('billing.conservation')
      if (certain.least === possible.most && possible.replayed > 0n) say.kept('rpc.replay.charge')
      return
    }
    const own = entry.charge?.said ?? 0n
    if (own > 0n && fits(spent - own)) {
      say.broken(
        'billing.balance-before',
        `the balance shown is lower by ${formatPico(own)} USD, the request's own charge`,
        [entry.seq],
      )
      return
    }
    silenced = true
    const excess = spent > possible.most ? spent - possible.most : spent - certain.least
    const range = certain.least === possible.most ? '' : `${formatPico(certain.least)} to `
    const because = `${formatPico(spent)} USD left the balance over ${possible.requests} requests that cost ${range}${formatPico(possible.most)}`
    discrepancies.report(nameDifference(excess, possible, rules.resolution), excess, because, [
      ...possible.lastSeqs,
      entry.seq,
    ])
  }

  /** The entry was alone: whatever came before is in its balance. A balance shown too late is put right first. */
  function restart(entry: Entry, balance: bigint) {
    const own = entry.charge?.said ?? 0n
    const shownLate =
      anchor !== null && !settledTurnover(entry).unknown && own > 0n && isOwnCharge(entry, balance, anchor, own)
    anchor = shownLate ? balance + own : balance
    settled = nothing
    silenced = false
    entries = entries.slice(entries.indexOf(entry))
    judged = 1
  }

  const settledTurnover = (entry: Entry): Turnover =>
    entries.filter(other => other !== entry && other.sentMs <= entry.endMs).reduce(addCharge, settled)

  function isOwnCharge(entry: Entry, balance: bigint, from: bigint, own: bigint): boolean {
    const { least, most } = settledTurnover(entry)
    const spent = from - balance
    return (
      spent > most + rules.resolution &&
      spent - own >= least - rules.resolution &&
      spent - own <= most + rules.resolution
    )
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
