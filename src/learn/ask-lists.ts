import { type AccountTier, type Contract, type Model, type ModelTier, modelTiers } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { parseLimits, parseModels, parseNetworks } from '../contract/statements.ts'
import { plural } from '../lib/format.ts'
import { isObject, type JsonObject, toObject } from '../lib/json.ts'
import { is2xx } from '../lib/numbers.ts'
import type { Answer } from './asker.ts'
import {
  because,
  type Conclusion,
  cite,
  type Fact,
  isAbsent,
  listAsk,
  type Question,
  type QuestionAsker,
  unknown,
  value,
} from './question.ts'

const { accounts, models: documentedModels } = documentedContract

/** How gateways take keys that take no bearer tokens. */
const keyForms = [
  { header: 'api-key', scheme: null },
  { header: 'x-api-key', scheme: null },
] as const

const asked = ['models', 'networks', 'rate-limits'] as const

/** The three lists in which the target states what it offers. */
export const offer: Question = {
  name: 'offer',
  calls: 2 * asked.length + keyForms.length - 1,
  applies: () => true,
  answer: async ({ contract }, { ask }) => {
    const first: Answer[] = []
    for (const kind of asked) first.push(await ask(listAsk(kind)))
    const refused = asked.find((_, index) => isRefusedKey(first[index]))
    const isOtherForm = refused !== undefined && contract.auth.header === 'authorization'
    const { tried, accepted } = isOtherForm ? await otherForm(refused, ask) : { tried: [], accepted: null }
    const lists = [...first]
    for (const [index, kind] of asked.entries())
      if (accepted !== null && isRefusedKey(first[index]))
        lists[index] = kind === refused ? accepted.list : await ask(listAsk(kind), withForm(accepted.auth))
    const [models, networks, limits] = lists
    if (models === undefined || networks === undefined || limits === undefined) return { findings: [] }
    const { findings, unjudged = [], ...rest } = concludeOffer(models, networks, limits)
    return {
      ...rest,
      findings: [...(accepted === null ? [] : keyFormFacts(accepted)), ...findings],
      unjudged: [...unjudged, ...first.filter(each => !lists.includes(each)), ...tried],
    }
  },
}

type KeyForm = (typeof keyForms)[number]
type AcceptedForm = { readonly auth: KeyForm; readonly list: Answer }

const isRefusedKey = (answer: Answer | undefined): boolean => answer?.status === 401 || answer?.status === 403

const withForm = (auth: KeyForm) => (contract: Contract) => ({ ...contract, auth: { ...contract.auth, ...auth } })

/** The first form in which the target does not refuse the key for a list, and the answers to those that it refuses. */
async function otherForm(
  kind: (typeof asked)[number],
  ask: QuestionAsker['ask'],
): Promise<{ readonly tried: readonly Answer[]; readonly accepted: AcceptedForm | null }> {
  const tried: Answer[] = []
  for (const auth of keyForms) {
    const list = await ask(listAsk(kind), withForm(auth))
    if (!isRefusedKey(list) && list.status !== null) return { tried, accepted: { auth, list } }
    tried.push(list)
  }
  return { tried, accepted: null }
}

const keyFormFacts = ({ auth, list }: AcceptedForm): readonly Fact[] => {
  const evidence = `it accepts the key in ${auth.header}, and refuses it as a bearer token`
  return [
    value(['auth', 'header'], auth.header, list, evidence),
    value(['auth', 'scheme'], auth.scheme, list, evidence),
  ]
}

function concludeOffer(models: Answer, networks: Answer, limits: Answer): Conclusion {
  const slugs = is2xx(networks.status) ? parseNetworks(networks.body) : null
  const perMinute = is2xx(limits.status) ? parseLimits(limits.body) : null
  const offered = is2xx(models.status) ? modelsOf(models, perMinute) : null
  const known = {
    ...(offered !== null && { models: offered }),
    ...(slugs !== null && { networks: slugs.filter(slug => plainSlug.test(slug)).slice(0, maxNetworks) }),
    ...(perMinute !== null && { limits: perMinute, accountTier: accountTierOf(offered ?? [], perMinute) }),
  }
  const findings = [
    ...(offered === null ? listless('models', 'catalogue.models', models) : modelFindings(offered, models)),
    ...(slugs === null ? listless('rpc.networks', 'catalogue.networks', networks) : []),
    ...(perMinute === null
      ? listless('accounts', 'catalogue.rate-limits', limits)
      : limitFindings(offered ?? [], perMinute, limits)),
  ]
  return { findings, known, unjudged: [models, networks, limits].filter(({ status }) => !is2xx(status)) }
}

const maxNetworks = 500
/** A slug that can be part of a path as it is. */
const plainSlug = /^[A-Za-z0-9._~-]{1,100}$/
const maxModels = 500

const listless = (path: string, clause: string, reply: Answer): readonly Fact[] =>
  isAbsent(reply)
    ? [{ kind: 'missing', clauses: [clause], text: `the list at ${reply.what}`, evidence: cite(reply) }]
    : [unknown(path, because(reply))]

/** The offered models. What the list does not state is taken from the document, if it has a model of this id. */
function modelsOf(reply: Answer, limits: ReadonlyMap<string, number> | null): readonly Model[] | null {
  const offered = parseModels(reply.body)?.slice(0, maxModels)
  if (offered === undefined) return null
  const tiers = tiersOf(
    offered.map(({ id }) => id),
    limits,
  )
  return offered.map(({ id, name, maxCompletionTokens, usdPerMillion }) => {
    const documented = documentedModels.find(model => model.id === id)
    const spec = specOf(reply.body, id)
    const logs = toObject(spec?.capabilities)?.supportsLogProbs
    return {
      id,
      name,
      tier: tiers.get(id) ?? null,
      payingOnly: documented?.payingOnly ?? false,
      maxCompletionTokens,
      logprobs: typeof logs === 'boolean' ? logs : null,
      usdPerMillion,
      lifecycle: spec === null ? null : isObject(spec.deprecation) ? 'deprecated' : 'current',
    }
  })
}

function specOf(body: unknown, id: string): JsonObject | null {
  const data = toObject(body)?.data
  const entry = Array.isArray(data) ? data.map(toObject).find(each => each?.id === id) : null
  return toObject(entry?.model_spec)
}

type Pair = { readonly requestsPerMinute: number; readonly tokensPerMinute: number }

const pairOf = (id: string, limits: ReadonlyMap<string, number> | null): Pair | null => {
  const requestsPerMinute = limits?.get(`chat:${id}`)
  const tokensPerMinute = limits?.get(`chat:${id} tokens`)
  return requestsPerMinute === undefined || tokensPerMinute === undefined
    ? null
    : { requestsPerMinute, tokensPerMinute }
}

const sameLimits = (a: Pair, b: Pair): boolean =>
  a.requestsPerMinute === b.requestsPerMinute && a.tokensPerMinute === b.tokensPerMinute

/** Models with equal limits share a tier: the documented one of these limits, or else by the order of the limits. */
function tiersOf(ids: readonly string[], limits: ReadonlyMap<string, number> | null): ReadonlyMap<string, ModelTier> {
  const pairs: Pair[] = []
  for (const id of ids) {
    const pair = pairOf(id, limits)
    if (pair !== null && isWhole(pair) && !pairs.some(each => sameLimits(each, pair))) pairs.push(pair)
  }
  const ordered = pairs.toSorted(
    (a, b) => b.requestsPerMinute - a.requestsPerMinute || b.tokensPerMinute - a.tokensPerMinute,
  )
  const documented = (Object.keys(accounts) as AccountTier[])
    .map(tier => ordered.map(pair => modelTiers.find(each => sameLimits(accounts[tier][each], pair))))
    .find(labels => labels.every(label => label !== undefined))
  // A documented model keeps its tier if that contradicts nothing.
  const usual = ordered.map(pair => {
    const labels = new Set(
      documentedModels.flatMap(({ id, tier }) => {
        const own = ids.includes(id) ? pairOf(id, limits) : null
        return own !== null && tier !== null && sameLimits(own, pair) ? tier : []
      }),
    )
    return labels.size === 1 ? [...labels][0] : undefined
  })
  const isUsual = usual.every(label => label !== undefined) && new Set(usual).size === usual.length
  const labels = documented ?? (isUsual ? usual : modelTiers)
  return new Map(
    ids.flatMap(id => {
      const pair = pairOf(id, limits)
      const label = pair === null ? undefined : labels[ordered.findIndex(each => sameLimits(each, pair))]
      return label === undefined ? [] : [[id, label] as const]
    }),
  )
}

const isWhole = ({ requestsPerMinute, tokensPerMinute }: Pair): boolean =>
  Number.isSafeInteger(requestsPerMinute) && Number.isSafeInteger(tokensPerMinute)

function modelFindings(offered: readonly Model[], reply: Answer): readonly Fact[] {
  const unpriced = offered.filter(({ usdPerMillion }) => usdPerMillion === null).length
  return [
    value(['models'], offered, reply, `a list of ${plural(offered.length, 'text model')}`),
    unknown('models.<index>.tier', 'the target states none; models with equal limits share a label'),
    unknown('models.<index>.payingOnly', 'would need the key of a free user, and a call for each model'),
    ...(unpriced === 0
      ? []
      : [unknown('models.<index>.usdPerMillion', `${cite(reply)}: ${plural(unpriced, 'model')} without a price`)]),
  ]
}

function limitFindings(models: readonly Model[], limits: ReadonlyMap<string, number>, reply: Answer): readonly Fact[] {
  const account = accountTierOf(models, limits)
  const byTier = modelTiers.flatMap(tier => {
    const model = models.find(each => each.tier === tier)
    const pair = model === undefined ? null : pairOf(model.id, limits)
    return pair === null ? [] : value(['accounts', account, tier], pair, reply, `the limits of ${model?.id}`)
  })
  const other = account === 'default' ? 'partner' : 'default'
  return [...byTier, unknown(`accounts.${other}`, `the key belongs to an account of the ${account} tier`)]
}

/** `partner` if every limit is that of the documented partner tier, and not every one that of the default tier. */
function accountTierOf(models: readonly Model[], limits: ReadonlyMap<string, number>): AccountTier {
  const pairs = models.flatMap(({ id }) => pairOf(id, limits) ?? [])
  const areAll = (tier: keyof Contract['accounts']) =>
    pairs.length > 0 && pairs.every(pair => modelTiers.some(each => sameLimits(accounts[tier][each], pair)))
  return areAll('partner') && !areAll('default') ? 'partner' : 'default'
}

/** A public path of the log, in place of the documented one. */
const otherLogPath = '/api_keys/rate_limits/log'

/** The log of rejected requests, under the documented path or the public one. */
export const limitLog: Question = {
  name: 'limit log',
  calls: 2,
  applies: ({ limits }) => limits.size > 0,
  answer: async (_, { ask }) => {
    const reply = await ask(listAsk('rate-limit-logs'))
    const open = unknown('limitLogs', 'would need a request that a limit refuses')
    if (is2xx(reply.status)) return { findings: [open] }
    if (!isAbsent(reply)) return { findings: [unknown('paths.rateLimitLogs', because(reply)), open], unjudged: [reply] }
    const other = await ask(listAsk('rate-limit-logs'), contract => ({
      ...contract,
      paths: { ...contract.paths, rateLimitLogs: otherLogPath },
    }))
    const isThere = is2xx(other.status) && other.body !== undefined
    const found: Fact = isThere
      ? value(['paths', 'rateLimitLogs'], otherLogPath, other)
      : { kind: 'missing', clauses: ['logs.*'], text: 'the log of rejected requests', evidence: cite(reply) }
    return { findings: [found, open], unjudged: isThere ? [reply] : [reply, other] }
  },
}
