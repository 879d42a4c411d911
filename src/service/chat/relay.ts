import type { Contract, Model } from '../../contract/contract.ts'
import { isObject, type JsonObject, parseObject } from '../../lib/json.ts'
import { type Account, currencyFor } from '../account.ts'
import type { Behavior } from '../behavior.ts'
import type { Identifiers } from '../identifiers.ts'
import { errorReply, jsonReply, type Reply, type RequestState } from '../message.ts'
import { type ChatCall, type ChatUpstream, UpstreamRefusal } from '../upstream/chat-upstream.ts'
import { failureReply, UpstreamError } from '../upstream/failure.ts'
import type { ServerEvent } from '../upstream/upstream.ts'
import { type CompletionHead, costOf, type Usage } from './completion.ts'
import { echoOf } from './options.ts'
import { choiceOf, chunkChoiceOf, textOfChoice, usageOfUpstream } from './relayed.ts'
import type { ChatRequest } from './request.ts'
import { countTokens } from './tokens.ts'

/** A chat request that passed every check, with what it holds of its account until it ends. */
type AdmittedChat = {
  readonly state: RequestState
  readonly account: Account
  readonly model: Model
  readonly request: ChatRequest
  readonly body: JsonObject
  readonly reserved: number
  /** Returns reserved tokens that are not used. */
  readonly giveBack: (tokens: number) => void
  /** The maximum price. */
  readonly heldPico: bigint
}

type RelayDeps = {
  readonly contract: Contract
  readonly behavior: Behavior
  readonly identifiers: Identifiers
  readonly upstream: ChatUpstream
}

/**
 * Forwards an admitted request. A complete response is charged by the usage of the upstream. If the upstream fails,
 * nothing is charged; if the caller leaves during a stream, the tokens sent until then.
 */
export function chatRelay({
  contract,
  behavior,
  identifiers,
  upstream,
}: RelayDeps): (admitted: AdmittedChat, leaves: AbortSignal) => Promise<Reply> {
  const { headerPrefix, chat } = contract
  const headOf = ({ state, model }: AdmittedChat, object: string): CompletionHead => ({
    id: identifiers.completionId(),
    object,
    created: Math.floor(state.arrivedMs / 1000),
    model: model.id,
  })

  return async (admitted, leaves) => {
    const { state, account, model, request, body, heldPico } = admitted
    const logprobs = request.topLogprobs !== null
    const call: ChatCall = { body, model: model.id, maxTokens: request.maxCompletionTokens, logprobs }
    account.heldPico += heldPico
    state.headers[`${headerPrefix}model-router`] = 'upstream'
    state.headers[`${headerPrefix}is-content-violation`] = 'false'
    try {
      return request.stream ? await streamed(admitted, call, leaves) : await whole(admitted, call, leaves)
    } catch (cause) {
      release(admitted, 0)
      if (cause instanceof UpstreamRefusal)
        return errorReply(state, 400, 'Invalid request parameters', { issues: [{ message: cause.message }] })
      return failureReply(state, cause, { warn: upstream.warn, leaves })
    }
  }

  async function whole(admitted: AdmittedChat, call: ChatCall, leaves: AbortSignal): Promise<Reply> {
    const { state, request } = admitted
    const completion = await upstream.complete(call, leaves)
    const sent: readonly unknown[] = Array.isArray(completion.choices) ? completion.choices : []
    const usage = usageOfUpstream(completion.usage) ?? counted(request, sent.map(textOfChoice).join(' '))
    if (sent.some(isFiltered)) state.headers[`${headerPrefix}is-content-violation`] = 'true'
    return jsonReply(state, {
      prompt_logprobs: null,
      ...behavior.completionHead(headOf(admitted, 'chat.completion')),
      choices: sent.map((choice, index) => choiceOf(choice, index, behavior)),
      ...charged(admitted, usage),
    })
  }

  /** The headers wait for the first event, since until then an error can still be a status. */
  async function streamed(admitted: AdmittedChat, call: ChatCall, leaves: AbortSignal): Promise<Reply> {
    const parts = partsOf(admitted, call, leaves)
    const first = await parts.next()
    admitted.state.headers['content-type'] = 'text/event-stream'
    const rest = async function* () {
      if (!first.done) yield first.value
      yield* parts
    }
    return { status: 200, headers: admitted.state.headers, afterMs: 0, body: { kind: 'live', parts: rest() } }
  }

  async function* partsOf(admitted: AdmittedChat, call: ChatCall, leaves: AbortSignal): AsyncGenerator<string> {
    const { request } = admitted
    const common = behavior.completionHead(headOf(admitted, chat.stream.chunkObject))
    let usage: Usage | null = null
    let text = ''
    let finished = 0
    let isDone = false
    let begins = true

    const read = ({ kind, text: data }: ServerEvent): string => {
      if (kind === 'comment') return `${data}\n\n`
      if (data === '[DONE]') {
        isDone = true
        return ''
      }
      const chunk = parseObject(data)
      if (chunk === null || 'error' in chunk)
        throw new UpstreamError(500, 'The chat upstream sent a chunk that is none.')
      usage = usageOfUpstream(chunk.usage) ?? usage
      const choices: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : []
      if (choices.length === 0) return ''
      text += choices.map(textOfChoice).join('')
      if (text.length > maxText) throw new UpstreamError(500, 'The chat upstream sent a stream without an end.')
      finished += choices.filter(choice => isObject(choice) && typeof choice.finish_reason === 'string').length
      return dataEvent({ ...common, choices: choices.map((choice, index) => chunkChoiceOf(choice, index, behavior)) })
    }

    try {
      for await (const events of upstream.stream(call, leaves)) {
        const part = events.map(read).join('')
        if (part !== '') yield part
        begins &&= part === ''
        if (isDone) break
      }
      // Some servers close without the marker, and none should send it alone.
      if (isDone ? begins : finished < request.choices)
        throw new UpstreamError(500, 'The chat upstream cut a stream short.')
      const closing = charged(admitted, usage ?? counted(request, text))
      yield `${dataEvent({ ...common, choices: [], ...closing })}data: ${chat.stream.doneMarker}\n\n`
    } catch (cause) {
      // Before the first part, the caller of this generator replies with an error and releases.
      if (!begins) {
        if (leaves.aborted) charged(admitted, counted(request, text))
        else release(admitted, 0)
        if (cause instanceof UpstreamError && !leaves.aborted) upstream.warn(cause.message)
      }
      throw cause
    }
  }

  /** Charges a usage, and returns the last fields of the response. */
  function charged(admitted: AdmittedChat, usage: Usage): JsonObject {
    const { account, model, request } = admitted
    release(admitted, behavior.usedTokens(usage))
    const echo = request.echoes ? { [chat.parametersField]: echoOf(request.options, [], behavior) } : {}
    if (model.usdPerMillion === null) return { usage: behavior.usage(usage), ...echo }
    const pico = behavior.chatCostPico(usage, model.usdPerMillion)
    const currency = currencyFor(account, pico)
    behavior.charge(account, { currency, pico })
    return { usage: behavior.usage(usage), cost: behavior.cost(costOf(pico, currency)), ...echo }
  }
}

/** Characters of a streamed completion, to count its tokens. */
const maxText = 33_554_432

/** Gives back what a request does not use. */
function release({ account, giveBack, reserved, heldPico }: AdmittedChat, usedTokens: number): void {
  account.heldPico -= heldPico
  giveBack(reserved - usedTokens)
}

/** The usage by our own count, where the upstream states none. */
function counted({ promptTokens }: ChatRequest, text: string): Usage {
  const completionTokens = countTokens(text)
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 0 },
    completion_tokens_details: null,
  }
}

const isFiltered = (choice: unknown): boolean => isObject(choice) && choice.finish_reason === 'content_filter'

const dataEvent = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
