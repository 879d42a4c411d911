import { charge, funds } from './accounts.ts'
import type { Model } from './catalog.ts'
import { type ChatRequest, modelOf, parseChat, parseObject } from './chat-request.ts'
import { type Completion, complete, logprobsOf, messageOf } from './completion.ts'
import { type Draw, digest, drawRequest, type Exchange, showLimits, spendTokens } from './exchange.ts'
import { invalid, type Refusal } from './refusals.ts'
import { type Header, type Json, json, type Reply, withHeader } from './reply.ts'
import { streamChunks } from './stream.ts'
import type { Variant } from './variant.ts'

export const otherLimit = ({ service }: Exchange): Draw => ({ name: 'account', limit: service.catalog.others.other })

const insufficient: Refusal = {
  status: 402,
  message: 'Insufficient USD or DIEM balance to complete the request',
  code: 'INSUFFICIENT_BALANCE',
}

export const noBalance = (): Refusal => insufficient

/** The headers that name the model, and warn of its end. */
export function modelHeaders({ id, name, retires }: Pick<Model, 'id' | 'name' | 'retires'>): readonly Header[] {
  const named: readonly Header[] = [
    ['x-service-model-id', id],
    ['x-service-model-name', name],
  ]
  if (retires === null) return named
  return [
    ...named,
    ['x-service-model-deprecation-warning', `${name} will be retired`],
    ['x-service-model-deprecation-date', retires],
  ]
}

/** Models with limits of their own have windows of their own. */
const counterOf = ({ id, tier }: Model, { chatWindows, limits }: Variant): string =>
  chatWindows === 'per-tier' && limits !== 'per-model' ? `tier ${tier}` : id

/** Answers POST /chat/completions for a caller with an account. */
export function chat(exchange: Exchange): Reply | Refusal {
  const { service, account, headers } = exchange
  if (account === null) return invalid('no account')
  const { variant, catalog } = service
  const type = `${headers['content-type'] ?? ''}`.split(';')[0]?.trim().toLowerCase()
  const body = type === 'application/json' ? parseObject(exchange.body) : null
  const model = body === null ? null : modelOf(body, catalog)
  const draw: Draw =
    model === null
      ? otherLimit(exchange)
      : { name: model.id, counter: counterOf(model, variant), limit: model.requests, tokens: model.tokens }
  const early = variant.invalidCount ? drawRequest(exchange, draw) : null
  if (early !== null) return early
  showLimits(exchange, draw)
  if (type !== 'application/json') {
    return { status: 415, message: 'Content-Type must be application/json', code: 'INVALID_CONTENT_TYPE' }
  }
  if (body === null) return invalid('The body must be a JSON object')
  if (typeof body.model !== 'string') return invalid('model must be a text')
  if (model === null) return { status: 400, message: `There is no model ${body.model}`, code: 'INVALID_MODEL' }
  const parsed = parseChat(body, model)
  if (!parsed.ok) return invalid(parsed.why)
  if (model.forPayers && !account.pays)
    return { status: 401, message: 'This model is for payers', code: 'PRO_ONLY_MODEL' }
  const key = headers['idempotency-key']
  const content = digest(exchange.body)
  const kept = typeof key === 'string' ? account.kept.get(key) : undefined
  if (kept !== undefined && kept.content !== content) return invalid('This idempotency key was used with another body')
  if (kept?.reply != null) return withHeader(kept.reply, 'Idempotent-Replayed', 'true')
  const late = variant.invalidCount ? null : drawRequest(exchange, draw)
  if (late !== null) return late
  if (funds(account) <= 0) return noBalance()
  const reply = answer(exchange, parsed.value, draw)
  if (typeof key === 'string' && 'body' in reply)
    account.kept.set(key, { content, at: exchange.now, reply, done: Promise.resolve() })
  return reply
}

/** The prompt tokens that come from a cache, and those that go into it. */
function cacheUse(exchange: Exchange, { promptText, model }: ChatRequest, promptTokens: number) {
  const { service, account } = exchange
  const none = { cached: 0, written: 0 }
  if (account === null || service.variant.details !== 'full' || promptTokens < 1024) return none
  const key = `${model.id} ${digest(promptText)}`
  const part = promptTokens - (promptTokens % 128)
  if (account.prompts.has(key)) return { cached: part, written: 0 }
  account.prompts.add(key)
  return { cached: 0, written: part }
}

export type Bill = { readonly usage: Json; readonly cost: Json | null }

const detailsOf = (variant: Variant, completion: Completion, cache: { cached: number; written: number }): Json => {
  switch (variant.details) {
    case 'full':
      return {
        completion_tokens_details: { reasoning_tokens: completion.reasoningTokens },
        prompt_tokens_details: { cached_tokens: cache.cached, cache_creation_input_tokens: cache.written },
      }
    case 'null':
      return { completion_tokens_details: null, prompt_tokens_details: null }
    case 'absent':
      return {}
  }
}

function answer(exchange: Exchange, request: ChatRequest, draw: Draw): Reply | Refusal {
  const { service, account } = exchange
  if (account === null) return invalid('no account')
  const { variant, catalog } = service
  const { model } = request
  const id = service.nextId()
  const completion = complete(request, Math.floor(service.chance() * 1e9), id)
  const cache = cacheUse(exchange, request, completion.promptTokens)
  const { input, output, cached, written } = model.prices
  const amount =
    (completion.promptTokens - cache.cached - cache.written) * input +
    cache.cached * cached +
    cache.written * written +
    completion.completionTokens * output +
    completion.lookups * catalog.lookup
  const parts = charge(account, amount, variant)
  const total = completion.promptTokens + completion.completionTokens
  spendTokens(exchange, draw, total)
  const bill: Bill = {
    usage: {
      prompt_tokens: completion.promptTokens,
      completion_tokens: completion.completionTokens,
      total_tokens: total,
      ...detailsOf(variant, completion, cache),
    },
    cost: variant.costMember === 'always' ? { usd: parts.usd / 1e9, diem: parts.diem / 1e9 } : null,
  }
  const common = { id, created: Math.floor(exchange.now / 1000), model: model.id }
  const router: readonly Header[] = variant.undocumented ? [['x-service-model-router', 'pool-b']] : []
  const headers = [...modelHeaders(model), ...router]
  if (request.stream) {
    const chunks = streamChunks({ ...common, object: 'chat.completion.chunk' }, { request, completion, bill, variant })
    return {
      status: 200,
      type: 'text/event-stream',
      headers: [...headers, ['Cache-Control', 'no-cache']],
      body: { kind: 'events', chunks, paceMs: 2 },
      encoding: null,
    }
  }
  showLimits(exchange, draw)
  const whole = {
    ...common,
    object: 'chat.completion',
    choices: completion.choices.map(choice => ({
      index: choice.index,
      finish_reason: choice.finish,
      stop_reason: choice.finish === 'tool_calls' ? null : choice.finish,
      logprobs:
        request.logprobs && model.hasLogprobs && choice.call === null
          ? logprobsOf(choice.text, request.topLogprobs, variant)
          : null,
      message: messageOf(choice, variant),
    })),
    usage: bill.usage,
    ...(bill.cost !== null && { cost: bill.cost }),
    ...(variant.details === 'absent' ? {} : { prompt_logprobs: null }),
    ...(variant.echo === 'always' && { service_parameters: echoOf(request, completion) }),
    ...(variant.undocumented && { system_fingerprint: 'fp_1', service_tier: 'default' }),
  }
  return {
    ...json(200, whole, headers),
    encoding: encodingFor(`${exchange.headers['accept-encoding'] ?? ''}`, variant),
  }
}

/** The options as they were applied. */
export function echoOf({ parameters }: ChatRequest, { found }: Completion): Json {
  const { character_slug, enable_x_search: _, ...rest } = parameters
  return { ...rest, ...(character_slug !== null && { character_slug }), web_search_citations: found }
}

function encodingFor(accepted: string, { encoding }: Variant): 'gzip' | 'br' | null {
  const offered = accepted.split(',').flatMap(part => {
    const [name = '', quality = ''] = part.trim().split(/\s*;\s*q=/)
    return quality !== '' && Number(quality) === 0 ? [] : [name.toLowerCase()]
  })
  const order = encoding === 'gzip-first' ? (['gzip', 'br'] as const) : (['br', 'gzip'] as const)
  return order.find(name => offered.includes(name)) ?? null
}
