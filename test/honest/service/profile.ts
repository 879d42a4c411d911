import { stringify } from 'yaml'
import { documentedSettings, type Settings } from './accounts.ts'
import { catalogOf } from './catalog.ts'
import type { Variant } from './variant.ts'

/** A decimal of dollars. */
const dollars = (nanodollars: number): string => (nanodollars / 1e9).toFixed(12).replace(/\.?0+$/, '')

const perMillion = (nanodollars: number): string => `${nanodollars / 1000}`

/**
 * The profile that a user would write from this company's own price list. It holds nothing else, except the times that a
 * test shortened.
 */
export function profileOf(variant: Variant, changes: Partial<Settings> = {}): string {
  const settings = { ...documentedSettings, ...changes }
  const { models, chains, lookup, credit } = catalogOf(variant, settings.tokensOfM)
  return stringify({
    name: 'honest',
    models: models.map(({ id, name, tier, longest, hasLogprobs, forPayers, retires, prices }) => ({
      id,
      name,
      tier,
      payingOnly: forPayers,
      maxCompletionTokens: longest,
      logprobs: hasLogprobs,
      lifecycle: retires === null ? 'current' : 'deprecated',
      usdPerMillion: {
        input: perMillion(prices.input),
        output: perMillion(prices.output),
        cacheInput: perMillion(prices.cached),
        cacheWrite: perMillion(prices.written),
      },
    })),
    rpc: {
      usdPerCredit: dollars(credit),
      networks: Object.fromEntries(chains.map(({ slug, family, base }) => [slug, { baseCredits: base, family }])),
    },
    chat: { search: { usdPerLookup: dollars(lookup) } },
    ...shortened(changes),
  })
}

/** The times of the document that a test shortened, as a profile. Empty if there are none. */
export function shortened({ windowMs, failureWindowMs, blockMs, keptMs, tokensOfM }: Partial<Settings>): object {
  return {
    ...(windowMs !== undefined && { limits: { windowMs } }),
    ...(tokensOfM != null && { accounts: { default: { M: { tokensPerMinute: tokensOfM } } } }),
    ...(keptMs !== undefined && { idempotency: { ttlMs: keptMs } }),
    ...(blockMs !== undefined && { abuse: { windowMs: failureWindowMs ?? blockMs, blockMs } }),
  }
}
