import type { Contract } from '../../contract/contract.ts'
import { limitHeadersOf } from '../../contract/limit-headers/limit-headers.ts'
import { statedRequests, statedTokens } from '../../observation/limit-scope.ts'
import type { Observation, Sink } from '../../observation/observation.ts'
import { applicableLimit, isProbeRequest, requestTraits } from '../../observation/requests/request.ts'
import { authenticatedCall, isAbuseBlock, isReplayed } from '../../observation/response.ts'
import type { LedgerAmounts } from '../audits/audit.ts'
import { chargeOf } from '../audits/ledger/charge.ts'
import { expectedCharge } from '../audits/ledger/prices.ts'
import { priceListOf } from '../checks/price-list.ts'
import { claimedCredits } from '../checks/rpc-credits.ts'
import { addCount, eachBy, getOrAdd, keep, type MergeRules, mergeFields, sumBigint } from '../merge.ts'

/** The charges of one call on one network (`none`: it has no network), in pico-USD and credits. */
type ChargeGauge = LedgerAmounts & { readonly call: string; readonly network: string }

/** The balance that the latest response states, as it was before its request; null: not stated. */
type BalanceGauge = { readonly caller: string; readonly usd: number | null; readonly diem: number | null }

/** The remaining usage that the latest response states; null: not stated. */
type RemainingGauge = {
  readonly caller: string
  readonly scope: string
  readonly tier: string
  readonly requests: number | null
  readonly tokens: number | null
}

/**
 * A fold for live views: totals of the report, by call and by caller. It stores headers as received and parses them only
 * for a snapshot. Memory is bounded by the calls and callers of the plan.
 */
type Gauges = GaugeViews & { readonly add: Sink; readonly snapshot: () => GaugeSnapshot }

/** The values of the gauges, as plain data. */
export type GaugeSnapshot = { readonly [Name in keyof GaugeViews]: ReturnType<GaugeViews[Name]> }

/** Merges gauges that share no caller. */
export function mergeGauges(parts: readonly GaugeSnapshot[]): GaugeSnapshot {
  const charges = new Map<string, ChargeGauge>()
  for (const gauge of parts.flatMap(part => part.charges)) {
    const key = `${gauge.call} ${gauge.network}`
    charges.set(key, mergeFields(charges.get(key) ?? noCharges(gauge.call, gauge.network), gauge, chargeRules))
  }
  return {
    charges: [...charges.values()],
    balances: parts.flatMap(part => part.balances),
    remaining: parts.flatMap(part => part.remaining),
    blocks: new Map(parts.flatMap(part => [...part.blocks])),
  }
}

const chargeRules: MergeRules<ChargeGauge> = {
  call: keep,
  network: keep,
  ...eachBy(sumBigint, ['expectedCredits', 'claimedCredits', 'expectedPicoUsd', 'claimedPicoUsd']),
}

const noCharges = (call: string, network: string): ChargeSums => ({
  call,
  network,
  expectedCredits: 0n,
  claimedCredits: 0n,
  expectedPicoUsd: 0n,
  claimedPicoUsd: 0n,
})

export type GaugeViews = {
  readonly charges: () => readonly ChargeGauge[]
  readonly balances: () => readonly BalanceGauge[]
  readonly remaining: () => readonly RemainingGauge[]
  /** Responses of the abuse block, by caller. */
  readonly blocks: () => ReadonlyMap<string, number>
}

type LatestHeaders = { shownMs: number; headers: Readonly<Record<string, string>> }
type LatestOfLimit = LatestHeaders & { observation: Observation }
type ChargeSums = { -readonly [Name in keyof ChargeGauge]: ChargeGauge[Name] }

export function createGauges(contract: Contract): Gauges {
  const { usdHeader, diemHeader } = priceListOf(contract)
  const charges = new Map<string, Map<string, ChargeSums>>()
  const balances = new Map<string, LatestHeaders>()
  const limits = new Map<string, Map<string, LatestOfLimit>>()
  const blocks = new Map<string, number>()

  function sumsOf(call: string, network: string): ChargeSums {
    const ofCall = getOrAdd(charges, call, () => new Map<string, ChargeSums>())
    return getOrAdd(ofCall, network, () => noCharges(call, network))
  }

  function addCharge(observation: Observation) {
    const { request, response, call } = observation
    const { pricing, subject } = requestTraits(request)
    const by = pricing(request)
    if (by !== 'tokens' && by !== 'credits' && !isProbeRequest(request)) return
    const sums = sumsOf(call, by === 'credits' ? subject(request) : 'none')
    const expected = expectedCharge(observation, contract)
    if (expected !== null) {
      sums.expectedCredits += expected.credits
      sums.expectedPicoUsd += expected.usd
    }
    const charge = chargeOf(observation, contract)
    if (charge?.kind === 'charged') sums.claimedPicoUsd += charge.said
    if (by === 'credits' && response !== null && !isReplayed(observation, contract))
      sums.claimedCredits += claimedCredits(response, contract) ?? 0n
  }

  /** Observations arrive in the order in which they ended; the response that the target wrote last counts. */
  function addLatest(observation: Observation, shownMs: number) {
    const { caller, request, response } = observation
    if (response === null) return
    const { headers } = response
    if (headers[usdHeader] !== undefined && authenticatedCall(observation) !== null) {
      const known = balances.get(caller)
      if (known === undefined) balances.set(caller, { shownMs, headers })
      else if (known.shownMs <= shownMs) Object.assign(known, { shownMs, headers })
    }
    // The judges decide which limit a probe uses.
    const at = limitHeadersOf(contract.limits).requests.remaining?.header ?? ''
    if (headers[at] === undefined || isProbeRequest(request)) return
    const ofCaller = getOrAdd(limits, caller, () => new Map<string, LatestOfLimit>())
    const { limiter, subject } = requestTraits(request)
    const key = limiter === 'chat' ? subject(request) : request.kind
    const known = ofCaller.get(key)
    if (known === undefined || known.shownMs <= shownMs) ofCaller.set(key, { shownMs, headers, observation })
  }

  const views: GaugeViews = {
    charges: () => [...charges.values()].flatMap(ofCall => [...ofCall.values()]),
    balances: () =>
      [...balances].map(([caller, { headers }]) => ({
        caller,
        usd: numberIn(headers[usdHeader]),
        diem: numberIn(headers[diemHeader]),
      })),
    remaining: () =>
      [...limits].flatMap(([caller, ofCaller]) =>
        [...ofCaller.values()].flatMap(({ headers, observation }) => {
          const scope = applicableLimit(observation, contract)
          if (scope === null) return []
          const requests = statedRequests(headers, contract).remaining
          const tokens = statedTokens(headers, contract).remaining
          return [{ caller, scope: scope.name, tier: scope.tier, requests, tokens }]
        }),
      ),
    blocks: () => blocks,
  }
  return {
    ...views,
    snapshot: () => ({
      charges: views.charges(),
      balances: views.balances(),
      remaining: views.remaining(),
      blocks: views.blocks(),
    }),
    add: observation => {
      addCharge(observation)
      const { response, headersMs, endMs, caller } = observation
      if (response === null) return
      addLatest(observation, headersMs ?? endMs ?? 0)
      if (isAbuseBlock(response, contract)) addCount(blocks, caller)
    },
  }
}

const decimal = /^-?\d+(\.\d+)?$/

const numberIn = (text: string | undefined): number | null =>
  text !== undefined && decimal.test(text) ? Number(text) : null
