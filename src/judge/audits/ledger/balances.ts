import { ownBalance, pointedValue } from '../../../contract/billing/billing-terms.ts'
import type { Contract } from '../../../contract/contract.ts'
import { balanceRemainingHeader } from '../../../contract/headers.ts'
import { sourceOfValue } from '../../../contract/sources.ts'
import { formatPico, nearestPico } from '../../../lib/money.ts'
import type { Observation } from '../../../observation/observation.ts'
import { isWalletBalance } from '../../../observation/requests/wallets.ts'
import { authenticatedCall } from '../../../observation/response.ts'
import { priceListOf } from '../../checks/price-list.ts'
import { type Balances, type ChargeBounds, isCharge } from './charge.ts'
import type { ShownCredit } from './shown.ts'

/** Reads the balances of one account from its responses. */
export type BalanceReader = {
  /** The balances before a request, as its response shows them; null if one of them is missing. */
  readonly balancesOf: (
    observation: Observation,
    charge: ChargeBounds | null,
    shown: readonly ShownCredit[],
  ) => Balances | null
  /** The last digit of the balances so far, in pico-USD. */
  readonly lastDigit: () => bigint
}

/**
 * The balances of a key stand in two headers. Those of a wallet stand there or, where the target promises no such headers,
 * in the places that the document gives wallets: the balance endpoint and `X-Balance-Remaining`. It is open whether these
 * places include DIEM, so only the kind of place that came first counts.
 */
export function createBalanceReader(contract: Contract, isWallet: boolean): BalanceReader {
  const { usdHeader, diemHeader, balanceResolution } = priceListOf(contract)
  const isStated = sourceOfValue(contract, 'billing.balanceResolutionUsd') === 'profile'
  const digits = createBalanceDigits(balanceResolution)
  const finest = createFinestDigit(balanceResolution)
  let source: 'headers' | 'places' | null = null
  const { place } = ownBalance(contract.billing)

  /** The credits at the place of the profile, before the request. */
  function ownBalanceOf(observation: Observation, charge: ChargeBounds | null): Balances | null {
    const shown = statedCredits(observation, contract)
    const amount = shown === null ? null : nearestPico(shown.text)
    if (shown === null || amount === null) return null
    digits.add('own', shown.text)
    const left = place?.counts === 'spent' ? -amount : amount
    if (!shown.isAfter) return { usd: left, diem: 0n }
    // A stream begins before its charge is known.
    if (charge === null || observation.response?.body.kind === 'stream') return null
    if (charge.max === 0n) return { usd: left, diem: 0n }
    return isCharge(charge) ? { usd: left + charge.said, diem: 0n } : null
  }

  return {
    balancesOf: (observation, charge, shown) => {
      const headers = authenticatedCall(observation)?.headers
      const [shownUsd, shownDiem] = [headers?.[usdHeader], headers?.[diemHeader]]
      digits.add(usdHeader, shownUsd)
      digits.add(diemHeader, shownDiem)
      const [usd, diem] = [nearestPico(shownUsd ?? ''), nearestPico(shownDiem ?? '')]
      if (!isWallet && place !== null) return ownBalanceOf(observation, charge)
      if (!isWallet) return usd === null || diem === null ? null : { usd, diem }
      const isFixed = !contract.billing.balanceHeaders
      if (usd !== null && !(isFixed && source === 'places')) {
        source = 'headers'
        return { usd, diem: diem ?? 0n }
      }
      if (isFixed && source === 'headers') return null
      const before = balanceIn(observation, headers?.[balanceRemainingHeader] ?? '', charge, shown, isFixed)
      if (before === null) return null
      source = 'places'
      if (isFixed) finest.add(before.shown)
      return { usd: before.picoUsd, diem: 0n }
    },
    lastDigit: () => {
      const fine = finest.last()
      if (isStated) return balanceResolution
      return fine !== null && fine > digits.last() ? fine : digits.last()
    },
  }
}

/** The credits that a response states at the place of the profile; null: none. */
function statedCredits(
  observation: Observation,
  contract: Contract,
): { readonly text: string; readonly isAfter: boolean } | null {
  const { header, pointer, when } = contract.billing.balance
  const { request, response } = observation
  if (request.kind === 'balance') {
    const value =
      response?.status === 200 && response.body.kind === 'json' ? pointedValue(response.body.value, pointer) : null
    return typeof value === 'number' || typeof value === 'string' ? { text: String(value), isAfter: false } : null
  }
  const text = header === null ? undefined : authenticatedCall(observation)?.headers[header.toLowerCase()]
  return text === undefined ? null : { text, isAfter: when === 'after' }
}

/** The credit of a wallet before a request, from another place than the headers of balances. */
function balanceIn(
  { request, response }: Observation,
  remainingText: string,
  charge: ChargeBounds | null,
  shown: readonly ShownCredit[],
  isEndpointTaken: boolean,
): { readonly picoUsd: bigint; readonly shown: string } | null {
  const [credit] = shown
  if (isEndpointTaken && isWalletBalance(request) && credit !== undefined)
    return { picoUsd: credit.picoUsd, shown: formatPico(credit.picoUsd) }
  const remaining = nearestPico(remainingText)
  const isWhole = charge?.kind === 'charged' && response?.body.kind !== 'stream'
  return remaining === null || !isWhole ? null : { picoUsd: remaining + charge.said, shown: remainingText }
}

/** The digits of a pico-USD after the point. */
const picoDigits = 12

/** The unit of this many digits after the point, in pico-USD. */
const unitOf = (decimals: number): bigint => 10n ** BigInt(Math.max(0, picoDigits - decimals))

/** A place may show cents, and a whole number of dollars does not tell whether it does. */
const fewestDecimals = 2

/** The last digit of amounts that may leave zeros out: the last digit of the amount with the most digits. */
function createFinestDigit(smallest: bigint): {
  readonly add: (shown: string) => void
  /** In pico-USD; null: there was no amount. */
  readonly last: () => bigint | null
} {
  let most: number | null = null
  return {
    add: shown => {
      most = Math.max(most ?? fewestDecimals, decimalsIn(shown))
    },
    last: () => {
      if (most === null) return null
      const unit = unitOf(most)
      return unit > smallest ? unit : smallest
    },
  }
}

type BalanceDigits = {
  /** Adds a balance, as the header `name` shows it. */
  readonly add: (name: string, shown: string | undefined) => void
  /** The last digit, in pico-USD. */
  readonly last: () => bigint
}

/**
 * No balance tells more than its last digit. If the number of digits varies, zeros are left out, and the last digit is that
 * of the balance with the most digits. Whole numbers alone do not tell: then it is `smallest`. Nor does 0.0, as many
 * languages write a zero.
 */
function createBalanceDigits(smallest: bigint): BalanceDigits {
  /** By header: the most digits after the point. */
  const most = new Map<string, number>()
  let vary = false
  let last = smallest
  return {
    add: (name, shown) => {
      if (shown === undefined || shown === '0.0') return
      const seen = decimalsIn(shown)
      const known = most.get(name)
      if (known === seen) return
      vary ||= known !== undefined
      most.set(name, Math.max(known ?? 0, seen))
      const digits = [...most.values()].filter(count => count > 0)
      const coarse = digits.length === 0 ? 0n : unitOf(vary ? Math.max(...digits) : Math.min(...digits))
      last = coarse > smallest ? coarse : smallest
    },
    last: () => last,
  }
}

/** The digits after the point of a decimal. */
function decimalsIn(shown: string): number {
  const point = shown.indexOf('.')
  if (point < 0) return 0
  const next = shown.indexOf('.', point + 1)
  return (next < 0 ? shown.length : next) - point - 1
}
