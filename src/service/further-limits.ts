import type { Contract } from '../contract/contract.ts'
import { type LimitForm, limitForms } from '../contract/limit-headers/forms.ts'
import {
  type FurtherLimit,
  type FurtherUnit,
  furtherLimitsOf,
  unitsOf,
} from '../contract/limit-headers/further-limits.ts'
import { limitParts } from '../contract/limit-headers/limit-headers.ts'
import { countersOf, countsTokens, type Draw } from '../contract/limiters.ts'
import { parseUncut, plainText, toObject } from '../lib/json.ts'
import type { Account } from './account.ts'
import { type Counter, createCounter, windowCounter } from './counters.ts'
import { withMember } from './dialect.ts'
import type { RequestState } from './message.ts'

/** What a further limit states of itself. */
export type FurtherStatement = { readonly limit: number; readonly remaining: number; readonly resetMs: number }

/** The decisions about further limits. */
export type FurtherRules = {
  readonly furtherAdmits: (used: number, amount: number, limit: FurtherLimit) => boolean
  /** What a request counts for. */
  readonly furtherUse: (amount: number, limit: FurtherLimit) => number
  /** null: nothing is stated. */
  readonly furtherStated: (stated: FurtherStatement, limit: FurtherLimit) => FurtherStatement | null
}

export const defaultFurtherRules: FurtherRules = {
  furtherAdmits: (used, amount, limit) => used + amount <= limit.amount,
  furtherUse: amount => amount,
  furtherStated: stated => stated,
}

type Amounts = Readonly<Partial<Record<FurtherUnit, number>>>

/** What a request drew on: each limit with its counter, and what the request added. */
type Drawn = { readonly limit: FurtherLimit; readonly counter: Counter; added: number }

export type FurtherLimits = ReturnType<typeof createFurtherLimits>

/** The limits that a profile has beside those of requests and tokens. */
export function createFurtherLimits(contract: Contract, rules: FurtherRules) {
  const limits = furtherLimitsOf(contract.limits)
  const counters = new WeakMap<Account, Map<string, Counter>>()
  const drawn = new WeakMap<RequestState, readonly Drawn[]>()

  function counterOf(account: Account, scope: string, { name, algorithm, amount, windowMs }: FurtherLimit): Counter {
    const own = counters.get(account) ?? new Map<string, Counter>()
    counters.set(account, own)
    const key = `${name} ${scope}`
    const counter =
      own.get(key) ??
      createCounter(algorithm, { limit: amount, windowMs }) ??
      windowCounter(algorithm === 'aligned-window', windowMs)
    own.set(key, counter)
    return counter
  }

  function drawOn(state: RequestState, account: Account, draw: Draw): readonly Drawn[] {
    const known = drawn.get(state)
    if (known !== undefined || draw.limiter === 'control') return known ?? []
    const [scope] = countersOf(draw, contract).counters
    const all = limits
      .filter(({ counts, units }) =>
        counts === 'requests' ? units === null || draw.limiter === 'rpc' : countsTokens(draw.limiter),
      )
      .map(limit => ({ limit, counter: counterOf(account, scope ?? draw.limiter, limit), added: 0 }))
    drawn.set(state, all)
    return all
  }

  return {
    /** Counts what a request uses, if each limit of these units admits it. Otherwise returns when it fits. */
    take: (state: RequestState, account: Account, draw: Draw, amounts: Amounts): number | null => {
      if (limits.length === 0) return null
      const nowMs = state.arrivedMs
      const asked = drawOn(state, account, draw).flatMap(one => {
        const { counts, units } = one.limit
        const amount = amounts[counts]
        if (amount === undefined) return []
        return [{ one, amount: rules.furtherUse(units === null ? amount : unitsIn(state, units), one.limit) }]
      })
      const full = asked.filter(
        ({ one: { limit, counter }, amount }) => !rules.furtherAdmits(counter.used(nowMs), amount, limit),
      )
      if (full.length > 0)
        return Math.max(
          ...full.map(({ one: { counter }, amount }) => counter.fitsMs?.(nowMs, amount) ?? counter.resetMs(nowMs)),
        )
      for (const { one, amount } of asked) {
        one.counter.add(nowMs, amount)
        one.added = amount
      }
      return null
    },
    /** A request that another limit refuses counts for none. */
    takeBack: (state: RequestState) => {
      for (const one of drawn.get(state) ?? []) {
        if (one.added > 0) one.counter.takeBack(one.added, state.arrivedMs)
        one.added = 0
      }
    },
    /** What a completion reserved for its output and did not use. */
    giveBack: (state: RequestState, tokens: number) => {
      for (const { limit, counter, added } of drawn.get(state) ?? []) {
        const isOfOutput = limit.counts === 'output-tokens' || limit.counts === 'tokens'
        if (isOfOutput && added > 0) counter.takeBack(rules.furtherUse(tokens, limit), state.arrivedMs)
      }
    },
    /** The headers of a reply with what each limit states. */
    write: (headers: Readonly<Record<string, string>>, state: RequestState): Readonly<Record<string, string>> => {
      const all = drawn.get(state)
      if (all === undefined || all.length === 0) return headers
      const nowMs = state.arrivedMs
      const written: Record<string, string> = { ...headers }
      for (const { limit, counter } of all) {
        const remaining = Math.max(0, Math.floor(limit.amount - counter.used(nowMs)))
        const honest = { limit: limit.amount, remaining, resetMs: counter.resetMs(nowMs) }
        const stated = rules.furtherStated(honest, limit)
        if (stated !== null) writeLimit(written, limit, stated, nowMs)
      }
      return written
    },
  }
}

/** What a call, or each call of a batch, counts. */
function unitsIn({ request }: RequestState, units: NonNullable<FurtherLimit['units']>): number {
  const body = parseUncut(request.body)
  const methods = (Array.isArray(body) ? body : [body]).map(each => plainText(toObject(each)?.method))
  return methods.reduce((sum, method) => sum + unitsOf(units, method), 0)
}

function writeLimit(
  headers: Record<string, string>,
  { at, name, counts: unit, windowMs }: FurtherLimit,
  { limit, remaining, resetMs }: FurtherStatement,
  nowMs: number,
): void {
  const now = { nowMs, windowMs }
  const values = { limit, remaining, reset: resetMs }
  /** The items of this limit, by their header. */
  const items = new Map<string, string>()
  for (const part of limitParts) {
    const statement = at[part]
    if (statement === null) continue
    const { header, form, member } = statement
    const text = (limitForms[form] as LimitForm).write(values[part], now)
    if (member === null) headers[header] = text
    else items.set(header, withMember(items.get(header), member, text, now, { name, unit }))
  }
  for (const [header, item] of items) headers[header] = headers[header] ? `${headers[header]}, ${item}` : item
}
