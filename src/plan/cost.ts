import { choicesOf, maxLookups } from '../contract/chat-options.ts'
import { type Contract, type Model, methodTier, resourceOf } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { probeOf } from '../contract/probes.ts'
import { promisesAny } from '../contract/promises.ts'
import { formatPico, pico } from '../lib/money.ts'
import { estimatedPromptTokens } from '../scenario/tier-rate.ts'
import { type Call, meanOf, type RpcCall } from './plan.ts'

/**
 * Expected credits of one arrival. Replays and conflicts cost nothing. A request of another caller costs as much as the
 * original, and so does a repetition after its key has expired.
 */
export function creditsPerArrival(call: Call, contract: Contract): number {
  if (call.kind === 'rpc') return creditsOf(call, contract)
  if (call.kind === 'probe') return probeOf(call.probe).credits?.(contract) ?? 0
  if (call.kind !== 'replay') return 0
  const isLate = call.repeatAfterMs !== null && call.repeatAfterMs >= contract.idempotency.ttlMs
  return creditsOf(call.of, contract) * (1 + call.otherCallerRatio + (isLate ? 1 : 0))
}

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

/**
 * The maximum cost of one arrival in pico-USD: that of each of its requests, even those that should be free. Null if a
 * price is unknown.
 */
function maxPicoUsd(call: Call, contract: Contract): bigint | null {
  const request = maxRequestPicoUsd(call, contract)
  if (request === null) return null
  // A broken service may charge each of them.
  if (call.kind === 'probe') return request * BigInt(call.copies ?? 1)
  if (call.kind !== 'replay') return request
  const { duplicates, conflictRatio, otherKeyRatio, otherCallerRatio, repeatAfterMs } = call
  const possible = [conflictRatio > 0, otherKeyRatio > 0, otherCallerRatio > 0, repeatAfterMs !== null]
  return request * BigInt(1 + duplicates + possible.filter(Boolean).length)
}

/**
 * The maximum cost of one request in pico-USD: the longest completion, and the most expensive method for every item. Null
 * if a price is unknown.
 */
function maxRequestPicoUsd(call: Call, contract: Contract): bigint | null {
  if (isPriceless(call, contract)) return null
  switch (call.kind) {
    case 'chat':
      return chatPicoUsd(call, 1, contract, maxPromptPrice)
    case 'resource':
      return resourcePicoUsd(call.resource, contract)
    case 'probe':
      return rpcPicoUsd(creditsPerArrival(call, contract), contract)
    case 'replay':
      return rpcPicoUsd(maxCredits(call.of, contract), contract)
    case 'top-up':
      return call.pay ? pico(call.usd) : 0n
    case 'rpc':
      return rpcPicoUsd(maxCredits(call, contract), contract)
    default:
      return 0n
  }
}

function maxCredits({ network, methods, batchSize }: RpcCall, contract: Contract): number {
  const { networks, multipliers } = contract.rpc
  const maxMultiplier = Math.max(
    ...methods.map(([method]) => multipliers[methodTier(contract, network, method) ?? 'large']),
  )
  return (networks[network]?.baseCredits ?? unknownBase) * maxMultiplier * (batchSize ?? 1)
}

/**
 * What to reserve for an arrival and for each of its requests, in pico-USD. If nobody states the price of a model, a
 * resource or a search, it is that of the dearest one of the reference service. A request that costs more raises the
 * reservations of its call.
 */
export function reservedPicoUsd(
  call: Call,
  contract: Contract,
): { readonly arrival: bigint; readonly request: bigint } {
  const models = contract.models.map(model => ({ ...model, usdPerMillion: model.usdPerMillion ?? assumedPrice }))
  const resources = Object.fromEntries(
    Object.entries(contract.resources).map(
      ([name, resource]) => [name, { ...resource, worstUsd: resource.worstUsd ?? assumedWorstUsd }] as const,
    ),
  )
  const { search } = contract.chat
  const usdPerLookup = search.usdPerLookup ?? documentedContract.chat.search.usdPerLookup
  const chat = { ...contract.chat, search: { ...search, usdPerLookup } }
  const priced = { ...contract, models, resources, chat }
  return { arrival: maxPicoUsd(call, priced) ?? 0n, request: maxRequestPicoUsd(call, priced) ?? 0n }
}
const assumedWorstUsd = '5'
const assumedPrice = { input: '0.90', output: '4.50', cacheInput: null, cacheWrite: '1.20' } as const

/** The base credits of a network for which nobody states them: those of the dearest network of the reference service. */
const unknownBase = 30

/** The cost of one request, rounded up like the amount that its response shows. */
function rpcPicoUsd(credits: number, { rpc: { usdPerCredit, costDecimals } }: Contract): bigint {
  const lastDigit = 10n ** BigInt(12 - costDecimals)
  return ((costOf(credits, pico(usdPerCredit), 1n) + lastDigit - 1n) / lastDigit) * lastDigit
}

/** The maximum cost of some chat arrivals, with prompt tokens of this price; null if a price is unknown. */
function chatPicoUsd(call: ChatCall, arrivals: number, contract: Contract, promptPrice: PromptPrice): bigint | null {
  const { model, options } = call
  const requested = options?.body.model ?? model
  const priceIn = ({ models }: Pick<Contract, 'models'>) => models.find(({ id }) => id === requested)?.usdPerMillion
  // A default price is never asserted, and it is better than none for a forecast.
  const price = priceIn(contract) ?? priceIn(documentedContract) ?? null
  const lookups = lookupsPicoUsd(call, arrivals, contract)
  if (price === null || lookups === null) return null
  const promptTokens = estimatedPromptTokens(call.promptTokens) + extraTokens(options)
  const prompt = costOf(arrivals * promptTokens, promptPrice(price), 1_000_000n)
  const completionTokens = maxCompletionTokens(call, contract) * choicesOf(options)
  return prompt + costOf(arrivals * completionTokens, pico(price.output), 1_000_000n) + lookups
}

type PromptPrice = (price: NonNullable<Model['usdPerMillion']>) => bigint

type ChatCall = Extract<Call, { kind: 'chat' }>

/** Fields of the body override the limit of the call. A limit of 0 or less, or none, is that of the model. */
function maxCompletionTokens({ model, maxCompletionTokens, options }: ChatCall, { models }: Contract): number {
  const body = options?.body ?? {}
  const ofModel = models.find(({ id }) => id === (body.model ?? model))?.maxCompletionTokens ?? maxCompletionTokens
  const written = ['max_completion_tokens', 'max_tokens'].filter(name => Object.hasOwn(body, name))
  if (!written.includes('max_completion_tokens') && body.model === undefined) return maxCompletionTokens
  const limits = written.map(name => body[name]).map(limit => (isLimit(limit) ? limit : ofModel))
  return Math.max(...(limits.length === 0 ? [maxCompletionTokens] : limits))
}

const isLimit = (value: unknown): value is number => typeof value === 'number' && value > 0

/** The most tokens that lists and mappings of the body can add, such as messages and tools: one for each byte. */
function extraTokens(options: ChatCall['options']): number {
  const values = Object.values(options?.body ?? {}).filter(value => typeof value === 'object' && value !== null)
  return values.reduce<number>((sum, value) => sum + Buffer.byteLength(JSON.stringify(value)), 0)
}

/** Whether the target promises no price for such a call, so that no amount is known. */
function isPriceless({ kind }: Call, contract: Contract): boolean {
  if (kind === 'chat') return !promisesAny(contract, ['chat.cost*', 'billing.*'])
  if (kind === 'rpc' || kind === 'replay') return !promisesAny(contract, ['rpc.credits.*', 'rpc.cost.*', 'billing.*'])
  return false
}

/** Tokens written to a cache may cost more than others. */
const maxPromptPrice: PromptPrice = ({ input, cacheInput, cacheWrite }) =>
  [pico(cacheInput ?? '0'), pico(cacheWrite ?? '0')].reduce((a, b) => (a > b ? a : b), pico(input))

function resourcePicoUsd(name: string, contract: Contract): bigint | null {
  const usd = resourceOf(contract, name)?.worstUsd ?? null
  return usd === null ? null : pico(usd)
}

/** The maximum cost of searching and scraping; null if its price is unknown. */
function lookupsPicoUsd(call: ChatCall, arrivals: number, contract: Contract): bigint | null {
  const lookups = arrivals * maxLookups(call.options, contract)
  const { usdPerLookup } = contract.chat.search
  if (lookups === 0) return 0n
  return usdPerLookup === null ? null : costOf(lookups, pico(usdPerLookup), 1n)
}

/** Arrivals of each call; expectations, so they may be fractions. */
type CallCounts = readonly { readonly call: Call; readonly arrivals: number }[]

/** Dollars if every completion has its maximum length, rounded up; null if a price is unknown. */
export function maxUsd(counts: CallCounts, contract: Contract): string | null {
  let picoUsd = 0n
  for (const { call, arrivals } of counts) {
    if (isPriceless(call, contract)) return null
    if (call.kind === 'chat') {
      const cost = chatPicoUsd(call, arrivals, contract, ({ input }) => pico(input))
      if (cost === null) return null
      picoUsd += cost
    } else if (call.kind === 'resource') {
      const price = resourcePicoUsd(call.resource, contract)
      if (price === null) return null
      picoUsd += costOf(arrivals, price, 1n)
    } else if (call.kind === 'top-up') {
      picoUsd += call.pay ? costOf(arrivals, pico(call.usd), 1n) : 0n
    } else {
      picoUsd += costOf(arrivals * creditsPerArrival(call, contract), pico(contract.rpc.usdPerCredit), 1n)
    }
  }
  return formatPico(picoUsd)
}

/** `units` may be a fraction; the price is per `per` units. Rounded up. */
function costOf(units: number, picoUsdPrice: bigint, per: bigint): bigint {
  return (roundUp(units) * picoUsdPrice + per - 1n) / per
}

/** Rounds up, but ignores floating-point error: 210.00000000000003 is 210. */
const roundUp = (units: number): bigint => BigInt(Math.ceil(Number(units.toPrecision(12))))
