import type { Contract, Model } from '../../contract/contract.ts'
import { moneyHeadersOf } from '../../contract/headers.ts'
import type { Draw } from '../../contract/limiters.ts'

import { isObject, parseUncut, toObject } from '../../lib/json.ts'
import { formatPico, pico as picoOf } from '../../lib/money.ts'
import { randomStream } from '../../lib/random.ts'
import { type Account, currencyFor, type DeferredCharge } from '../account.ts'
import type { Behavior } from '../behavior.ts'
import type { ServiceLatency } from '../capacity.ts'
import type { Strike } from '../faults.ts'
import type { Identifiers } from '../identifiers.ts'
import { keyedReplies, replayWhole, storeSuccess } from '../keyed-replies.ts'
import { type Admission, chatDraw, type Limiter } from '../limiter.ts'
import { retirementDate } from '../lists.ts'
import { errorReply, jsonReply, type Reply, type RequestState } from '../message.ts'
import { namedModel } from '../router.ts'
import type { ChatUpstream } from '../upstream/chat-upstream.ts'
import {
  type Choice,
  type CompletionHead,
  costOf,
  type GeneratedChoice,
  generateChoice,
  joinTokens,
  listPricePico,
  logprobsOf,
  usageOf,
} from './completion.ts'
import { renderChoice, searchWeb, withCanary } from './content.ts'
import { hangUpOn } from './hang-up.ts'
import { echoOf } from './options.ts'
import { promptCache } from './prompt-cache.ts'
import { chatRelay } from './relay.ts'
import { type ChatRequest, chatRequestParser } from './request.ts'
import { lastTokenMs, streamChunks, streamHeadMs, toolCallsOf } from './stream.ts'

type ChatHandlerDeps = {
  readonly contract: Contract
  readonly behavior: Behavior
  readonly limiter: Limiter
  readonly identifiers: Identifiers
  readonly seed: number
  readonly maybeFail: Strike
  /** The reply to an account whose balance does not cover a request. */
  readonly paymentRequired: (state: RequestState, account: Account) => Reply
  readonly timing: ServiceLatency
  /** null: completions are simulated. */
  readonly chatUpstream: ChatUpstream | null
}

/** A request without a mistake. */
type ValidChat = {
  readonly state: RequestState
  readonly account: Account
  readonly model: Model
  readonly request: ChatRequest
  readonly body: unknown
  readonly draw: Draw
  readonly admission: Admission
}

/** `leaves` aborts when the caller disconnects. */
export type ChatHandler = (state: RequestState, account: Account, leaves: AbortSignal) => Reply | Promise<Reply>

/** Handles chat completions, whole or streamed. A completion is billed by its tokens once it is complete. */
export function chatHandler(options: ChatHandlerDeps): ChatHandler {
  const { contract, behavior, limiter, identifiers, seed, timing, maybeFail, paymentRequired, chatUpstream } = options
  const { headerPrefix, chat } = contract
  const models = new Map(contract.models.map(model => [model.id, model]))
  const cache = promptCache()
  const parseRequest = chatRequestParser(contract, behavior)
  const { usdPerRequest, costHeader } = contract.billing
  const perRequest = picoOf(usdPerRequest ?? '0')
  const { rpcCostUsd } = moneyHeadersOf(contract)
  const keyed = keyedReplies({ contract, behavior })
  const relay = chatUpstream === null ? null : chatRelay({ contract, behavior, identifiers, upstream: chatUpstream })

  const { calls } = contract.idempotency
  /** What an upstream streams is passed on and not kept. */
  const hasKeys = ({ stream }: ChatRequest) =>
    stream ? calls.includes('stream') && relay === null : calls.includes('chat')

  return (state, account, leaves) => {
    // The model decides the limits, so the body is read before its content type is checked.
    const body = behavior.chatBody(parseUncut(state.request.body))
    const model = models.get(namedModel(body))
    const draw = chatDraw(contract.models, model?.id ?? '')
    const admission = limiter.enter(state, account, draw)
    if (model !== undefined) {
      state.headers[`${headerPrefix}model-id`] = model.id
      state.headers[`${headerPrefix}model-name`] = model.name
      if (model.lifecycle === 'deprecated') {
        state.headers[`${headerPrefix}model-deprecation-warning`] = `${model.name} will be retired on ${retirementDate}`
        state.headers[`${headerPrefix}model-deprecation-date`] = retirementDate
      }
    }
    if (!admission.admitted) return limiter.reject(state, draw)
    if (!behavior.acceptsChatType(state.request.headers['content-type']))
      return errorReply(state, chat.wrongMediaTypeStatus, 'Content-Type must be application/json')
    if (body === undefined) return errorReply(state, 400, 'Invalid JSON request')
    if (model === undefined)
      return errorReply(state, 400, 'The model is missing or unknown', { issues: [{ path: ['model'] }] })
    if (!behavior.mayUse(account, model)) return errorReply(state, 401, 'This model is for paying users only')
    const request = parseRequest(body, model)
    if ('issues' in request) return errorReply(state, 400, 'Invalid request parameters', { issues: request.issues })
    const objection = isObject(body) ? behavior.chatObjection(body) : null
    if (objection !== null) return errorReply(state, 400, objection)

    const valid = { state, account, model, request, body, draw, admission }
    if (!hasKeys(request)) return admit(valid, leaves)
    return keyed(state, account, '', {
      first: store => {
        const reply = admit(valid, leaves)
        const costUsd = formatPico(account.deferred.at(-1)?.charge.pico ?? 0n)
        return reply instanceof Promise
          ? reply.then(ended => storeSuccess(ended, state, costUsd, store))
          : storeSuccess(reply, state, costUsd, store)
      },
      again: stored => {
        const picoUsd = behavior.replayChargePicoUsd(stored)
        if (picoUsd !== 0n) behavior.charge(account, { currency: currencyFor(account, picoUsd), pico: picoUsd })
        return replayWhole(state, stored)
      },
    })
  }

  /** Checks the balance and the tokens of a valid request, and completes it. */
  function admit(valid: ValidChat, leaves: AbortSignal): Reply | Promise<Reply> {
    const { state, account, model, request, body, draw, admission } = valid
    const allowed = request.choices * request.maxCompletionTokens
    const maxUsage = { prompt_tokens: request.promptTokens, completion_tokens: allowed }
    const maxPico = (model.usdPerMillion === null ? 0n : listPricePico(maxUsage, model.usdPerMillion)) + perRequest
    if (maxPico > 0n && !behavior.canPay(account, maxPico)) return paymentRequired(state, account)
    const fault = maybeFail(state)
    if (fault !== null) return fault
    account.slots = account.slots.filter(({ endMs }) => endMs > state.arrivedMs)
    if (chat.atOnce !== null && account.slots.length >= chat.atOnce.requests)
      return limiter.reject(state, draw, { customMessage: chat.atOnce.message })
    if (!limiter.reserve(state, account, draw, admission, { input: request.promptTokens, output: allowed }))
      return limiter.reject(state, draw, {}, 'TPM')
    const reserved = request.promptTokens + allowed
    return relay !== null && isObject(body)
      ? relay(
          { state, account, model, request, body, giveBack: admission.giveBack, reserved, heldPico: maxPico },
          leaves,
        )
      : complete(state, account, model, request, admission, reserved)
  }

  function complete(
    state: RequestState,
    account: Account,
    model: Model,
    request: ChatRequest,
    admission: Admission,
    reserved: number,
  ): Reply {
    state.headers[`${headerPrefix}model-router`] = 'reference'
    state.headers[`${headerPrefix}is-content-violation`] = 'false'
    // The first completion waits for its model to load, which takes one retry.
    if (account.completions === 0) state.headers['x-retry-count'] = '1'
    const own = `completion/${account.tier}/${account.name}/${account.completions++}`
    const random = randomStream(seed, request.fixedBy === null ? own : `fixed/${model.id}/${request.fixedBy}`)
    const { sources, lookups } = searchWeb(request.options, request.userText, behavior)
    const owner = `${account.tier}/${account.name}/${model.id}`
    const cached = behavior.cacheUse(cache(owner, request.prefixes(), state.arrivedMs), request.promptTokens)
    const generated = Array.from({ length: request.choices }, () =>
      renderChoice(
        withCanary(generateChoice(request, behavior, timing, random), request.userText()),
        request,
        sources,
        behavior,
      ),
    )
    const usage = usageOf(request.promptTokens, generated, request.thinks, cached)
    const ofTokens = model.usdPerMillion === null ? null : behavior.chatCostPico(usage, model.usdPerMillion)
    const isPriced = ofTokens !== null || usdPerRequest !== null
    const pico = isPriced ? behavior.withLookups((ofTokens ?? 0n) + perRequest, lookups) : null
    const currency = currencyFor(account, pico ?? 0n)
    const endMs = lastTokenMs(generated)
    const due: DeferredCharge = {
      // A timer can fire a fraction of a millisecond early, and the charge must come before the last byte.
      dueMs: state.arrivedMs + Math.max(0, endMs - 1),
      charge: { currency, pico: pico ?? 0n },
      giveBack: admission.giveBack,
      unusedTokens: reserved - behavior.usedTokens(usage),
    }
    account.deferred = [...account.deferred, due]
    const slot = { endMs: state.arrivedMs + Math.max(0, endMs - 1) }
    account.slots = [...account.slots, slot]
    const { arrivedMs } = state
    const { stream: isStream } = request
    const onLeave = hangUpOn(
      { account, model, usage, generated, arrivedMs, isStream, due, slot, perRequestPico: perRequest },
      behavior,
    )

    const cost = pico === null ? null : behavior.cost(costOf(pico, currency))
    if (cost !== null && costHeader !== null) state.headers[rpcCostUsd] = costText(cost)
    const closing = {
      usage: behavior.usage(usage),
      ...(cost !== null && costHeader === null && { cost }),
      ...(request.echoes ? { [chat.parametersField]: echoOf(request.options, sources, behavior) } : {}),
    }
    const head = {
      id: identifiers.completionId(),
      object: request.stream ? chat.stream.chunkObject : 'chat.completion',
      created: Math.floor(state.arrivedMs / 1000),
      model: model.id,
    }
    if (!request.stream) return { ...whole(state, request, head, generated, closing, endMs), onLeave }
    state.headers['content-type'] = 'text/event-stream'
    const showsResults = sources.length > 0 && request.options.include_search_results_in_stream === true
    const results = showsResults ? { [chat.parametersField]: { web_search_citations: sources } } : null
    const { doneMarker } = chat.stream
    const resultsAt = chat.search.resultsInStream === 'last' ? 'last' : 'first'
    const { topLogprobs } = request
    const chunks = streamChunks({
      head,
      generated,
      topLogprobs,
      results,
      resultsAt,
      closing,
      doneMarker,
      rules: behavior,
    })
    const afterMs = streamHeadMs(generated)
    return { status: 200, headers: state.headers, afterMs, body: { kind: 'stream', chunks }, onLeave }
  }

  function whole(
    state: RequestState,
    { topLogprobs }: ChatRequest,
    head: CompletionHead,
    generated: readonly GeneratedChoice[],
    closing: Readonly<Record<string, unknown>>,
    afterMs: number,
  ): Reply {
    const choices = generated.map(({ reasoning, shown, toolCall, finishReason }, index): Choice => {
      return {
        index,
        finish_reason: behavior.finishReason(finishReason),
        stop_reason: behavior.stopReason(finishReason),
        logprobs:
          topLogprobs === null
            ? null
            : logprobsOf(
                shown.map(({ word }) => word),
                topLogprobs,
              ),
        message: {
          role: 'assistant',
          content: toolCall === null ? joinTokens(shown) : null,
          reasoning_content: reasoning.length === 0 ? null : joinTokens(reasoning),
          ...(reasoning.length === 0 ? {} : thoughtsOf(joinTokens(reasoning))),
          ...(toolCall === null ? {} : { tool_calls: toolCallsOf(toolCall, head) }),
        },
      }
    })
    const completion = {
      prompt_logprobs: null,
      ...behavior.completionHead(head),
      choices: choices.map(behavior.choice),
      ...closing,
    }
    return jsonReply(state, completion, afterMs)
  }
}

/** The cost of a completion as a header states it. What is not a cost stays no amount. */
const costText = (cost: unknown): string => {
  const { usd = 0, diem = 0 } = toObject(cost) ?? {}
  return typeof usd === 'number' && typeof diem === 'number' ? (usd + diem).toFixed(12) : String(usd)
}

/** Fields that a caller passes back unchanged when it continues the conversation. */
const thoughtsOf = (thoughts: string) => ({
  reasoning_details: [{ type: 'reasoning.text', text: thoughts, format: 'reference', index: 0 }],
  thought_signature: Buffer.from(thoughts).toString('base64url').slice(0, 24),
})
