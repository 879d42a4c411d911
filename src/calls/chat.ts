import { randomStream } from '../lib/random.ts'
import type { CallPlan } from '../plan/plan.ts'
import { type Call, jsonHeaders, type Office } from './call.ts'
import { promptOf } from './prompt.ts'

export type ChatPlan = Extract<CallPlan, { kind: 'chat' }>

/** A chat completion whose prompt is new for each `seq`. The service's own system prompts are switched off. */
export function chatCall(plan: ChatPlan, seq: number, headers: Readonly<Record<string, string>>, office: Office): Call {
  const { contract, bounds, seed } = office
  const { kind, model, modelTier, stream, promptTokens, maxCompletionTokens } = plan
  const body = {
    model,
    messages: [{ role: 'user', content: promptOf(promptTokens, randomStream(seed, `prompt/${seq}`)) }],
    stream,
    max_completion_tokens: maxCompletionTokens,
    [contract.chat.parametersField]: { [contract.chat.systemPromptOption]: false },
  }
  return {
    asked: { kind, model, modelTier, stream, promptTokens, maxCompletionTokens },
    request: {
      method: 'POST',
      path: contract.paths.chat,
      headers: { ...jsonHeaders, ...(stream && { accept: 'text/event-stream' }), ...headers },
      body: JSON.stringify(body),
      timeouts: bounds.timeouts.chat,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}
