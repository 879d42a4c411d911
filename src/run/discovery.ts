import type { AccountTier, Contract } from '../contract/contract.ts'
import { notPromised } from '../contract/promises.ts'
import { type AddedSecrets, withAdditions } from '../contract/requests/additions.ts'
import { parseLimits, parseModels, parseNetworks, type Statements, withStatements } from '../contract/statements.ts'
import { systemClock } from '../lib/clock.ts'
import { parseJson } from '../lib/json.ts'
import { createMask, textsOfSecrets } from '../lib/mask/mask.ts'
import { is2xx } from '../lib/numbers.ts'
import { notDiscovered, type PublishedLimits, recordedLimits } from '../plan/limits.ts'
import type { Plan } from '../plan/plan.ts'
import { authorize, type Caller } from '../produce/callers/caller.ts'
import { asker, type Refusal, suggestTarget } from '../produce/transport/suggest-target.ts'
import { getJson, type Transport } from '../produce/transport/transport.ts'

/** What the target states about itself before a plan is made. */
export type Discovery = {
  readonly statements: Statements
  readonly limits: PublishedLimits
  /** Why a list could not be read, one sentence each. */
  readonly notes: readonly string[]
  /** A similar address that seems to be meant, if the target gave none of the lists. */
  readonly suggestedTarget: string | null
}

/** For a plan that is only printed. */
export const nothingDiscovered: Discovery = {
  statements: { models: null, networks: null, limits: null },
  limits: notDiscovered,
  notes: [],
  suggestedTarget: null,
}

/** Like `discover`, over a connection of its own. */
export async function discoverAt(
  target: string,
  callers: readonly Caller[],
  plan: Plan,
  contract: Contract,
  addedSecrets: AddedSecrets,
): Promise<Discovery> {
  const clock = systemClock()
  // Most commands reach no target, and loading the transport takes a tenth of a second.
  const { undiciTransport } = await import('../produce/transport/undici.ts')
  const transport = undiciTransport({ baseUrl: target, clock, maxConnections: 1 })
  try {
    const { refusals, ...discovery } = await discover(transport.send, callers, plan, contract, addedSecrets)
    const suggestedTarget = await suggestTarget(target, refusals, asker(clock, plan.bounds))
    return suggestedTarget === null ? discovery : { ...discovery, suggestedTarget, notes: [] }
  } finally {
    await transport.close()
  }
}

/**
 * Requests the models, the networks and the limits of the first caller from the target, once, as far as it promises such
 * lists. This is free and never ends a run: without a usable response, the plan uses the profile and states this.
 */
export async function discover(
  send: Transport,
  callers: readonly Caller[],
  { bounds }: Pick<Plan, 'bounds'>,
  contract: Contract,
  addedSecrets: AddedSecrets = {},
): Promise<Discovery & { readonly refusals: readonly Refusal[] }> {
  // Wallets have no list of limits, and lists for all need no credentials.
  const caller = callers.find(each => each.kind === 'key')
  if (callers.length === 0)
    return { ...nothingDiscovered, limits: { kind: 'not-asked', why: 'there is no caller' }, refusals: [] }
  const { paths } = contract
  const mask = createMask([...(caller?.keys ?? []), ...textsOfSecrets(Object.values(addedSecrets))])
  const missing = notPromised(contract)
  const refusals: Refusal[] = []
  let isKnown = false
  const models = missing.includes('catalogue.models') ? null : await read('models', paths.models, parseModels)
  const networks = missing.includes('catalogue.networks') ? null : await read('networks', paths.networks, parseNetworks)
  const limits =
    missing.includes('catalogue.rate-limits') || caller === undefined
      ? null
      : await read('limits', paths.rateLimits, parseLimits)
  const noteOf = (what: string, answer: { readonly why?: string } | null) =>
    answer?.why === undefined ? [] : [`The target does not state its ${what} (${answer.why}), so the profile is used.`]
  return {
    statements: { models: models?.value ?? null, networks: networks?.value ?? null, limits: limits?.value ?? null },
    limits:
      caller === undefined
        ? { kind: 'not-asked', why: 'wallets have no list of limits' }
        : publishedLimits(caller.name, limits),
    notes: [...noteOf('models', models), ...noteOf('networks', networks)],
    suggestedTarget: null,
    // One list is enough to know the service.
    refusals: isKnown ? [] : refusals,
  }

  async function read<T>(what: string, path: string, parse: (body: unknown) => T | null): Promise<Answer<T>> {
    const own = getJson(path, caller === undefined ? {} : authorize(caller, 0, contract), bounds)
    const request = withAdditions(own, contract, addedSecrets)
    const exchange = await send(request, new AbortController().signal)
    const { failure, status, body } = exchange
    const value = failure === null && is2xx(status) ? parse(mask.json(parseJson(body))) : null
    if (value !== null) {
      isKnown = true
      return { value }
    }
    refusals.push({ path, exchange })
    if (failure !== null) return { value: null, why: failure.reason }
    return {
      value: null,
      why: is2xx(status) ? `its response contains no ${what}` : `it responded with ${status}`,
    }
  }
}

type Answer<T> = { readonly value: T | null; readonly why?: string }

function publishedLimits(caller: string, answer: Answer<ReadonlyMap<string, number>> | null): PublishedLimits {
  if (answer === null) return { kind: 'not-asked', why: 'the profile does not promise the list of limits' }
  const { value, why = '' } = answer
  return value === null ? { kind: 'failed', caller, why } : { kind: 'answered', caller, perMinute: value }
}

/** What the target of a recorded run stated. */
export function recordedDiscovery({ plan, contract }: { readonly plan: Plan; readonly contract: Contract }): Discovery {
  const { models, rpc, sources } = contract
  const limits = recordedLimits(plan.limits)
  return {
    statements: {
      models: sources.models === 'target' ? models : null,
      networks: sources['rpc.networks'] === 'target' ? Object.keys(rpc.networks) : null,
      limits: limits.kind === 'answered' ? new Map(Object.entries(contract.limits.published)) : null,
    },
    limits,
    notes: [],
    suggestedTarget: null,
  }
}

/** The contract under what the target stated. Unless `limitsFrom` says otherwise, limits are judged by the target. `isReference`: see `withStatements`. */
export function discoveredContract(
  contract: Contract,
  { statements }: Discovery,
  accountTier: AccountTier,
  limitsFrom: 'target' | 'documented',
  isReference: boolean,
): Contract {
  const layered = withStatements(contract, statements, accountTier, isReference)
  return { ...layered, limits: { ...layered.limits, judgedBy: limitsFrom } }
}
