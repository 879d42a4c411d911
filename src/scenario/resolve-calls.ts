import type { z } from 'zod'
import type { ChatOptions } from '../contract/chat-options.ts'
import {
  type Contract,
  type Model,
  type ModelTier,
  modelTiers,
  type Network,
  resourceOf,
} from '../contract/contract.ts'
import { probeNames, probeOf } from '../contract/probes.ts'
import { promisesAny } from '../contract/promises.ts'
import { usualEvmMethods } from '../contract/rpc-methods.ts'
import { familyOf } from '../contract/statements.ts'
import { entriesOf, parseFields } from '../lib/schemas.ts'
import { unknownWord } from '../lib/usage-error.ts'
import type { Path, ReportMistake } from '../lib/yaml.ts'
import { type Call, callSchemas, type RpcCall } from './call-schema.ts'
import { namesInSequence } from './stage-schema.ts'

/** The calls of a scenario by name; null for a call with a mistake. */
export type Calls = ReadonlyMap<string, Call | null>

/** What names of a scenario are looked up in. */
type Offers = {
  readonly contract: Contract
  /** The lists of models and networks are not known yet, so every name is accepted. */
  readonly isTentative: boolean
}

/** Resolves the calls. Reports what the contract does not know; the schema reports the rest. */
export function resolveCalls(
  value: unknown,
  {
    count: keyed,
    wallets,
    'keys-per-caller': keys,
  }: {
    readonly count?: number | undefined
    readonly wallets?: number | undefined
    readonly 'keys-per-caller'?: number | undefined
  },
  offers: Offers,
  report: ReportMistake,
): Calls {
  const written = Object.entries(entriesOf(value))
  const count = keyed === undefined || wallets === undefined ? undefined : keyed + wallets
  const calls = new Map<string, Call | null>(
    written.map(([name, call]) => [name, resolveCall(['calls', name], call, offers, report)]),
  )
  // A replay may repeat a call that follows it in the file, so replays are resolved last.
  for (const [name, call] of written) {
    if (!isReplay(call)) continue
    const path = ['calls', name]
    calls.set(name, resolveReplay(path, call, entriesOf(value), calls, report))
    const { 'other-caller-ratio': otherCallerRatio = 0, 'other-key-ratio': otherKeyRatio = 0 } = parseFields(
      callSchemas.replay,
      call,
    )
    const expectNone = (key: string, got: number, expected: string) =>
      report({ path: [...path, key], at: 'value', got: String(got), expected })
    if (otherCallerRatio > 0 && count === 1)
      expectNone('other-caller-ratio', otherCallerRatio, '0, since there is only 1 caller')
    if (otherKeyRatio > 0 && keys === 1)
      expectNone('other-key-ratio', otherKeyRatio, '0, since "keys-per-caller" of "callers" is 1')
  }
  return calls
}

function resolveCall(path: Path, value: unknown, offers: Offers, report: ReportMistake): Call | null {
  const kind = entriesOf(value).kind
  switch (kind) {
    case 'chat':
      return resolveChat(path, value, offers, report)
    case 'rpc': {
      const { 'failure-ratio': failing } = parseFields(callSchemas.rpc, value)
      return resolveRpc(path, value, null, failing, offers, report)
    }
    case 'rpc-batch':
      return resolveBatch(path, value, offers, report)
    case 'models':
    case 'networks':
    case 'rate-limits':
    case 'rate-limit-logs':
      return { kind }
    case 'resource':
      return resolveResource(path, value, offers.contract, report)
    case 'wallet-balance':
      return { kind }
    case 'top-up':
      return resolveTopUp(path, value, offers.contract, report)
    case 'probe': {
      const { probe } = parseFields(callSchemas.probe, value)
      return probe === undefined ? null : probeCall(probe)
    }
    default:
      return null
  }
}

function resolveTopUp(path: Path, value: unknown, { wallets }: Contract, report: ReportMistake): Call | null {
  const { minimumUsd } = wallets.topUp
  const fields = parseFields(callSchemas['top-up'], value)
  const { pay = false, usd = minimumUsd, duplicates = 0, concurrent = false, invalid = null } = fields
  // A smaller amount may be meant: the service must refuse it.
  const problem = amountProblem(usd, wallets)
  if (problem !== null) report({ path: [...path, 'usd'], at: 'value', got: usd, expected: problem })
  return problem === null ? { kind: 'top-up', pay, usd, duplicates, concurrent, invalid } : null
}

/** Why an amount cannot be paid; null if it can. */
export function amountProblem(usd: string, { rails, topUp: { maximumUsd } }: Contract['wallets']): string | null {
  const decimals = Math.min(...Object.values(rails).map(rail => rail.decimals))
  const written = usd.split('.')[1]?.length ?? 0
  if (written > decimals) return `at most ${decimals} decimals, as the token has`
  const isAbove = maximumUsd !== null && Number(usd) > 2 * Number(maximumUsd)
  return isAbove ? `at most $${maximumUsd}, the maximum of the profile` : null
}

function resolveResource(path: Path, value: unknown, contract: Contract, report: ReportMistake): Call | null {
  const { resource: name, body = {}, page = null, limit = null } = parseFields(callSchemas.resource, value)
  if (name === undefined) return null
  const resource = resourceOf(contract, name)
  if (resource !== null) return { kind: 'resource', resource: name, draws: resource.draws, body, page, limit }
  const word = unknownWord(name, Object.keys(contract.resources), `a resource of the profile "${contract.name}"`)
  report({ path: [...path, 'resource'], at: 'value', ...word })
  return null
}

function resolveBatch(path: Path, value: unknown, offers: Offers, report: ReportMistake): RpcCall | null {
  const { size, 'failing-items': failing } = parseFields(callSchemas['rpc-batch'], value)
  const max = offers.contract.rpc.batchLimit
  if (size !== undefined && size > max) {
    report({ path: [...path, 'size'], at: 'value', got: String(size), expected: `a whole number from 1 to ${max}` })
  }
  if (size !== undefined && failing !== undefined && failing > size) {
    const expected = `at most ${size}, the size of the batch`
    report({ path: [...path, 'failing-items'], at: 'value', got: String(failing), expected })
  }
  const call = resolveRpc(path, value, size ?? null, failing, offers, report)
  return size === undefined ? null : call
}

function resolveRpc(
  path: Path,
  value: unknown,
  batchSize: number | null,
  failing: number | undefined,
  offers: Offers,
  report: ReportMistake,
): RpcCall | null {
  const { contract } = offers
  const { methods } = parseFields(callSchemas.rpc, value)
  const written = entriesOf(value)
  const found = networkOf(path, value, offers, report)
  if (found === null) return null
  const [network, chain] = found
  const allowed = Object.keys(contract.rpc.methods[chain.family])
  if (written.methods === undefined) {
    const defaults = chain.family === 'evm' ? usualEvmMethods.filter(([method]) => allowed.includes(method)) : []
    if (defaults.length === 0) {
      const expected = `weights of methods, since ${network} (${chain.family}) has no default`
      report({ path, at: 'value', got: 'no "methods"', expected })
      return null
    }
    return failing === undefined ? null : { kind: 'rpc', network, methods: defaults, batchSize, failing }
  }
  const hasAllowList = promisesAny(contract, ['rpc.unsupported-method*'])
  const unknown = Object.keys(entriesOf(written.methods)).filter(method => hasAllowList && !allowed.includes(method))
  for (const method of unknown) {
    const word = unknownWord(method, allowed, `a method on the allow-list of ${network}`)
    report({ path: [...path, 'methods', method], at: 'key', ...word })
  }
  if (methods === undefined || failing === undefined || unknown.length > 0) return null
  return { kind: 'rpc', network, methods, batchSize, failing }
}

/** The network that a call names. If it names none, or none that is offered, the first one of its family. */
function networkOf(
  path: Path,
  value: unknown,
  { contract, isTentative }: Offers,
  report: ReportMistake,
): readonly [slug: string, network: Pick<Network, 'family'>] | null {
  const { network: slug, 'network-family': family } = parseFields(callSchemas.rpc, value)
  // A field with a mistake is already reported.
  if (slug === undefined && entriesOf(value).network !== undefined) return null
  const { networks } = contract.rpc
  const named = slug !== undefined && Object.hasOwn(networks, slug) ? networks[slug] : undefined
  if (slug !== undefined && named !== undefined) return [slug, named]
  if (slug !== undefined && family === undefined) {
    if (isTentative) return [slug, { family: familyOf(slug) }]
    const word = unknownWord(slug, Object.keys(networks), `a network ${offeredBy(contract, 'rpc.networks')}`)
    report({ path: [...path, 'network'], at: 'value', ...word })
    return null
  }
  const wanted = family ?? 'evm'
  const first = Object.entries(networks).find(([, network]) => network.family === wanted)
  if (first !== undefined) return first
  const expected = `one ${offeredBy(contract, 'rpc.networks')}`
  report({ path, at: 'value', got: `no network of the family ${wanted}`, expected })
  return null
}

/** Whether nobody lists models, so that any name may be right. */
const isUnlisted = ({ models, sources }: Contract): boolean => models.length === 0 && sources.models !== 'target'

/** Whose list a name is looked up in. */
const offeredBy = ({ name, sources }: Contract, list: 'models' | 'rpc.networks'): string =>
  sources[list] === 'target' ? 'that the target offers' : `of the profile "${name}"`

function resolveReplay(
  path: Path,
  value: unknown,
  written: Readonly<Record<string, unknown>>,
  calls: Calls,
  report: ReportMistake,
): Call | null {
  const {
    of,
    duplicates,
    concurrent,
    'conflict-ratio': conflictRatio,
    'other-caller-ratio': otherCallerRatio,
    'other-key-ratio': otherKeyRatio,
    'repeat-after': repeatAfterMs = null,
  } = parseFields(callSchemas.replay, value)
  if (of === undefined) return null
  // An original with a mistake is already reported, and its kind is unknown.
  const original = calls.get(of)
  if (original === null && !isReplay(written[of])) return null
  const repeatable = Object.keys(written).filter(name => isRpc(written[name]))
  if (original?.kind !== 'rpc') {
    const word = unknownWord(of, repeatable, 'the name of an rpc or rpc-batch call')
    report({ path: [...path, 'of'], at: 'value', ...word })
    return null
  }
  if (duplicates === undefined || concurrent === undefined) return null
  if (conflictRatio === undefined || otherCallerRatio === undefined || otherKeyRatio === undefined) return null
  if (repeatAfterMs !== null && repeatAfterMs > maxRepeatAfterMs) {
    const expected = `at most ${maxRepeatAfterMs / 1000}s`
    report({ path: [...path, 'repeat-after'], at: 'value', got: `${repeatAfterMs / 1000}s`, expected })
    return null
  }
  if (
    duplicates === 0 &&
    conflictRatio === 0 &&
    otherCallerRatio === 0 &&
    otherKeyRatio === 0 &&
    repeatAfterMs === null
  ) {
    report({
      path,
      at: 'value',
      got: 'a replay without a repetition',
      expected: 'duplicates, other-key-ratio, conflict-ratio or other-caller-ratio above 0, or repeat-after',
    })
    return null
  }
  return {
    kind: 'replay',
    of: original,
    duplicates,
    concurrent,
    conflictRatio,
    otherCallerRatio,
    otherKeyRatio,
    repeatAfterMs,
  }
}

/** Audits process requests in order, so a repetition that waits delays them. */
const maxRepeatAfterMs = 30_000

const isReplay = (call: unknown): boolean => entriesOf(call).kind === 'replay'
const isRpc = (call: unknown): boolean => ['rpc', 'rpc-batch'].includes(String(entriesOf(call).kind))

function probeCall(probe: string): Extract<Call, { kind: 'probe' }> {
  const { copies = 1 } = probeOf(probe)
  return copies === 1 ? { kind: 'probe', probe } : { kind: 'probe', probe, copies }
}

/** Adds the probes that sequences name, which need no call of their own. A call with the name of a probe takes precedence. */
export function withNamedProbes(calls: Calls, stages: unknown): Calls {
  const named = (Array.isArray(stages) ? stages : []).flatMap((stage: unknown) =>
    namesInSequence(entriesOf(stage).calls),
  )
  const probes = probeNames.filter(name => named.includes(name) && !calls.has(name))
  return new Map([...calls, ...probes.map(probe => [probe, probeCall(probe)] as const)])
}

/** Resolves a chat call; null if it has a mistake. */
export function resolveChat(path: Path, value: unknown, offers: Offers, report: ReportMistake): Call | null {
  const call = parseFields(callSchemas.chat, value)
  const { 'prompt-tokens': promptTokens, 'max-completion-tokens': requested = null, stream } = call
  const model = modelOf(path, value, offers, report)
  if (model === null) return null
  if (requested !== null && model.maxCompletionTokens !== null && requested > model.maxCompletionTokens) {
    const expected = `at most ${model.maxCompletionTokens}, the maximum of ${model.id}`
    report({ path: [...path, 'max-completion-tokens'], at: 'value', got: String(requested), expected })
    return null
  }
  if (promptTokens === undefined || stream === undefined) return null
  const options = optionsOf(call)
  return {
    kind: 'chat',
    model: model.id,
    // The target may not tell the tier of a model that stands in for one; its limits still pace the load.
    modelTier: model.tier ?? call['model-tier'] ?? null,
    stream,
    promptTokens,
    maxCompletionTokens: requested ?? boundOf(options, model),
    isBounded: requested !== null,
    options,
  }
}

/** The model that a call names, the first one of its tier, or the first one of all. */
function modelOf(
  path: Path,
  value: unknown,
  { contract, isTentative }: Offers,
  report: ReportMistake,
): Pick<Model, 'id' | 'tier' | 'maxCompletionTokens'> | null {
  const { 'model-tier': tier, model: id, deprecated = false } = parseFields(callSchemas.chat, value)
  const written = entriesOf(value)
  const { models } = contract
  if (written.model !== undefined && written['model-tier'] !== undefined) {
    const expected = 'either "model" or "model-tier"'
    report({ path: [...path, 'model-tier'], at: 'key', got: 'both "model-tier" and "model"', expected })
    return null
  }
  // A field with a mistake is already reported.
  if ((written.model !== undefined && id === undefined) || (written['model-tier'] !== undefined && tier === undefined))
    return null
  if (id === undefined) {
    const ofTier = tier === undefined ? models : models.filter(known => known.tier === tier)
    const preferred = deprecated ? ofTier.find(({ lifecycle }) => lifecycle === 'deprecated') : undefined
    const model = preferred ?? ofTier[0] ?? (tier === undefined ? undefined : byPrice(models, tier))
    if (model !== undefined) return model
    if (isTentative) return { id: '', tier: tier ?? 'M', maxCompletionTokens: null }
    const got = tier === undefined ? 'no model' : `no model of tier ${tier}`
    const expected = isUnlisted(contract)
      ? '"model: <id>", since neither the target nor the profile lists models'
      : `one ${offeredBy(contract, 'models')}`
    report({ path, at: 'value', got, expected })
    return null
  }
  const model = models.find(known => known.id === id)
  if (model !== undefined) return model
  // The tier only serves to compute rates; after discovery it is that of the target.
  if (isUnlisted(contract)) return { id, tier: null, maxCompletionTokens: null }
  if (isTentative) return { id, tier: 'M', maxCompletionTokens: null }
  const ids = models.map(known => known.id)
  const word = unknownWord(id, ids, `a model ${offeredBy(contract, 'models')}`)
  report({ path: [...path, 'model'], at: 'value', ...word })
  return null
}

/** Of models without a tier: the cheapest stands for XS, the most expensive for L, and two between them for S and M. */
function byPrice(models: readonly Model[], tier: ModelTier): Model | undefined {
  const priceOf = ({ usdPerMillion }: Model) => Number(usdPerMillion?.output ?? 0)
  const untiered = models.filter(model => model.tier === null).toSorted((a, b) => priceOf(a) - priceOf(b))
  const share = modelTiers.indexOf(tier) / (modelTiers.length - 1)
  return untiered[Math.round(share * (untiered.length - 1))]
}

type Written = Partial<z.output<typeof callSchemas.chat>>

/** Null if only a prompt and a bound are sent, as by most calls under load. */
function optionsOf(written: Written): ChatOptions | null {
  const { body = {}, parameters = {}, suffix = null } = written
  const { 'accept-encoding': encoding = null, 'same-prompt': samePrompt = false } = written
  const isPlain = Object.keys(body).length === 0 && Object.keys(parameters).length === 0
  if (isPlain && suffix === null && encoding === null && !samePrompt) return null
  return { body, parameters, suffix, encoding, samePrompt }
}

/** The maximum without `max_completion_tokens`: the older `max_tokens` if it is above 0, else that of the model. */
function boundOf(options: ChatOptions | null, { maxCompletionTokens }: Pick<Model, 'maxCompletionTokens'>): number {
  const older = options?.body.max_tokens
  const isBound = typeof older === 'number' && Number.isInteger(older) && older > 0
  const max = maxCompletionTokens ?? unstatedMaxTokens
  return Math.min(isBound ? older : max, max)
}

/** More than any model generates for one request. */
const unstatedMaxTokens = 131_072
