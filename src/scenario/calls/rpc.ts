import { z } from 'zod'
import { type Contract, methodTier, type Network, networkFamilies } from '../../contract/contract.ts'
import { documentedContract } from '../../contract/documented.ts'
import { promisesAny } from '../../contract/promises.ts'
import { usualEvmMethods } from '../../contract/rpc-methods.ts'
import { familyOf } from '../../contract/statements.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { costOfUnits, pico } from '../../lib/money.ts'
import { entriesOf, parseFields, whole } from '../../lib/schemas.ts'
import { oneOf, unknownWord } from '../../lib/usage-error.ts'
import {
  integerField,
  type Mix,
  mapping,
  meanOf,
  mixSchema,
  probabilityField,
  textField,
  weightsField,
} from '../fields.ts'
import { type CallContext, type CallKind, kindField, limitUsages, offeredBy, usualTraits } from './call-kind.ts'
import { hangUpField, hangUpOf, hangUpTraits, resolvedHangUp, writtenHangUp } from './hang-up.ts'

const network = textField('a network slug such as ethereum-mainnet')
  .optional()
  .describe('Slug of the blockchain network. Default: the first network of "network-family".')
const family = z
  .enum(networkFamilies, { error: oneOf(networkFamilies) })
  .optional()
  .describe(
    'The family of a network that stands in if the target does not offer "network". Default: evm, without a network.',
  )
const methods = weightsField('method names')
  .optional()
  .describe(
    'Weight of each method. Default: on EVM networks, a mix like that of real applications; elsewhere it is required.',
  )
const params = z
  .record(z.string(), z.array(z.unknown(), { error: 'a list of parameters' }), {
    error: 'a mapping of method names to lists',
  })
  .optional()
  .describe(
    'The parameters of a method, such as `{ eth_getBlockByNumber: [latest, false] }`. Default: valid ones, drawn anew for each call.',
  )

export const rpcSchema = mapping({
  kind: kindField('rpc'),
  network,
  'network-family': family,
  methods,
  params,
  'failure-ratio': probabilityField().default(0).describe('Probability that a call fails on purpose.'),
  'hang-up': hangUpField,
}).describe('A single JSON-RPC call.')

export const batchSchema = mapping({
  kind: kindField('rpc-batch'),
  network,
  'network-family': family,
  methods,
  params,
  size: integerField(1, 10_000, 'a whole number from 1 to the longest batch of the profile').describe(
    'Items of each batch. The profile states the longest batch.',
  ),
  'failing-items': integerField(0, 10_000).default(0).describe('Items of each batch that fail on purpose.'),
  'hang-up': hangUpField,
}).describe('A batch of JSON-RPC calls in one request.')

/** Requests of single calls or batches. */
export const resolvedRpc = z.object({
  kind: z.literal('rpc'),
  network: z.string(),
  methods: mixSchema,
  /** The parameters of methods. Missing: they are drawn. */
  params: z.record(z.string(), z.array(z.unknown())).optional(),
  /** Items of a batch; null for a single call. */
  batchSize: whole.nullable(),
  /** Items of each batch that fail on purpose; for a single call, the probability that it does. */
  failing: z.number().nonnegative(),
  /** Missing: the client reads every response to its end. */
  hangUp: resolvedHangUp.optional(),
})
export type RpcCall = DeepReadonly<z.output<typeof resolvedRpc>>

export const rpc: CallKind<RpcCall> = {
  judges: ['rpc-response', 'rpc-credits', 'implied-credits'],
  traits: call => ({
    ...usualTraits,
    judges: () => rpc.judges,
    limits: limitUsages({ limiter: 'rpc', network: call.network }),
    cost: {
      credits: contract => creditsOf(call, contract),
      arrivals: (arrivals, contract) => promisedPicoUsd(arrivals * creditsOf(call, contract), contract),
      maxRequest: contract => maxRpcPicoUsd(call, contract),
      maxCharged: 1,
    },
    unfitToSaturate: call.failing > 0 ? 'which fails on purpose' : null,
    network: call.network,
    methods: call.methods.map(([method]) => method),
    ...hangUpTraits(call.hangUp),
  }),
  written: ({ network, methods, params, batchSize, failing, hangUp }) => ({
    kind: batchSize === null ? 'rpc' : 'rpc-batch',
    network,
    methods: Object.fromEntries(methods),
    ...(params !== undefined && { params }),
    ...(batchSize === null ? { 'failure-ratio': failing } : { size: batchSize, 'failing-items': failing }),
    ...writtenHangUp(hangUp),
  }),
}

export function resolveSingle(value: unknown, context: CallContext): RpcCall | null {
  const { 'failure-ratio': failing } = parseFields(rpcSchema, value)
  return resolveRpc(value, null, failing, context)
}

export function resolveBatch(value: unknown, context: CallContext): RpcCall | null {
  const { size, 'failing-items': failing } = parseFields(batchSchema, value)
  const max = context.contract.rpc.batchLimit
  if (size !== undefined && size > max) {
    context.report(['size'], { got: String(size), expected: `a whole number from 1 to ${max}` })
  }
  if (size !== undefined && failing !== undefined && failing > size) {
    context.report(['failing-items'], { got: String(failing), expected: `at most ${size}, the size of the batch` })
  }
  const call = resolveRpc(value, size ?? null, failing, context)
  return size === undefined ? null : call
}

function resolveRpc(
  value: unknown,
  batchSize: number | null,
  failing: number | undefined,
  context: CallContext,
): RpcCall | null {
  const { report } = context
  const { methods, params, 'hang-up': early } = parseFields(rpcSchema, value)
  const more = { ...(params !== undefined && { params }), ...hangUpOf(early, false, report) }
  const written = entriesOf(value)
  const found = networkOf(value, context)
  if (found === null) return null
  const [network, chain] = found
  const weights = weightsOf(written.methods === undefined ? null : (methods ?? []), network, chain, context)
  if (weights === null || failing === undefined) return null
  const named = (methods ?? weights).map(([method]) => method)
  for (const method of Object.keys(params ?? {}).filter(name => !named.includes(name)))
    report(['params', method], unknownWord(method, named, 'one of the methods of the call'), 'key')
  return { kind: 'rpc', network, methods: weights, batchSize, failing, ...more }
}

/** The weights of the methods of a call: those that are written, or else the usual ones. Null: it has a mistake. */
function weightsOf(
  written: Mix | null,
  network: string,
  { family: ofNetwork }: Pick<Network, 'family'>,
  { contract, report }: CallContext,
): Mix | null {
  const allowed = Object.keys(contract.rpc.methods[ofNetwork])
  if (written === null) {
    const defaults = ofNetwork === 'evm' ? usualEvmMethods.filter(([method]) => allowed.includes(method)) : []
    if (defaults.length > 0) return defaults
    const expected = `weights of methods, since ${network} (${ofNetwork}) has no default`
    report([], { got: 'no "methods"', expected })
    return null
  }
  if (!hasAllowList(contract)) return written.length === 0 ? null : written
  const documented = documentedContract.rpc.methods[ofNetwork]
  const offered = written.filter(([method]) => allowed.includes(method))
  const unknown = written.filter(([method]) => !allowed.includes(method) && !Object.hasOwn(documented, method))
  for (const [method] of unknown) {
    const problem = unknownWord(method, allowed, `a method on the allow-list of ${network}`)
    report(['methods', method], problem, 'key')
  }
  if (written.length === 0 || unknown.length > 0) return null
  // A call of nothing that the target offers is left out later.
  return offered.length > 0 ? offered : written
}

/** Whether the target promises to refuse methods that the profile does not name. */
export const hasAllowList = (contract: Contract): boolean => promisesAny(contract, ['rpc.unsupported-method*'])

/** The network that a call names, if it is offered. Otherwise, the first network of its family. */
function networkOf(
  value: unknown,
  { contract, isTentative, report }: CallContext,
): readonly [slug: string, network: Pick<Network, 'family'>] | null {
  const { network: slug, 'network-family': family } = parseFields(rpcSchema, value)
  // A field with a mistake is already reported.
  if (slug === undefined && entriesOf(value).network !== undefined) return null
  const { networks } = contract.rpc
  const all = { ...networks, ...unofferedNetworks(networks) }
  const named = slug !== undefined && Object.hasOwn(all, slug) ? all[slug] : undefined
  if (slug !== undefined && named !== undefined) return [slug, named]
  if (slug !== undefined && family === undefined) {
    if (isTentative) return [slug, { family: familyOf(slug) }]
    const what = `a network ${offeredBy(contract, 'rpc.networks')}`
    report(['network'], unknownWord(slug, Object.keys(networks), what))
    return null
  }
  const wanted = family ?? 'evm'
  const first = Object.entries(all).find(([, network]) => network.family === wanted)
  if (first !== undefined) return first
  const expected = `one ${offeredBy(contract, 'rpc.networks')}`
  report([], { got: `no network of the family ${wanted}`, expected })
  return null
}

/** The networks of the document whose family the target does not offer. Calls of them are left out later. */
function unofferedNetworks(offered: Readonly<Record<string, Network>>): Readonly<Record<string, Network>> {
  const families = new Set(Object.values(offered).map(({ family }) => family))
  const isUnoffered = ([, { family }]: readonly [string, Network]) => families.size > 0 && !families.has(family)
  return Object.fromEntries(Object.entries(documentedContract.rpc.networks).filter(isUnoffered))
}

/** The expected credits of one request. */
function creditsOf({ network, methods, batchSize, failing }: RpcCall, contract: Contract): number {
  const { networks, multipliers, errorItemCredits, singleErrorIsDiscounted } = contract.rpc
  const base = networks[network]?.baseCredits ?? unknownBase
  const mean = meanOf(methods, method => {
    const tier = methodTier(contract, network, method)
    return tier === null ? 0 : base * multipliers[tier]
  })
  if (batchSize !== null) return (batchSize - failing) * mean + failing * errorItemCredits
  // If the price of a failing single call is not documented, the forecast assumes the higher one.
  return (1 - failing) * mean + failing * (singleErrorIsDiscounted === true ? errorItemCredits : mean)
}

/** The assumed base credits of a network: the same as the most expensive network of the reference service. */
const unknownBase = 30

/** The maximum cost of one request: every item has the most expensive method. Null if the target promises no price. */
function maxRpcPicoUsd({ network, methods, batchSize }: RpcCall, contract: Contract): bigint | null {
  if (!promisesCredits(contract)) return null
  const { networks, multipliers } = contract.rpc
  const maxMultiplier = Math.max(
    ...methods.map(([method]) => multipliers[methodTier(contract, network, method) ?? 'large']),
  )
  const base = networks[network]?.baseCredits ?? unknownBase
  return roundedPicoUsd(base * maxMultiplier * (batchSize ?? 1), contract)
}

/** Whether the target promises what requests of the RPC proxy cost. */
export const promisesCredits = (contract: Contract): boolean =>
  promisesAny(contract, ['rpc.credits.*', 'rpc.cost.*', 'billing.*'])

/** The price of credits; null if the target promises none. */
const promisedPicoUsd = (credits: number, contract: Contract): bigint | null =>
  promisesCredits(contract) ? creditsPicoUsd(credits, contract) : null

/** The price of credits. */
export const creditsPicoUsd = (credits: number, { rpc }: Contract): bigint =>
  costOfUnits(credits, pico(rpc.usdPerCredit))

/** The cost of one request, rounded up like the amount that its response shows. */
export function roundedPicoUsd(credits: number, contract: Contract): bigint {
  const lastDigit = 10n ** BigInt(12 - contract.rpc.costDecimals)
  return ((creditsPicoUsd(credits, contract) + lastDigit - 1n) / lastDigit) * lastDigit
}
