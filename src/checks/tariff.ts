import type { Contract } from '../contract/contract.ts'
import { pico } from '../lib/money.ts'

/** What the contract says about money, as the integers that judges reckon with. */
export type Tariff = {
  readonly picoUsdPerCredit: bigint
  /** The last digit of an RPC cost, in pico-USD. */
  readonly costGrain: bigint
  /** The smallest difference that a balance shows, in pico-USD. */
  readonly balanceGrain: bigint
  /** By model: pico-USD for a million tokens. A model without a known price is missing. */
  readonly tokenPrices: ReadonlyMap<string, { readonly input: bigint; readonly output: bigint }>
  readonly models: ReadonlySet<string>
  readonly creditsHeader: string
  readonly costHeader: string
  readonly usdHeader: string
  readonly diemHeader: string
}

const known = new WeakMap<Contract, Tariff>()

/** Made once for each contract, because every answer is judged by it. */
export function tariffOf(contract: Contract): Tariff {
  const found = known.get(contract)
  if (found !== undefined) return found
  const tariff = makeTariff(contract)
  known.set(contract, tariff)
  return tariff
}

function makeTariff({ rpc, billing, models, headerPrefix }: Contract): Tariff {
  const tokenPrices = models.flatMap(({ id, usdPerMillion }) =>
    usdPerMillion === null
      ? []
      : [[id, { input: pico(usdPerMillion.input), output: pico(usdPerMillion.output) }] as const],
  )
  return {
    picoUsdPerCredit: pico(rpc.usdPerCredit),
    costGrain: 10n ** BigInt(12 - rpc.costDecimals),
    balanceGrain: pico(billing.balanceResolutionUsd),
    tokenPrices: new Map(tokenPrices),
    models: new Set(models.map(({ id }) => id)),
    creditsHeader: `${headerPrefix}rpc-credits`,
    costHeader: `${headerPrefix}rpc-cost-usd`,
    usdHeader: `${headerPrefix}balance-usd`,
    diemHeader: `${headerPrefix}balance-diem`,
  }
}

/** `amount` × a relative tolerance, such as 0.005. */
export const share = (amount: bigint, tolerance: number): bigint =>
  (amount * BigInt(Math.round(tolerance * 1e9))) / 1_000_000_000n

/** What tokens cost by the list, in pico-USD; null where no price is known. */
export function listPrice(tariff: Tariff, model: string, prompt: number, completion: number): bigint | null {
  const price = tariff.tokenPrices.get(model)
  return price === undefined ? null : (BigInt(prompt) * price.input + BigInt(completion) * price.output) / 1_000_000n
}
