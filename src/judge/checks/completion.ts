import { choicesOf, mostLookups } from '../../contract/chat-options.ts'
import type { ClausesOf } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import { absDifference, formatPico, parsePico, pico } from '../../lib/money.ts'
import { oneOf } from '../../lib/usage-error.ts'
import type { ChatDescriptor, Observation } from '../../observation/observation.ts'

import { type Expect, expectFor, type Reporter } from './check.ts'
import { listPrice, priceListOf, toleranceOf } from './price-list.ts'

/** The clauses that hold for a completion whether it was streamed or not. */
type CompletionClause = ClausesOf<'chat-response'> & ClausesOf<'chat-stream'>

type Completion = {
  readonly id: unknown
  readonly created: unknown
  readonly model: unknown
  readonly usage: unknown
  readonly cost: unknown
  /** Whether a choice ended for its length. */
  readonly isCut: boolean
}

type ChatObservation = Observation & { readonly request: ChatDescriptor }

/** Who made the completion and when, what it used, what it cost. */
export function checkCompletion(
  { id, model, created, usage, cost, isCut }: Completion,
  observation: ChatObservation,
  contract: Contract,
  say: Reporter<CompletionClause>,
): void {
  const { request } = observation
  const expect = expectFor(say, observation.id)

  expect('chat.id', typeof id === 'string' && id !== '', () => `id is ${quote(id)}, expected a text`)
  // An alias may be answered by the model that it stands for; the id of a known model is that model.
  const isExact = priceListOf(contract).models.has(request.model)
  const isModel = isExact ? isModelOf(model, request) : typeof model === 'string' && model !== ''
  expect('chat.model', isModel, () => `model is ${quote(model)}, expected ${isExact ? quote(request.model) : 'a name'}`)
  expect(
    'chat.created',
    isRecent(created, observation),
    () => `created is ${quote(created)}, expected the Unix time of the request in seconds`,
  )

  const counts = tokenCounts(usage)
  expect('chat.usage', counts !== null, () => `usage is ${quote(usage)}, expected three whole token counts`)
  if (counts !== null) {
    checkCounts(counts, request.maxCompletionTokens * choicesOf(request.options), expect)
    checkDetails(usage, counts, expect)
    if (isCut) checkCut(usage, counts, request, contract, expect)
  }
  if (cost !== undefined && cost !== null) checkCost(cost, counts, request, contract, expect)
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
    () => `${prompt} + ${completion} tokens are said to be ${total}, expected ${prompt + completion}`,
  )
  expect(
    'chat.max-completion-tokens',
    completion <= bound,
    () => `${completion} tokens were generated, at most ${bound} were asked for`,
  )
}

function checkDetails(usage: unknown, { completion }: TokenCounts, expect: Expect<CompletionClause>): void {
  const details = toObject(usage)?.completion_tokens_details
  if (details === undefined) return
  const reasoning = toObject(details)?.reasoning_tokens ?? 0
  const isShaped = details === null || toObject(details) !== null
  expect('chat.usage.details', isShaped && isCount(reasoning) && reasoning <= completion, () => {
    const expected = `null or whole reasoning_tokens of at most ${completion}`
    return `completion_tokens_details is ${quote(details)}, expected ${expected}`
  })
}

/** Some count what was thought beside the completion. Of a bound that was not asked for, ours may not be theirs. */
function checkCut(
  usage: unknown,
  { completion }: TokenCounts,
  { model, maxCompletionTokens: bound, options }: ChatDescriptor,
  { chat, models }: Contract,
  expect: Expect<CompletionClause>,
): void {
  const isAsked = models.some(known => known.id === model && bound < known.maxCompletionTokens)
  if (!chat.lengthIsBound || !isAsked || choicesOf(options) > 1 || hasOtherBound(options)) return
  const thought = toObject(toObject(usage)?.completion_tokens_details)?.reasoning_tokens
  const max = completion + (isCount(thought) ? thought : 0)
  expect(
    'chat.choice.length',
    max >= bound,
    () => `finish_reason is length after ${completion} tokens, expected ${bound} before that`,
  )
}

const hasOtherBound = (options: ChatDescriptor['options']): boolean =>
  options !== null && ('max_tokens' in options.body || 'max_completion_tokens' in options.body)

function checkCost(
  cost: unknown,
  counts: TokenCounts | null,
  { model, options }: ChatDescriptor,
  contract: Contract,
  expect: Expect<CompletionClause>,
): void {
  const { usd, diem } = toObject(cost) ?? {}
  const isCost = isAmount(usd) && isAmount(diem)
  expect('chat.cost', isCost, () => `cost is ${quote(cost)}, expected usd and diem, both numbers not below zero`)
  if (!isCost || counts === null || counts.wrong !== null) return
  const priceList = priceListOf(contract)
  const expected = listPrice(priceList, model, counts)
  if (expected === null) return
  // A cost may be rounded to what a balance can show.
  const tolerance = toleranceOf(expected, contract.chat.costTolerance) + priceList.balanceGrain
  const said = claimedPicoUsd(usd) + claimedPicoUsd(diem)
  const lookups = mostLookups(options, contract)
  if (lookups > 0) {
    const tokens = { min: expected - tolerance, max: expected + tolerance }
    checkLookups(cost, said, tokens, lookups, contract, expect)
    return
  }
  const { prompt, completion, cached, written } = counts
  const isCached = cached + written > 0
  expect(isCached ? 'chat.cost.cached' : 'chat.cost.amount', absDifference(said, expected) <= tolerance, () => {
    const apart = isCached ? `, of which ${cached} cached and ${written} written` : ''
    return `cost is ${quote(cost)}, expected ${formatPico(expected)} by the list price for ${prompt} + ${completion} tokens${apart}`
  })
}

type CostRange = { readonly min: bigint; readonly max: bigint }

/** Tokens cost `tokens`; how much of what may be searched or scraped was, is open. */
function checkLookups(
  cost: unknown,
  said: bigint,
  tokens: CostRange,
  lookups: number,
  { chat }: Contract,
  expect: Expect<CompletionClause>,
): void {
  const { usdPerLookup } = chat.search
  if (usdPerLookup === null) return
  const max = tokens.max + BigInt(lookups) * pico(usdPerLookup)
  expect('parameters.price', said >= tokens.min && said <= max, () => {
    const range = `${formatPico(tokens.min)} to ${formatPico(max)}`
    return `cost is ${quote(cost)}, expected ${range} for its tokens and at most ${lookups} lookups`
  })
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0

/** A JSON number may carry the noise of a double after its 12th decimal. */
export const claimedPicoUsd = (amount: number): bigint => parsePico(amount) ?? pico(amount.toFixed(12))

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

/** Stamps of whole seconds, and servers that write the same Date for a moment. */
const stampSlackMs = 2000

/**
 * The target's own clock is in its Date header, so the skew of ours does not matter: `created` lies no further from that
 * stamp than the answer took.
 */
function isRecent(created: unknown, { response, sentMs, endMs }: Observation): boolean {
  if (!Number.isSafeInteger(created)) return false
  const stampMs = Date.parse(response?.headers.date ?? '')
  if (Number.isNaN(stampMs) || sentMs === null || endMs === null) return true
  return Math.abs(Number(created) * 1000 - stampMs) <= endMs - sentMs + stampSlackMs
}

/** The options after the name of a model may be repeated with it. */
const isModelOf = (model: unknown, { model: request, options }: ChatDescriptor): boolean =>
  model === request || (options !== null && options.suffix !== null && model === `${request}:${options.suffix}`)

/** What a completion says that it used. */
type TokenCounts = {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  /** Of the prompt, what came from a cache and what was written to one. */
  readonly cached: number
  readonly written: number
  /** What is wrong with the two, which then count as nothing; null: nothing is. */
  readonly wrong: string | null
}

/** Null where it does not say it. */
export function tokenCounts(usage: unknown): TokenCounts | null {
  const said = toObject(usage)
  if (said === null) return null
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = said
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return null
  return { prompt, completion, total, ...cacheCounts(said.prompt_tokens_details, prompt) }
}

type CacheCounts = Pick<TokenCounts, 'cached' | 'written' | 'wrong'>

const none: CacheCounts = { cached: 0, written: 0, wrong: null }

/** A count that is missing, or null, is none: few services have both. */
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
