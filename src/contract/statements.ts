import { isObject, type JsonObject, toObject } from '../lib/json.ts'
import { numberIn } from '../lib/numbers.ts'
import {
  type AccountTier,
  type Contract,
  type Model,
  type ModelTier,
  modelTiers,
  type Network,
  type Resource,
} from './contract.ts'
import { sourceOfValue } from './sources.ts'

/** A model in the list of the target. */
type OfferedModel = Pick<Model, 'id' | 'name' | 'maxCompletionTokens' | 'usdPerMillion'>

/** What the target states about itself; null where it states nothing that can be read. */
export type Statements = {
  readonly models: readonly OfferedModel[] | null
  readonly networks: readonly string[] | null
  /** Per minute and caller, by limit name. */
  readonly limits: ReadonlyMap<string, number> | null
}

/** A longer list is not read to its end. */
const maxEntries = 10_000

/**
 * The models in a response of the model list, text models first; null if there are none. The layout is open: any list of
 * objects with an id, or of texts, or objects by id.
 */
export function parseModels(body: unknown): Statements['models'] {
  const models = new Map<string, OfferedModel & { readonly isText: boolean }>()
  for (const entry of listIn(body, ['data', 'models', 'result']) ?? []) {
    const model = typeof entry === 'string' ? { id: entry } : toObject(entry)
    const id = firstText(model?.id, model?.model, model?.name)
    if (model === null || id === null || models.has(id)) continue
    const spec = toObject(model.model_spec) ?? model
    if (spec.offline === true) continue
    const isText = model.type === undefined ? !otherKinds.test(id) : model.type === 'text' || model.type === 'model'
    const { maxCompletionTokens: max } = spec
    models.set(id, {
      id,
      name: firstText(spec.name) ?? id,
      maxCompletionTokens: typeof max === 'number' && Number.isSafeInteger(max) && max > 0 ? max : null,
      usdPerMillion: priceIn(spec.pricing),
      isText,
    })
  }
  const text = [...models.values()].filter(({ isText }) => isText).map(({ isText: _, ...model }) => model)
  return text.length === 0 ? null : text
}

/** The ids of models that do not complete chats. */
const otherKinds = /embed|rerank|whisper|tts|speech|transcri|dall-e|image|moderation|audio|video/i

/** The network slugs in a response; null if there are none. Any list of texts, or of objects with a slug, or by slug. */
export function parseNetworks(body: unknown): Statements['networks'] {
  const slugs = (listIn(body, ['networks', 'data', 'result']) ?? []).flatMap(entry => {
    const object = toObject(entry)
    return firstText(entry, object?.slug, object?.network, object?.id, object?.name) ?? []
  })
  return slugs.length === 0 ? null : [...new Set(slugs)]
}

/** A larger number is not credible as a limit, and load paced by it would be a flood. */
const maxPerMinute = { RPM: 6_000_000, TPM: 1e12 } as const

/** The limit that an entry is about: that of a model, or of the RPC proxy, which may be named by its path. */
const nameOfEntry = (id: string): string => (/^rpc$|(^|[/:])crypto\/rpc\/?$/.test(id) ? 'rpc' : `chat:${id}`)

/**
 * The limits in a response of the rate-limits endpoint, per minute; null if there are none. The layout is open: any list of
 * objects with a model and its limits, or objects by model. The response is not trusted: a limit that is not at least 1,
 * also as a text, or that exceeds `maxPerMinute`, is left out.
 */
export function parseLimits(body: unknown): Statements['limits'] {
  const entries = listIn(toObject(body)?.data ?? body, ['rateLimits', 'rate_limits', 'limits', 'models'])
  if (entries === null) return null
  const perMinute = new Map<string, number>()
  for (const entry of entries.map(toObject)) {
    const model = firstText(entry?.apiModelId, entry?.model, entry?.model_id, entry?.modelId, entry?.id, entry?.name)
    if (entry === null || model === null) continue
    for (const [type, stated] of [...listedLimits(entry), ...namedLimits(entry)]) {
      const amount = typeof stated === 'string' ? numberIn(stated) : stated
      if (typeof amount === 'number' && amount >= 1 && amount <= maxPerMinute[type])
        perMinute.set(type === 'RPM' ? nameOfEntry(model) : `${nameOfEntry(model)} tokens`, amount)
    }
  }
  return perMinute.size === 0 ? null : perMinute
}

type StatedPerMinute = readonly (readonly [type: 'RPM' | 'TPM', amount: unknown])[]

/** The limits of the public layout: a list in which each has a type and an amount. */
const listedLimits = ({ rateLimits }: JsonObject): StatedPerMinute =>
  !Array.isArray(rateLimits)
    ? []
    : rateLimits.slice(0, maxEntries).flatMap(limit => {
        const { type, amount } = toObject(limit) ?? {}
        return type === 'RPM' || type === 'TPM' ? [[type, amount] as const] : []
      })

/** Limits whose names say what they count and that it is per minute, in the entry or in an object in it. */
const namedLimits = (entry: JsonObject): StatedPerMinute =>
  [entry, ...Object.values(entry).filter(isObject)].flatMap(limits =>
    Object.entries(limits).flatMap(([name, amount]) => {
      const [, unit] =
        /^(?:max_?|limit_?)?(r|t|requests?|tokens?)_?p(?:er)?_?m(?:in(?:ute)?)?(?:_?limit)?$/i.exec(name) ?? []
      return unit === undefined ? [] : [[/^r/i.test(unit) ? 'RPM' : 'TPM', amount] as const]
    }),
  )

/**
 * The contract with what the target states about itself: a layer over the document and the profile. Models and networks
 * that the target does not list are removed, and prices that the contract does not know stay unknown, unless the list
 * states them. `isReference`: whether the target is the reference service, whose prices are those of the contract. Any
 * other target has the prices that it or the profile states.
 */
export function withStatements(
  contract: Contract,
  { models, networks, limits }: Statements,
  accountTier: AccountTier,
  isReference = true,
): Contract {
  const published = limits === null ? contract.limits.published : Object.fromEntries(limits)
  const sources: Contract['sources'] = { ...contract.sources, ...(isReference ? {} : assumedValues(contract)) }
  const known =
    isReference || sourceOfValue(contract, 'models') === 'profile' ? contract.models : withoutPrices(contract)
  if (models !== null) sources.models = 'target'
  else if (!isReference && sources.models !== 'profile') sources.models = 'default'
  if (networks !== null) sources['rpc.networks'] = 'target'
  else if (!isReference && sources['rpc.networks'] !== 'profile') sources['rpc.networks'] = 'default'
  if (limits !== null) sources['limits.published'] = 'target'
  return {
    ...contract,
    models: models === null ? known : offeredModels({ ...contract, models: known }, models, published, accountTier),
    rpc: { ...contract.rpc, networks: networks === null ? contract.rpc.networks : offeredNetworks(contract, networks) },
    limits: { ...contract.limits, published },
    sources,
  }
}

const withoutPrices = ({ models }: Contract): Contract['models'] =>
  models.map(model => ({ ...model, usdPerMillion: null }))

const lookupPrice = 'chat.search.usdPerLookup'

/** What the document does not say about the resources that it names. */
const resourceTerms: readonly (keyof Resource)[] = ['path', 'body', 'isPaginated', 'isDownload']

/**
 * Marks values of the reference service, as far as no profile states them: prices, which forecast the cost of a run, the
 * paths and bodies of resources, and the length and names of the rate-limit log.
 */
function assumedValues(contract: Contract): Contract['sources'] {
  const bases = Object.keys(contract.rpc.networks).map(slug => `rpc.networks.${slug}.baseCredits`)
  const tiers = Object.keys(contract.rpc.methods).map(family => `rpc.methods.${family}`)
  const resources = Object.keys(contract.resources).flatMap(name =>
    resourceTerms.map(term => `resources.${name}.${term}`),
  )
  const values = [...bases, ...tiers, lookupPrice, ...resources, 'limitLogs']
  const unstated = values.filter(path => sourceOfValue(contract, path) !== 'profile')
  return Object.fromEntries(unstated.map(path => [path, 'default']))
}

/** Known models in the order of the contract, then the others. */
function offeredModels(
  contract: Contract,
  offered: readonly OfferedModel[],
  published: Readonly<Record<string, number>>,
  accountTier: AccountTier,
): Model[] {
  const { models, accounts } = contract
  // A price that a profile leaves out is not asserted.
  const isFixed = sourceOfValue(contract, 'models') === 'profile'
  const ids = new Set(offered.map(({ id }) => id))
  const priceOf = new Map(offered.map(({ id, usdPerMillion }) => [id, usdPerMillion]))
  const known = models
    .filter(({ id }) => ids.has(id))
    .map(model => (isFixed ? model : { ...model, usdPerMillion: model.usdPerMillion ?? priceOf.get(model.id) ?? null }))
  const others = offered.filter(({ id }) => !models.some(model => model.id === id))
  const tierOf = (id: string): ModelTier | null => {
    const isLike = (tier: ModelTier) => {
      const { requestsPerMinute, tokensPerMinute } = accounts[accountTier][tier]
      return published[`chat:${id}`] === requestsPerMinute && published[`chat:${id} tokens`] === tokensPerMinute
    }
    return modelTiers.find(isLike) ?? null
  }
  const unknown = { payingOnly: false, logprobs: null, lifecycle: null }
  return [...known, ...others.map(model => ({ ...model, ...unknown, tier: tierOf(model.id) }))]
}

/** Known networks in the order of the contract, then the others. */
function offeredNetworks({ rpc }: Contract, slugs: readonly string[]): Record<string, Network> {
  const known = Object.entries(rpc.networks).filter(([slug]) => slugs.includes(slug))
  const others = slugs.filter(slug => !Object.hasOwn(rpc.networks, slug))
  return Object.fromEntries([
    ...known,
    ...others.map(slug => [slug, { baseCredits: null, family: familyOf(slug) }] as const),
  ])
}

/** The family of a network, by its slug. Most networks are EVM networks. */
export function familyOf(slug: string): Network['family'] {
  if (/solana/i.test(slug)) return 'solana'
  return /starknet/i.test(slug) ? 'starknet' : 'evm'
}

/** The body itself, or the first of its members that is a list, or an object with an object for each id. */
function listIn(body: unknown, members: readonly string[]): readonly unknown[] | null {
  const lists = [body, ...members.map(name => (isObject(body) ? body[name] : undefined)).map(entriesById)]
  return lists.find(Array.isArray)?.slice(0, maxEntries) ?? null
}

function entriesById(value: unknown): unknown {
  if (!isObject(value) || !Object.values(value).every(isObject)) return value
  return Object.entries(value).map(([id, entry]) => ({ id, ...toObject(entry) }))
}

const firstText = (...values: readonly unknown[]): string | null =>
  values.find((value): value is string => typeof value === 'string' && value !== '' && value.length <= maxTextLength) ??
  null
const maxTextLength = 512

/** USD for a million tokens; null if the list states none in the public layout. */
function priceIn(pricing: unknown): Model['usdPerMillion'] {
  const prices = toObject(pricing)
  const of = (name: string) => decimal(toObject(prices?.[name])?.usd)
  const [input, output] = [of('input'), of('output')]
  if (input === null || output === null) return null
  return { input, output, cacheInput: of('cache_input'), cacheWrite: of('cache_write') }
}

function decimal(usd: JsonObject[string]): string | null {
  if (typeof usd !== 'number' || !(usd >= 0) || usd > 1e6) return null
  return usd.toFixed(12).replace(/\.?0+$/, '')
}
