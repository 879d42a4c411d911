import type { Contract, Model } from '../contract/contract.ts'
import { formatPico } from '../lib/money.ts'
import type { Account } from './account.ts'
import type { Behaviour } from './behavior.ts'
import type { ScopeLimits } from './limiter.ts'
import { json, type Reply, type Visit } from './message.ts'

/** Everything authenticated that is neither inference nor RPC, and requests that name no known model. */
export const controlLimits: ScopeLimits = { requests: 500, tokens: null }
/** Of each deprecated model. */
export const retirementDate = '2027-06-30'
const millisecondsPerDay = 86_400_000
export function networkList({ rpc }: Contract, behaviour: Behaviour): (visit: Visit) => Reply {
  const payload = behaviour.networks(Object.keys(rpc.networks).sort())
  return visit => json(visit, payload)
}
export function modelList({ models }: Contract, behaviour: Behaviour): (visit: Visit) => Reply {
  const payload = behaviour.models(
    models.map(({ id, name, maxCompletionTokens, logprobs, usdPerMillion, tier, lifecycle }) => ({
      id,
      object: 'model',
      type: 'text',
      owned_by: 'reference',
      created: 1_767_225_600,
      model_spec: {
        name,
        maxCompletionTokens,
        availableContextTokens: 131_072,
        offline: false,
        traits: [],
        capabilities: { supportsReasoning: tier === 'L', supportsLogProbs: logprobs === true, supportsVision: false },
        ...(usdPerMillion === null ? {} : { pricing: pricing(usdPerMillion) }),
        ...(lifecycle === 'deprecated' ? { deprecation: { date: retirementDate } } : {}),
      },
    })),
  )
  return visit => json(visit, payload)
}
function pricing({ input, output, cacheInput, cacheWrite }: NonNullable<Model['usdPerMillion']>) {
  const priced = (name: string, price: string | null) =>
    price === null ? {} : { [name]: { usd: Number(price), diem: Number(price) } }
  return {
    ...priced('input', input),
    ...priced('output', output),
    ...priced('cache_input', cacheInput),
    ...priced('cache_write', cacheWrite),
  }
}
/** What the caller may do in a minute, and what is left of its balance. */
export function rateLimits(contract: Contract, behaviour: Behaviour): (visit: Visit, account: Account) => Reply {
  return (visit, account) => {
    const tiers = contract.accounts[account.tier]
    const limits = contract.models.map(({ id, tier }) => ({
      apiModelId: id,
      rateLimits: [
        { amount: tiers[tier].requestsPerMinute, type: 'RPM' as const },
        { amount: tiers[tier].tokensPerMinute, type: 'TPM' as const },
      ],
    }))
    const nextDay = Math.floor(visit.arrivedMs / millisecondsPerDay + 1) * millisecondsPerDay
    return json(visit, {
      data: {
        accessPermitted: true,
        apiTier: { id: account.tier, isCharged: true },
        balances: { USD: Number(formatPico(account.picoUsd)), DIEM: Number(formatPico(account.picoDiem)) },
        keyExpiration: null,
        nextEpochBegins: new Date(nextDay).toISOString(),
        rateLimits: behaviour.rateLimits(limits),
      },
    })
  }
}
/** The last refusals of the account, the latest first. */
export function rateLimitLogs(behaviour: Behaviour): (visit: Visit, account: Account) => Reply {
  return (visit, { refusals, name, tier }) => {
    const rows = refusals.toReversed().map(({ modelId, limit, atMs }) => ({
      apiKeyId: `key-of-${name}`,
      modelId,
      rateLimitTier: tier,
      rateLimitType: limit,
      timestamp: new Date(atMs).toISOString(),
    }))
    return json(visit, behaviour.limitLogs(rows))
  }
}
