import type { Contract, Model } from '../contract/contract.ts'
import { isObject, parseJson } from '../lib/json.ts'
import { formatPico } from '../lib/money.ts'
import { randomStream } from '../lib/random.ts'
import { type Account, currencyFor } from './account.ts'
import { formDraft } from './answer-form.ts'
import type { AppliedOptions } from './applied-options.ts'
import type { Behaviour } from './behaviour.ts'
import { type ChatRequest, chatRequestParser } from './chat-request.ts'
import {
  type Choice,
  type CompletionHead,
  type Cost,
  type Draft,
  draftChoice,
  listPricePico,
  text,
  usageOf,
} from './completion.ts'
import { calls, lastTokenMs, streamChunks, streamHeadMs } from './completion-stream.ts'
import { controlLimits, retirementDate } from './control.ts'
import type { Strike } from './faults.ts'
import type { Identifiers } from './identifiers.ts'
import type { Entry, Limiter } from './limiter.ts'
import { logprobsOf } from './logprobs.ts'
import type { Reply } from './message.ts'
import { namedModel } from './named-model.ts'
import { promptCache } from './prompt-cache.ts'
import type { Timing } from './timing.ts'
import { insufficient, json, refuse, type Visit } from './visit.ts'
import { lookUp, type Source } from './web-search.ts'

export type ChatOptions = {
  readonly contract: Contract
  readonly behaviour: Behaviour
  readonly limiter: Limiter
  readonly identifiers: Identifiers
  readonly seed: number
  readonly strike: Strike
  readonly timing: Timing
}

/** Chat completions, whole or streamed, billed in tokens once they are complete. */
export function chatCompletions(options: ChatOptions): (visit: Visit, account: Account) => Reply {
  const { contract, behaviour, limiter, identifiers, seed, timing, strike } = options
  const { headerPrefix, chat } = contract
  const models = new Map(contract.models.map(model => [model.id, model]))
  const cache = promptCache()
  const parseRequest = chatRequestParser(contract, behaviour)

  return (visit, account) => {
    // Limits are kept by model: even a request of another content type is looked into, for the model that it names.
    const body = behaviour.chatBody(parseJson(visit.request.body))
    const model = models.get(namedModel(body))
    const limits = model === undefined ? undefined : contract.accounts[account.tier][model.tier]
    const entry = limiter.enter(
      visit,
      account,
      model === undefined ? 'control' : model.id,
      limits === undefined ? controlLimits : { requests: limits.requestsPerMinute, tokens: limits.tokensPerMinute },
    )
    if (!entry.admitted) return limiter.reject(visit, model?.id ?? 'control')
    if (model !== undefined) {
      visit.headers[`${headerPrefix}model-id`] = model.id
      visit.headers[`${headerPrefix}model-name`] = model.name
      if (model.lifecycle === 'deprecated') {
        visit.headers[`${headerPrefix}model-deprecation-warning`] = `${model.name} will be retired on ${retirementDate}`
        visit.headers[`${headerPrefix}model-deprecation-date`] = retirementDate
      }
    }
    if (!behaviour.acceptsChatType(visit.request.headers['content-type']))
      return refuse(visit, chat.wrongMediaTypeStatus, 'Content-Type must be application/json')
    if (body === undefined) return refuse(visit, 400, 'Invalid JSON request')
    if (model === undefined)
      return refuse(visit, 400, 'The model is missing or unknown', { issues: [{ path: ['model'] }] })
    if (!behaviour.mayUse(account, model)) return refuse(visit, 401, 'This model is for paying users only')
    const request = parseRequest(body, model)
    if ('issues' in request) return refuse(visit, 400, 'Invalid request parameters', { issues: request.issues })
    const objection = isObject(body) ? behaviour.chatObjection(body) : null
    if (objection !== null) return refuse(visit, 400, objection)

    const allowed = request.choices * request.maxCompletionTokens
    const most = { prompt_tokens: request.promptTokens, completion_tokens: allowed }
    if (model.usdPerMillion !== null && !behaviour.covers(account, listPricePico(most, model.usdPerMillion))) {
      return insufficient(visit, contract)
    }
    const fault = strike(visit)
    if (fault !== null) return fault
    if (!limiter.reserve(visit, entry, request.promptTokens + allowed))
      return limiter.reject(visit, model.id, {}, 'TPM')
    return complete(visit, account, model, request, entry, request.promptTokens + allowed)
  }

  function complete(
    visit: Visit,
    account: Account,
    model: Model,
    request: ChatRequest,
    entry: Entry,
    reserved: number,
  ): Reply {
    visit.headers[`${headerPrefix}model-router`] = 'reference'
    visit.headers[`${headerPrefix}is-content-violation`] = 'false'
    // The model has to be loaded for the first.
    if (account.completions === 0) visit.headers['x-retry-count'] = '1'
    const random = randomStream(seed, `completion/${account.tier}/${account.name}/${account.completions++}`)
    const { sources, lookups } = lookUp(request.options, request.userText, behaviour)
    const owner = `${account.tier}/${account.name}/${model.id}`
    const cached = cache(owner, request.prefixes(), visit.arrivedMs)
    const drafts = Array.from({ length: request.choices }, () =>
      formDraft(draftChoice(request, behaviour, timing, random), request, sources, behaviour),
    )
    const usage = usageOf(request.promptTokens, drafts, request.thinks, cached)
    const pico =
      model.usdPerMillion === null
        ? null
        : behaviour.withLookups(behaviour.chatCostPico(usage, model.usdPerMillion), lookups)
    const currency = currencyFor(account, pico ?? 0n)
    const endMs = lastTokenMs(drafts)
    account.unsettled = [
      ...account.unsettled,
      {
        // A timer can fire a fraction of a millisecond early, and the charge has to be there before the last byte is.
        dueMs: visit.arrivedMs + Math.max(0, endMs - 1),
        charge: { currency, pico: pico ?? 0n },
        window: entry.window,
        unusedTokens: reserved - behaviour.usedTokens(usage),
      },
    ]

    const amount = Number(formatPico(pico ?? 0n))
    const cost: Cost = currency === 'usd' ? { usd: amount, diem: 0 } : { usd: 0, diem: amount }
    const closing = {
      usage: behaviour.usage(usage),
      ...(pico === null ? {} : { cost: behaviour.cost(cost) }),
      ...(request.echoes ? { [chat.parametersField]: echoOf(request.options, sources) } : {}),
    }
    const head = {
      id: identifiers.completionId(),
      object: request.stream ? chat.stream.chunkObject : 'chat.completion',
      created: Math.floor(visit.arrivedMs / 1000),
      model: model.id,
    }
    if (!request.stream) return whole(visit, request, head, drafts, closing, endMs)
    visit.headers['content-type'] = 'text/event-stream'
    const isTold = sources.length > 0 && request.options.include_search_results_in_stream === true
    const results = isTold ? { [chat.parametersField]: { web_search_citations: sources } } : null
    const { doneMarker } = chat.stream
    const resultsAt = chat.search.resultsInStream === 'last' ? 'last' : 'first'
    const chunks = streamChunks({ head, drafts, results, resultsAt, closing, doneMarker, decide: behaviour })
    return { status: 200, headers: visit.headers, afterMs: streamHeadMs(drafts), body: { kind: 'stream', chunks } }
  }

  /** The documented echo has no third-party search in it. */
  function echoOf({ enable_x_search: _, ...options }: AppliedOptions, sources: readonly Source[]): unknown {
    return behaviour.echo({ ...options, web_search_citations: sources }, options)
  }

  function whole(
    visit: Visit,
    { topLogprobs }: ChatRequest,
    head: CompletionHead,
    drafts: readonly Draft[],
    closing: Readonly<Record<string, unknown>>,
    afterMs: number,
  ): Reply {
    const choices = drafts.map(({ reasoning, shown, toolCall, finishReason }, index): Choice => {
      return {
        index,
        finish_reason: behaviour.finishReason(finishReason),
        stop_reason: behaviour.stopReason(finishReason),
        logprobs:
          topLogprobs === null
            ? null
            : logprobsOf(
                shown.map(({ word }) => word),
                topLogprobs,
              ),
        message: {
          role: 'assistant',
          content: toolCall === null ? text(shown) : null,
          reasoning_content: reasoning.length === 0 ? null : text(reasoning),
          ...(reasoning.length === 0 ? {} : thoughtsOf(text(reasoning))),
          ...(toolCall === null ? {} : { tool_calls: calls(toolCall, head) }),
        },
      }
    })
    const completion = {
      prompt_logprobs: null,
      ...behaviour.completionHead(head),
      choices: choices.map(behaviour.choice),
      ...closing,
    }
    return json(visit, completion, afterMs)
  }
}

/** What a caller passes back as it is when it goes on with the conversation. */
const thoughtsOf = (thoughts: string) => ({
  reasoning_details: [{ type: 'reasoning.text', text: thoughts, format: 'reference', index: 0 }],
  thought_signature: Buffer.from(thoughts).toString('base64url').slice(0, 24),
})
