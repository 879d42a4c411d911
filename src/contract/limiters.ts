import type { ClauseId } from './clauses.ts'
import type { AccountTier, Contract, ModelTier, ResourceLimit } from './contract.ts'

/** What a request counts against: a limiter, and what it counts by. */
export type Draw =
  | { readonly limiter: 'chat'; readonly model: string; readonly modelTier: ModelTier | null }
  | { readonly limiter: 'rpc'; readonly network: string | null }
  | { readonly limiter: 'resources'; readonly limit: ResourceLimit; readonly resource: string }
  | { readonly limiter: 'control'; readonly endpoint: string | null }

export type LimiterName = Draw['limiter']
type DrawOn<Name extends LimiterName> = Draw & { readonly limiter: Name }

/** The clauses about a header that states a limit. */
type LimitClause = ClauseId & ('limit.requests.limit' | 'limit.resources' | 'limit.tokens.limit')

/** What the contract states about one number of a limiter. */
type StatedNumber<Of> = {
  /** The key of the contract that states it. */
  readonly key: (draw: Of, accountTier: AccountTier) => string
  /** The number per minute; null if the contract states none. */
  readonly perMinute: (draw: Of, accountTier: AccountTier, contract: Contract) => number | null
  /** The target promises the number if it promises one of these. The first is about the header with the number. */
  readonly clauses: readonly [LimitClause, ...ClauseId[]]
}

/** All that is known about a limiter. Limits of one limiter have the same scope. */
type LimiterRow<Of> = {
  /** The name of a limit in plans and reports. */
  readonly name: (draw: Of) => string
  /** Its name in the log of rejected requests; null: open. */
  readonly loggedAs: ((draw: Of, contract: Contract) => string) | null
  /** null: the contract states none. */
  readonly requests: StatedNumber<Of> | null
  readonly tokens: StatedNumber<Of> | null
  /** What the reference service admits per minute if the contract states no number. */
  readonly unstated: number
  /** The key of `limits` that states the scope; null: it is always open. */
  readonly scope: 'chatScope' | 'rpcScope' | 'resourceScope' | null
  /**
   * The counter of a request in each scope that the limits may have, the smallest scope last; null: it is open which.
   * Requests of one caller and one counter share a window.
   */
  readonly counters: (draw: Of, contract: Contract) => Readonly<Record<string, string | null>>
  /** The scope that most services have. */
  readonly usualScope: 'largest' | 'smallest'
}

const ofChat = (
  field: 'requestsPerMinute' | 'tokensPerMinute',
  clauses: StatedNumber<unknown>['clauses'],
): StatedNumber<DrawOn<'chat'>> => ({
  key: ({ modelTier }, accountTier) => `accounts.${accountTier}.${modelTier}.${field}`,
  perMinute: ({ modelTier }, accountTier, { accounts }) =>
    modelTier === null ? null : accounts[accountTier][modelTier][field],
  clauses,
})

const limiters: { readonly [Name in LimiterName]: LimiterRow<DrawOn<Name>> } = {
  chat: {
    name: ({ model }) => `chat:${model}`,
    loggedAs: ({ model }) => model,
    requests: ofChat('requestsPerMinute', ['limit.requests.limit', 'limit.requests.enforced']),
    tokens: ofChat('tokensPerMinute', ['limit.tokens.limit', 'limit.tokens.enforced']),
    unstated: 500,
    scope: 'chatScope',
    counters: (draw, contract) => ({
      tier: draw.modelTier !== null && hasKnownTier(draw, contract) ? `chat:tier ${draw.modelTier}` : null,
      model: `chat:${draw.model}`,
    }),
    usualScope: 'smallest',
  },
  rpc: {
    name: () => 'rpc',
    loggedAs: (_, { limitLogs }) => limitLogs.rpcId,
    requests: {
      key: () => 'rpc.requestsPerMinute',
      perMinute: (_draw, _accountTier, { rpc }) => rpc.requestsPerMinute,
      clauses: ['limit.requests.limit', 'limit.requests.enforced'],
    },
    tokens: null,
    unstated: Number.MAX_SAFE_INTEGER,
    scope: 'rpcScope',
    counters: ({ network }) => ({ all: 'rpc', network: network && `rpc:${network}` }),
    usualScope: 'largest',
  },
  resources: {
    name: ({ limit }) => limit,
    loggedAs: null,
    requests: {
      key: ({ limit }, accountTier) => `resourceLimits.${accountTier}.${limit}`,
      perMinute: ({ limit }, accountTier, { resourceLimits }) => resourceLimits[accountTier][limit],
      clauses: ['limit.resources', 'limit.requests.enforced'],
    },
    tokens: null,
    unstated: 1_000,
    scope: 'resourceScope',
    counters: ({ limit, resource }) => ({ type: limit, resource: `${limit}:${resource}` }),
    usualScope: 'largest',
  },
  // The document states neither a limit of these requests nor which of them share it.
  control: {
    name: () => 'control',
    loggedAs: null,
    requests: null,
    tokens: null,
    unstated: 500,
    scope: null,
    counters: ({ endpoint }) => ({ all: 'control', one: endpoint && `control:${endpoint}` }),
    usualScope: 'largest',
  },
}

/** The row of the limiter that a request draws on. */
export const limiterOf = ({ limiter }: Draw): LimiterRow<Draw> => limiters[limiter] as LimiterRow<Draw>

/** Whether a limiter also counts tokens. */
export const countsTokens = (limiter: LimiterName | null | undefined): boolean =>
  limiter !== null && limiter !== undefined && limiters[limiter].tokens !== null

/** The clause about the stated limit of the requests that a limiter counts. */
export const requestsClause = (limiter: LimiterName | undefined): LimitClause =>
  (limiter && limiters[limiter].requests?.clauses[0]) ?? 'limit.requests.limit'

/** A call may ask for a tier that the target does not state. Then the limits of that tier only pace the load. */
export const hasKnownTier = (draw: Draw, { models }: Contract): boolean =>
  draw.limiter !== 'chat' || models.some(({ id, tier }) => id === draw.model && tier === draw.modelTier)

/** The counters that a request may have, that of the usual scope first, and the counter of the smallest scope. */
export function countersOf(
  draw: Draw,
  contract: Contract,
): { readonly counters: readonly (string | null)[]; readonly finest: string } {
  const { scope, counters, usualScope } = limiterOf(draw)
  const known = scope === null ? null : contract.limits[scope]
  const byScope = counters(draw, contract)
  const all = Object.values(byScope)
  const possible = known !== null ? [byScope[known] ?? null] : usualScope === 'smallest' ? all.toReversed() : all
  const [smallest] = known !== null ? possible : all.slice(-1)
  return { counters: possible, finest: smallest ?? draw.limiter }
}

/** What requests for a resource draw on, which may have no limit of its own. */
export const resourceDraw = (name: string, limit: ResourceLimit | null): Draw =>
  limit === null ? { limiter: 'control', endpoint: name } : { limiter: 'resources', limit, resource: name }

/** What requests for a list about their caller draw on. */
export const listDraw = (list: string): Draw => ({ limiter: 'control', endpoint: list })

/** What all other requests draw on. */
export const controlDraw: Draw = { limiter: 'control', endpoint: null }
