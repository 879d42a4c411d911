import { choicesOf, maxLookups } from '../../contract/chat-options.ts'
import type { ClausesOf } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { canariesIn } from '../../contract/requests/canary.ts'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import { absDifference, formatPico, nearestPico, parsePico } from '../../lib/money.ts'
import { oneOf } from '../../lib/usage-error.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { requestTraits } from '../../observation/requests/request.ts'

import { type Expect, expectFor, type Reporter } from './check.ts'
import { completionTolerance, listPrice, priceListOf, type TokenQuantities } from './price-list.ts'

/** The clauses that apply to both streamed and unstreamed completions. */
type CompletionClause = ClausesOf<'chat-response'> & ClausesOf<'chat-stream'>

type Completion = {
  readonly id: unknown
  readonly created: unknown
  readonly model: unknown
  readonly usage: unknown
  readonly cost: unknown
  /** Whether a choice ended because of its length. */
  readonly isTruncated: boolean
}

const unknownPrice = { text: 'the price of the model is not stated; the profile may state it', clause: null }

type ChatObservation = Observation & { readonly request: ChatDescriptor }

/** Checks the model and time of a completion, its usage and its cost. */
export function checkCompletion(
  { id, model, created, usage, cost: inBody, isTruncated }: Completion,
  observation: ChatObservation,
  contract: Contract,
  reporter: Reporter<CompletionClause>,
): void {
  const { request } = observation
  const expect = expectFor(reporter, observation.id)
  const cost = contract.billing.costHeader === null ? inBody : costInHeader(observation, contract)

  expect('chat.id', typeof id === 'string' && id !== '', () => `id is ${quote(id)}, expected a text`)
  // An alias may be served by another model. The id of a known model must be that model.
  const isExact = priceListOf(contract).models.has(request.model)
  const isModel = isExact ? isModelOf(model, request) : typeof model === 'string' && model !== ''
  expect('chat.model', isModel, () => `model is ${quote(model)}, expected ${isExact ? quote(request.model) : 'a name'}`)
  // A replay repeats the time of its original.
  if (!requestTraits(request).isRepetition(request))
    expect(
      'chat.created',
      isRecent(created, observation),
      () => `created is ${quote(created)}, expected the Unix time of the request in seconds`,
    )

  const counts = tokenCounts(usage)
  expect('chat.usage', counts !== null, () => `usage is ${quote(usage)}, expected three whole token counts`)
  if (counts !== null) {
    checkCounts(counts, request.maxCompletionTokens * choicesOf(request.options), expect)
    const newTokens = request.turn?.newTokens ?? request.newTokens
    // A second attempt may find the prompt of the first one in a cache.
    if (newTokens !== undefined && counts.wrong === null && !observation.retried)
      checkNewTokens(counts, newTokens, expect)
    checkDetails(usage, counts, expect)
    if (isTruncated) checkTruncation(usage, counts, request, contract, expect)
  }
  if (cost !== undefined && cost !== null) checkCost(cost, counts, observation, contract, reporter, expect)
}

/** Checks that a completion has no word that only another request asked for. It proves nothing if it lacks its own, too. */
export function checkCanary(text: string, { canary }: ChatDescriptor, expect: Expect<'chat.isolation'>): void {
  if (canary === undefined) return
  const found = canariesIn(text)
  const other = found.find(each => each !== canary)
  if (found.length === 0) return
  expect(
    'chat.isolation',
    other === undefined,
    () => `the text has ${other}, expected ${canary}: another request asked for it`,
  )
}

function checkCounts(
  { prompt, completion, total, wrong }: TokenCounts,
  bound: number,
  expect: Expect<CompletionClause>,
): void {
  expect('chat.usage.cached', wrong === null, () => `${wrong}`)
  expect(
    'chat.usage.sum',
    prompt + completion === total,
    () => `${prompt} + ${completion} tokens have the stated total ${total}, expected ${prompt + completion}`,
  )
  expect(
    'chat.max-completion-tokens',
    completion <= bound,
    () => `${completion} tokens were generated, expected at most the requested ${bound}`,
  )
}

/** The first words of a text may be those of another session by chance, and a tokenizer may join words. */
const wordsByChance = 4
const tokensPerWord = 0.75

/** Checks that the text of a turn that no request had before does not come from a cache. */
function checkNewTokens({ prompt, cached }: TokenCounts, newTokens: number, expect: Expect<CompletionClause>): void {
  const max = Math.max(0, prompt - Math.max(0, Math.floor((newTokens - wordsByChance) * tokensPerWord)))
  expect(
    'chat.usage.cached.new',
    cached <= max,
    () =>
      `${cached} of ${prompt} prompt tokens are cached, expected at most ${max}: about ${newTokens} are tokens that no request had before`,
  )
}

function checkDetails(usage: unknown, { completion }: TokenCounts, expect: Expect<CompletionClause>): void {
  const details = toObject(usage)?.completion_tokens_details
  if (details === undefined) return
  const reasoning = toObject(details)?.reasoning_tokens ?? 0
  const isNullOrObject = details === null || toObject(details) !== null
  expect('chat.usage.details', isNullOrObject && isCount(reasoning) && reasoning <= completion, () => {
    const expected = `null or whole reasoning_tokens of at most ${completion}`
    return `completion_tokens_details is ${quote(details)}, expected ${expected}`
  })
}

/**
 * Some services count reasoning in addition to the completion. If no limit was requested, the service may have its own.
 */
function checkTruncation(
  usage: unknown,
  { completion }: TokenCounts,
  { model, maxCompletionTokens: bound, options }: ChatDescriptor,
  { chat, models }: Contract,
  expect: Expect<CompletionClause>,
): void {
  const isRequested = models.some(known => known.id === model && bound < (known.maxCompletionTokens ?? 0))
  if (!chat.lengthIsBound || !isRequested || choicesOf(options) > 1 || hasOtherBound(options)) return
  const thought = toObject(toObject(usage)?.completion_tokens_details)?.reasoning_tokens
  const max = completion + (isCount(thought) ? thought : 0)
  expect(
    'chat.choice.length',
    max >= bound,
    () => `finish_reason is length after ${completion} tokens, expected at least ${bound}`,
  )
}

const hasOtherBound = (options: ChatDescriptor['options']): boolean =>
  options !== null && ('max_tokens' in options.body || 'max_completion_tokens' in options.body)

/** The cost in the header of the profile, as a body would state it. */
function costInHeader({ response }: ChatObservation, contract: Contract): unknown {
  const text = response?.headers[priceListOf(contract).costHeader]
  return text === undefined || nearestPico(text) === null ? text : { usd: Number(text), diem: 0 }
}

function checkCost(
  cost: unknown,
  counts: TokenCounts | null,
  { request: { model, options }, response }: ChatObservation,
  contract: Contract,
  reporter: Reporter<CompletionClause>,
  expect: Expect<CompletionClause>,
): void {
  const stated = statedAmounts(cost)
  expect('chat.cost', stated !== null, () => `cost is ${quote(cost)}, expected usd and diem, both non-negative numbers`)
  if (stated === null || counts === null || counts.wrong !== null) return
  const priceList = priceListOf(contract)
  const expected = listPrice(priceList, model, counts)
  if (expected === null) {
    reporter.unjudged('chat.cost.amount', unknownPrice)
    return
  }
  const said = stated.usd + stated.diem
  const isRounded = isInMicroUsd(stated, response?.headers ?? {}, contract)
  const tolerance = completionTolerance(expected, contract) + (isRounded ? microUsd : 0n)
  const lookups = maxLookups(options, contract)
  if (lookups > 0) {
    const tokens = { min: expected - tolerance, max: expected + tolerance }
    checkLookups(cost, said, tokens, lookups, contract, expect)
    return
  }
  const { prompt, completion, cached, written } = counts
  const isCached = cached + written > 0
  expect(isCached ? 'chat.cost.cached' : 'chat.cost.amount', absDifference(said, expected) <= tolerance, () => {
    const cacheNote = isCached ? `, of which ${cached} cached and ${written} written` : ''
    return `cost is ${quote(cost)}, expected ${formatPico(expected)} by the list price for ${prompt} + ${completion} tokens${cacheNote}`
  })
}

const microUsd = 1_000_000n

/** Whether a service may count in millionths of a dollar: neither the cost nor the balances beside it show a smaller part. */
function isInMicroUsd(
  { usd, diem }: Readonly<Record<'usd' | 'diem', bigint>>,
  headers: ObservedResponse['headers'],
  contract: Contract,
): boolean {
  const { usdHeader, diemHeader } = priceListOf(contract)
  const isCoarse = (name: string) => /\.\d{6}$/.test(headers[name] ?? '')
  return usd % microUsd === 0n && diem % microUsd === 0n && isCoarse(usdHeader) && isCoarse(diemHeader)
}

type CostRange = { readonly min: bigint; readonly max: bigint }

/** `tokens` is the cost of the tokens. It is open how many of the possible searches and pages were used. */
function checkLookups(
  cost: unknown,
  said: bigint,
  tokens: CostRange,
  lookups: number,
  contract: Contract,
  expect: Expect<CompletionClause>,
): void {
  const { usdPerLookup } = priceListOf(contract)
  const max = usdPerLookup === null ? null : tokens.max + BigInt(lookups) * usdPerLookup
  expect('parameters.price', said >= tokens.min && (max === null || said <= max), () => {
    const range =
      max === null ? `at least ${formatPico(tokens.min)}` : `${formatPico(tokens.min)} to ${formatPico(max)}`
    return `cost is ${quote(cost)}, expected ${range} for its tokens and at most ${lookups} lookups`
  })
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0

/**
 * The cost that a completion states in each of the two currencies; null if they are no amounts. A JSON number may have
 * floating-point noise after its 12th decimal, and is then rounded. Several judges read a cost, so it is parsed once.
 */
export const statedAmounts = memoizeLast((cost: unknown) => {
  const { usd, diem } = toObject(cost) ?? {}
  if (!isAmount(usd) || !isAmount(diem)) return null
  const [nearestUsd, nearestDiem] = [nearestPico(usd), nearestPico(diem)]
  if (nearestUsd === null || nearestDiem === null) return null
  return { usd: nearestUsd, diem: nearestDiem, isExact: parsePico(usd) !== null && parsePico(diem) !== null }
})

export function checkFinishReason(
  reason: unknown,
  { chat: { finishReasons } }: Contract,
  expect: Expect<'chat.choice.finish-reason'>,
): void {
  expect(
    'chat.choice.finish-reason',
    typeof reason === 'string' && finishReasons.includes(reason),
    () => `finish_reason is ${quote(reason)}, expected ${oneOf(finishReasons)}`,
  )
}

/** Allows for timestamps in whole seconds, and for servers that reuse a Date: one of LiteLLM was 4 s old, while it was busy. */
const stampSlackMs = 15_000

/**
 * Compares `created` with the target's own clock in its Date header, so a skew of our clock does not matter. The two
 * may differ by at most the duration of the request.
 */
function isRecent(created: unknown, { response, sentMs, endMs }: Observation): boolean {
  if (!Number.isSafeInteger(created)) return false
  const stampMs = Date.parse(response?.headers.date ?? '')
  if (Number.isNaN(stampMs) || sentMs === null || endMs === null) return true
  return Math.abs(Number(created) * 1000 - stampMs) <= endMs - sentMs + stampSlackMs
}

/** A response may repeat the option suffix with the model's name. */
const isModelOf = (model: unknown, { model: request, options }: ChatDescriptor): boolean =>
  model === request || (options !== null && options.suffix !== null && model === `${request}:${options.suffix}`)

/** The usage that a completion states. */
export type TokenCounts = TokenQuantities & {
  readonly total: number
  /** The error in these two counts, which then count as 0; null if there is none. */
  readonly wrong: string | null
}

/** Null if the usage does not state the counts. */
export function tokenCounts(usage: unknown): TokenCounts | null {
  const said = toObject(usage)
  if (said === null) return null
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = said
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return null
  return { prompt, completion, total, ...cacheCounts(said.prompt_tokens_details, prompt) }
}

type CacheCounts = Pick<TokenCounts, 'cached' | 'written' | 'wrong'>

const none: CacheCounts = { cached: 0, written: 0, wrong: null }

/** A missing or null count is 0, since few services have both. */
function cacheCounts(details: unknown, prompt: number): CacheCounts {
  if (details === undefined || details === null) return none
  const said = toObject(details)
  if (said === null) return { ...none, wrong: `prompt_tokens_details is ${quote(details)}, expected null or an object` }
  const { cached_tokens: cached, cache_creation_input_tokens: written } = said
  const [read, wrote] = [cached ?? 0, written ?? 0]
  if (!isCount(read)) return { ...none, wrong: `cached_tokens is ${quote(cached)}, expected a whole number` }
  if (!isCount(wrote))
    return { ...none, wrong: `cache_creation_input_tokens is ${quote(written)}, expected a whole number` }
  if (read === 0 && wrote === 0) return none
  if (read + wrote <= prompt) return { cached: read, written: wrote, wrong: null }
  return {
    ...none,
    wrong: `${read} tokens are cached and ${wrote} written, expected no more than the prompt's ${prompt}`,
  }
}

export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
