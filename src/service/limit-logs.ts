import type { Account } from './account.ts'
import type { Behaviour } from './behaviour.ts'
import type { Reply } from './message.ts'
import { json, type Visit } from './visit.ts'

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
