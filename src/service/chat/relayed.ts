import { isObject, type JsonObject, toObject } from '../../lib/json.ts'
import type { FinishReason, Usage } from './completion.ts'

type ChoiceRules = {
  readonly finishReason: (reason: FinishReason) => string | null
  readonly stopReason: (reason: FinishReason) => unknown
}

/** A choice of an upstream with the fields that the document requires. */
export function choiceOf(sent: unknown, index: number, rules: ChoiceRules): JsonObject {
  const choice = toObject(sent) ?? {}
  const message = toObject(choice.message) ?? {}
  const reason = reasonOf(choice.finish_reason) ?? 'stop'
  const { content = null, reasoning_content = message.reasoning ?? null, tool_calls } = message
  return {
    index,
    finish_reason: rules.finishReason(reason),
    stop_reason: rules.stopReason(reason),
    logprobs: logprobsOf(choice.logprobs),
    message: {
      role: 'assistant',
      content,
      reasoning_content,
      ...(Array.isArray(tool_calls) && tool_calls.length > 0 && { tool_calls }),
    },
  }
}

/** The same for a chunk of a stream. */
export function chunkChoiceOf(sent: unknown, position: number, rules: ChoiceRules): JsonObject {
  const { index = position, delta = {}, finish_reason, logprobs = null } = toObject(sent) ?? {}
  const reason = reasonOf(finish_reason)
  return {
    index,
    delta,
    ...(reason === null
      ? { finish_reason: null }
      : { finish_reason: rules.finishReason(reason), stop_reason: rules.stopReason(reason) }),
    logprobs,
  }
}

/** The documented reason; null for none. A filter ends a completion as a stop does. */
function reasonOf(sent: unknown): FinishReason | null {
  if (typeof sent !== 'string') return null
  if (sent === 'function_call') return 'tool_calls'
  return sent === 'length' || sent === 'tool_calls' ? sent : 'stop'
}

/** The first token, and all of them as a list. */
function logprobsOf(sent: unknown): unknown {
  const content: readonly unknown[] = isObject(sent) && Array.isArray(sent.content) ? sent.content : []
  return content.length === 0 ? null : { ...toObject(content[0]), content }
}

/** All text of a choice or a chunk of one, to count its tokens. */
export function textOfChoice(sent: unknown): string {
  const choice = toObject(sent) ?? {}
  const said = toObject(choice.message) ?? toObject(choice.delta) ?? {}
  const calls: readonly unknown[] = Array.isArray(said.tool_calls) ? said.tool_calls : []
  const args = calls.map(call => (isObject(call) && isObject(call.function) ? call.function.arguments : null))
  return [said.reasoning_content ?? said.reasoning, said.content, ...args]
    .filter(each => typeof each === 'string')
    .join('')
}

/** The usage that an upstream states; null if it states none. */
export function usageOfUpstream(sent: unknown): Usage | null {
  if (!isObject(sent)) return null
  const [prompt, completion] = [tokens(sent.prompt_tokens), tokens(sent.completion_tokens)]
  if (prompt === null || completion === null) return null
  const cached = tokens(toObject(sent.prompt_tokens_details)?.cached_tokens) ?? 0
  const written = tokens(toObject(sent.prompt_tokens_details)?.cache_creation_input_tokens) ?? 0
  const reasoning = tokens(toObject(sent.completion_tokens_details)?.reasoning_tokens)
  const read = Math.min(cached, prompt)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: read, cache_creation_input_tokens: Math.min(written, prompt - read) },
    completion_tokens_details: reasoning === null ? null : { reasoning_tokens: Math.min(reasoning, completion) },
  }
}

const tokens = (value: unknown): number | null =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null
