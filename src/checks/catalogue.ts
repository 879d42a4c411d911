import { asObject, jsonObject } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'

/** The lists of networks, of models and of the caller's rate limits. */
export const checkCatalogue: Check<'catalogue'> = ({ answer, asked, seq, accountTier }, contract, say) => {
  if (answer === null || answer.status >= 500 || answer.status === 429 || answer.status === 401) return
  const body = answer.status === 200 ? jsonObject(answer) : null

  if (asked.kind === 'networks') {
    const slugs = body?.networks
    if (!isTextList(slugs))
      return say.broken('catalogue.networks', `networks is ${quote(slugs)}, expected slugs`, [seq])
    const unordered = slugs.findIndex((slug, index) => index > 0 && slug <= (slugs[index - 1] ?? ''))
    if (unordered < 0) say.kept('catalogue.networks')
    else say.broken('catalogue.networks', `${slugs[unordered]} stands behind ${slugs[unordered - 1]}`, [seq])
  }

  if (asked.kind === 'models') {
    const list = body?.data
    const nameless = Array.isArray(list) ? list.findIndex(model => typeof asObject(model)?.id !== 'string') : 0
    if (body?.object === 'list' && nameless < 0) say.kept('catalogue.models')
    else say.broken('catalogue.models', `object is ${quote(body?.object)}, data is ${quote(list)}`, [seq])
  }

  if (asked.kind === 'rate-limits') {
    const wrong = wrongLimits(asObject(body?.data)?.rateLimits)
    if (wrong === null) say.kept('catalogue.rate-limits')
    else say.broken('catalogue.rate-limits', wrong, [seq])
  }

  function wrongLimits(entries: unknown): string | null {
    if (!Array.isArray(entries) || entries.length === 0) return `rateLimits is ${quote(entries)}, expected a list`
    for (const entry of entries.map(asObject)) {
      const model = contract.models.find(known => known.id === entry?.apiModelId)
      const limits = entry?.rateLimits
      if (!Array.isArray(limits)) return `an entry of rateLimits is ${quote(entry)}`
      if (model === undefined) continue
      const tier = contract.accounts[accountTier][model.tier]
      const expected: Readonly<Record<string, number>> = { RPM: tier.requestsPerMinute, TPM: tier.tokensPerMinute }
      for (const limit of limits.map(asObject)) {
        const amount = expected[String(limit?.type)]
        if (amount !== undefined && limit?.amount !== amount)
          return `${model.id} has ${quote(limit)}, expected ${amount} (${accountTier} ${model.tier})`
      }
    }
    return null
  }
}

const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string' && item !== '')
