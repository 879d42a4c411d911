import { showsBalances } from '../../../contract/billing/billing-terms.ts'
import type { Contract } from '../../../contract/contract.ts'
import { formatPico } from '../../../lib/money.ts'
import type { Observation } from '../../../observation/observation.ts'
import { isProbeRequest, requestTraits } from '../../../observation/requests/request.ts'
import { isRpc } from '../../../observation/requests/rpc.ts'
import { priceListOf, statedBase, statedTier } from '../../checks/price-list.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { getOrAdd } from '../../merge.ts'
import type { Audit, AuditContext } from '../audit.ts'
import { createOverlapBounds, type RequestInterval, type SumBounds } from '../overlap-bounds.ts'
import { type BalanceReader, createBalanceReader } from './balances.ts'
import { chargeOf } from './charge.ts'
import { requestPrice } from './prices.ts'

const atEdge = ['billing.overdraft', 'billing.covered'] as const
const openTerms: Obstacle = {
  text: 'the profile leaves open what requests at once get of a balance (billing.atOnce)',
  clause: null,
}

/** A finding cites at most this many of the requests that were charged last. */
const maxCited = 20

type Spent = {
  /** The maximum that requests may have been charged, in pico-USD, and that of one of them. */
  readonly most: bigint
  readonly largest: bigint
  /** Requests with an unknown charge. */
  readonly unknown: number
}

/** One request at the edge of a balance. */
type EdgeEntry = RequestInterval & {
  readonly id: number
  readonly spent: Spent
  /** In pico-USD, before the request; null: its response shows none. */
  readonly balance: bigint | null
  /** The maximum price of a request that was refused for want of credit; null: it was not. */
  readonly refused: bigint | null
}

const nothing: Spent = { most: 0n, largest: 0n, unknown: 0 }

const plus = (sum: Spent, { spent }: Pick<EdgeEntry, 'spent'>): Spent => ({
  most: sum.most + spent.most,
  largest: spent.largest > sum.largest ? spent.largest : sum.largest,
  unknown: sum.unknown + spent.unknown,
})

/**
 * Whether requests at the edge of a balance get what some serial order allows. Checked one after the other, at most the
 * last of them overdraws the balance, and none is refused that the balance covers. Wallets have terms of their own.
 */
export function createOverdraftAudit(
  { contract, shared }: Pick<AuditContext, 'contract' | 'shared'>,
  reporter: ClauseReporter<'overdraft'>,
): Audit {
  const { settleMs, balance, atOnce } = contract.billing
  const isJudged = !shared && showsBalances(contract.billing)
  const accounts = new Map<string, ReturnType<typeof accountEdge>>()
  return {
    add: (observation, watermarkMs) => {
      const { caller, key, sentMs, headersMs, endMs, id } = observation
      if (!isJudged || observation.chain !== undefined || sentMs === null || endMs === null) return
      if (atOnce === 'open') return noteEdge(observation)
      const account = balance.scope === 'key' ? `${caller} ${key}` : caller
      const { reader, bounds } = getOrAdd(accounts, account, () => accountEdge(createBalanceReader(contract, false)))
      const charge = chargeOf(observation, contract)
      const most = charge?.max ?? 0n
      const entry: EdgeEntry = {
        ...{ id, sentMs, shownMs: headersMs ?? endMs, settledMs: endMs + settleMs },
        spent: { most, largest: most, unknown: charge === null ? 1 : 0 },
        balance: reader.balancesOf(observation, charge, [])?.usd ?? null,
        refused: refusedPriceOf(observation, contract),
      }
      bounds.add(entry, watermarkMs)
    },
    finish: isComplete => {
      for (const account of isComplete ? accounts.values() : []) account.finish()
    },
  }

  function noteEdge({ outcome, request }: Observation) {
    if (outcome.kind !== 'answered' || outcome.status !== 402 || isProbeRequest(request)) return
    for (const clause of atEdge) reporter.unjudged(clause, openTerms)
  }

  function accountEdge(reader: BalanceReader) {
    let lowest: { readonly balance: bigint; readonly largest: bigint; readonly ids: readonly number[] } | null = null
    let charged: number[] = []

    function judge(entry: EdgeEntry, view: SumBounds<Spent>) {
      const { id, balance: shown, refused, spent } = entry
      if (shown !== null && view.possible.unknown === 0) {
        const { largest } = view.possible
        // Far from the edge, nothing is to be seen.
        if (shown < largest && (lowest === null || shown < lowest.balance))
          lowest = { balance: shown, largest, ids: [id, ...charged] }
        if (refused !== null) judgeRefusal(id, shown, refused, view)
      }
      if (spent.most > 0n) charged = [...charged, id].slice(-maxCited)
    }

    function judgeRefusal(id: number, shown: bigint, price: bigint, { certain, possible }: SumBounds<Spent>) {
      const held = possible.most - certain.most
      if (shown - held >= price + reader.lastDigit()) {
        const others = held === 0n ? '' : `, at most ${formatPico(held)} of them for other requests`
        const message = `a request of at most ${formatPico(price)} USD gets a 402, but the balance is ${formatPico(shown)} USD${others}`
        reporter.fail('billing.covered', message, [id])
      } else if (shown < price) reporter.pass('billing.covered')
    }

    const bounds = createOverlapBounds(nothing, plus, judge)
    return {
      reader,
      bounds,
      finish: () => {
        bounds.finish()
        if (lowest === null) return
        const { balance: least, largest, ids } = lowest
        if (least >= -largest - reader.lastDigit()) return reporter.pass('billing.overdraft')
        const message = `the balance is ${formatPico(least)} USD, expected at least -${formatPico(largest)}, since one request costs no more`
        reporter.fail('billing.overdraft', message, ids)
      },
    }
  }
}

/** The maximum price of a request that got a 402; null: it got none, or for another reason. */
function refusedPriceOf({ request, outcome }: Observation, contract: Contract): bigint | null {
  if (outcome.kind !== 'answered' || outcome.status !== 402 || isProbeRequest(request)) return null
  if (!isRpc(request))
    return requestTraits(request).pricing(request) === 'tokens' ? requestPrice(request).max(request, contract) : null
  const { network, items } = request
  const base = statedBase(contract, network)
  const tiers = items.map(({ method }) => statedTier(contract, network, method))
  const credits = tiers.map(tier => (tier === null || base === null ? null : base * contract.rpc.multipliers[tier]))
  if (credits.includes(null)) return requestPrice(request).max(request, contract)
  const total = credits.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  return BigInt(total) * priceListOf(contract).picoUsdPerCredit
}
