import type { Contract } from '../../contract/contract.ts'
import { isObject, type JsonObject, parseObject } from '../../lib/json.ts'
import { is2xx } from '../../lib/numbers.ts'
import { statusError, UpstreamError } from './failure.ts'
import { type ServerEvent, serverEvents, type Upstream, type UpstreamReply, wholeText } from './upstream.ts'

/** An OpenAI-compatible server behind chat completions. */
export type ChatUpstream = {
  /** The completion, unchecked but for its choices. Rejects with an `UpstreamError` or an `UpstreamRefusal`. */
  readonly complete: (call: ChatCall, signal: AbortSignal) => Promise<JsonObject>
  /** The events of a stream. Rejects in the same way, before the first of them or between two. */
  readonly stream: (call: ChatCall, signal: AbortSignal) => AsyncIterable<readonly ServerEvent[]>
  readonly warn: (note: string) => void
}

export type ChatCall = {
  /** The body that the caller sent. */
  readonly body: JsonObject
  /** The model of the service. */
  readonly model: string
  /** Per choice. */
  readonly maxTokens: number
  /** Whether the model of the service has log probabilities, and the caller asks for them. */
  readonly logprobs: boolean
}

/** The upstream considers the request invalid; the message is its own. */
export class UpstreamRefusal extends Error {
  override readonly name = 'UpstreamRefusal' as const
}

const maxBytes = 33_554_432
const maxMessage = 500
/** A 404 is a mistake of the operator: the address or the name of the model. */
const refusals = [400, 413, 422]

type ChatUpstreamOptions = {
  readonly contract: Contract
  /** The name of a model at the upstream. */
  readonly modelOf: (model: string) => string
  /** Hides the key, in case that the upstream repeats it. */
  readonly hideKey: (text: string) => string
}

export function chatUpstream(upstream: Upstream, { contract, modelOf, hideKey }: ChatUpstreamOptions): ChatUpstream {
  const { chat } = contract

  /** Throws if the status is an error. */
  async function opened(call: ChatCall, streams: boolean, signal: AbortSignal): Promise<UpstreamReply> {
    const reply = await upstream.post({ path: '/chat/completions' }, bodyOf(call, streams), signal)
    if (is2xx(reply.status)) return reply
    const error = statusError('chat', reply)
    const text = await wholeText(reply, maxBytes)
    if (error !== null) throw error
    const note = `The chat upstream responded ${reply.status}: ${hideKey(messageOf(text))}`
    if (refusals.includes(reply.status)) throw new UpstreamRefusal(hideKey(messageOf(text)))
    throw new UpstreamError(500, note)
  }

  function bodyOf({ body, model, maxTokens, logprobs }: ChatCall, streams: boolean): string {
    const own: readonly string[] = [
      ...[chat.parametersField, 'max_completion_tokens', 'stream_options'],
      ...(logprobs ? [] : ['logprobs', 'top_logprobs']),
    ]
    const passed = Object.entries(body).filter(([name]) => !own.includes(name))
    return JSON.stringify({
      ...Object.fromEntries(passed),
      model: modelOf(model),
      max_tokens: maxTokens,
      stream: streams,
      ...(streams && { stream_options: { include_usage: true } }),
    })
  }

  return {
    warn: upstream.warn,
    complete: async (call, signal) => {
      const reply = await opened(call, false, signal)
      const completion = parseObject(await wholeText(reply, maxBytes))
      const choices: unknown = completion?.choices
      if (completion !== null && Array.isArray(choices) && choices.length > 0 && choices.every(isChoice))
        return completion
      throw new UpstreamError(500, 'The chat upstream sent no completion.')
    },
    stream: async function* (call, signal) {
      const reply = await opened(call, true, signal)
      if (!reply.contentType.toLowerCase().startsWith('text/event-stream')) {
        await wholeText(reply, maxBytes)
        throw new UpstreamError(500, `The chat upstream sent ${reply.contentType || 'no content type'}, not a stream.`)
      }
      yield* serverEvents(reply.body)
    },
  }
}

const isChoice = (choice: unknown): boolean =>
  isObject(choice) && isObject(choice.message) && isContent(choice.message.content ?? '')

const isContent = (content: unknown): boolean => typeof content === 'string' || Array.isArray(content)

/** The message of an error body, as OpenAI, vLLM or others lay it out. */
function messageOf(text: string): string {
  const body = parseObject(text)
  const error = isObject(body?.error) ? body.error.message : (body?.error ?? body?.message ?? body?.detail)
  return (typeof error === 'string' ? error : text).slice(0, maxMessage)
}
