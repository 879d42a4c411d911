import { bodyOptions } from '../contract/chat-options.ts'
import { randomStream } from '../lib/random.ts'
import type { Call as CallPlan } from '../plan/plan.ts'
import { type Call, jsonHeaders, type Office } from './call.ts'
import { promptOf } from './prompt.ts'

export type ChatPlan = Extract<CallPlan, { kind: 'chat' }>

/** A chat completion whose prompt is new for each `seq`. The service's own system prompts are switched off. */
export function chatCall(plan: ChatPlan, seq: number, headers: Readonly<Record<string, string>>, office: Office): Call {
  const { contract, bounds, seed } = office
  const { kind, model, modelTier, stream, promptTokens, maxCompletionTokens, isBounded, options } = plan
  const random = randomStream(seed, `prompt/${options?.samePrompt ? 'same' : seq}`)
  const body = {
    model: options?.suffix ? `${model}:${options.suffix}` : model,
    messages: [{ role: 'user', content: promptOf(promptTokens, random) }],
    stream,
    ...(isBounded && { max_completion_tokens: maxCompletionTokens }),
    ...options?.body,
    [contract.chat.parametersField]: bodyOptions(options, contract),
  }
  return {
    asked: { kind, model, modelTier, stream, promptTokens, maxCompletionTokens, options },
    request: {
      method: 'POST',
      path: contract.paths.chat,
      headers: {
        ...jsonHeaders,
        ...(stream && { accept: 'text/event-stream' }),
        ...(options?.encoding && { 'accept-encoding': options.encoding }),
        ...headers,
      },
      body: JSON.stringify(body),
      timeouts: bounds.timeouts.chat,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}
