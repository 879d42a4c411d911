import type { Contract, Model } from '../contract/contract.ts'
import { formatPico } from '../lib/money.ts'
import type { Account } from './account.ts'
import type { Behavior } from './behavior.ts'
import { jsonReply, type Reply, type RequestState } from './message.ts'

/** The retirement date of every deprecated model. */
export const retirementDate = '2027-06-30'

const millisecondsPerDay = 86_400_000

export function networkList({ rpc }: Contract, behavior: Behavior): (state: RequestState) => Reply {
  const payload = behavior.networks(Object.keys(rpc.networks).sort())
  return state => jsonReply(state, payload)
}

export function modelList({ models }: Contract, behavior: Behavior): (state: RequestState) => Reply {
  const payload = behavior.models(
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
  return state => jsonReply(state, payload)
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

/** The limits of the account and its balance. */
export function rateLimits(contract: Contract, behavior: Behavior): (state: RequestState, account: Account) => Reply {
  return (state, account) => {
    const tiers = contract.accounts[account.tier]
    const limits = contract.models.flatMap(({ id, tier }) =>
      tier === null
        ? []
        : {
            apiModelId: id,
            rateLimits: [
              { amount: tiers[tier].requestsPerMinute, type: 'RPM' as const },
              { amount: tiers[tier].tokensPerMinute, type: 'TPM' as const },
            ],
          },
    )
    const nextDay = Math.floor(state.arrivedMs / millisecondsPerDay + 1) * millisecondsPerDay
    return jsonReply(state, {
      data: {
        accessPermitted: true,
        apiTier: { id: account.tier, isCharged: true },
        balances: { USD: Number(formatPico(account.picoUsd)), DIEM: Number(formatPico(account.picoDiem)) },
        keyExpiration: null,
        nextEpochBegins: new Date(nextDay).toISOString(),
        rateLimits: behavior.rateLimits(limits),
      },
    })
  }
}

/** The last rejected requests of the account, newest first. */
export function rateLimitLogs(behavior: Behavior): (state: RequestState, account: Account) => Reply {
  return (state, { rejections, name, tier }) => {
    const rows = rejections.toReversed().map(({ modelId, limit, atMs }) => ({
      apiKeyId: `key-of-${name}`,
      modelId,
      rateLimitTier: tier,
      rateLimitType: limit,
      timestamp: new Date(atMs).toISOString(),
    }))
    return jsonReply(state, behavior.limitLogs(rows))
  }
}
