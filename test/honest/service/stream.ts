import { type Bill, echoOf } from './chat.ts'
import type { ChatRequest } from './chat-request.ts'
import { type Choice, type Completion, logprobsOf, reasoningMembers } from './completion.ts'
import type { Json } from './reply.ts'
import type { Variant } from './variant.ts'

type Source = {
  readonly request: ChatRequest
  readonly completion: Completion
  readonly bill: Bill
  readonly variant: Variant
}

/** A part of a choice, and how many tokens were generated up to it. */
type Part = { readonly choice: Json; readonly tokens: number }

/** All chunks of a stream, and the marker of its end. */
export function streamChunks(common: Json, source: Source): readonly Json[] {
  const { request, completion, bill, variant } = source
  const extra: Json = variant.undocumented ? { system_fingerprint: 'fp_1', service_tier: 'default' } : {}
  const chunk = (more: Json): Json => ({ ...common, ...extra, ...more })
  const { usage, cost } = bill
  const money: Json = cost === null ? {} : { cost }
  const echo: Json = variant.echo === 'always' ? { service_parameters: echoOf(request, completion) } : {}
  const parts = interleaved(completion.choices.map(choice => partsOf(choice, source)))
  let generated = 0
  const chunks = parts.map(({ choice, tokens }) => {
    generated = Math.min(completion.completionTokens, generated + tokens)
    const running = {
      ...usage,
      completion_tokens: generated,
      total_tokens: completion.promptTokens + generated,
      ...(variant.details === 'full' && { completion_tokens_details: { reasoning_tokens: 0 } }),
    }
    return chunk({ choices: [choice], ...(variant.streamUsage === 'running' && { usage: running }) })
  })
  const results =
    request.parameters.include_search_results_in_stream && completion.found.length > 0
      ? [chunk({ choices: [], service_parameters: { web_search_citations: completion.found } })]
      : []
  const done = { raw: '[DONE]' }
  switch (variant.streamUsage) {
    case 'on-request':
      return [
        ...results,
        ...chunks,
        ...(request.wantsUsage ? [chunk({ choices: [], usage, ...money, ...echo })] : []),
        done,
      ]
    case 'last-with-choices': {
      const last = chunks[chunks.length - 1] ?? {}
      return [...results, ...chunks.slice(0, -1), { ...last, usage, ...money, ...echo }, done]
    }
    case 'last-without-choices':
    case 'running':
      return [...results, ...chunks, chunk({ choices: [], usage, ...money, ...echo }), done]
  }
}

/** One part of each choice after the other. */
function interleaved(lists: readonly (readonly Part[])[]): readonly Part[] {
  const longest = Math.max(...lists.map(list => list.length))
  return Array.from({ length: longest }, (_, index) => index).flatMap(index => lists.flatMap(list => list[index] ?? []))
}

function partsOf(choice: Choice, { request, variant }: Source): readonly Part[] {
  const { index } = choice
  const part = (delta: Json, tokens: number, more: Json = {}): Part => ({
    choice: { index, delta, finish_reason: null, ...more },
    tokens,
  })
  const deltas: Part[] = []
  for (const token of choice.reasoning) {
    deltas.push(part(variant.reasoning === 'hidden' ? {} : reasoningMembers([token], variant), 1))
  }
  choice.text.forEach((token, position) => {
    const asked = request.logprobs && request.model.hasLogprobs
    const logprobs = asked ? { logprobs: logprobsOf([token], request.topLogprobs, variant) } : {}
    deltas.push(part({ content: position === 0 ? token.trimStart() : token }, 1, logprobs))
    if (variant.deltas === 'with-empty' && position % 5 === 0) deltas.push(part({ content: '' }, 0), part({}, 0))
  })
  if (choice.call !== null) {
    const { id, name, pieces } = choice.call
    deltas.push(part({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: '' } }] }, 4))
    for (const piece of pieces) deltas.push(part({ tool_calls: [{ index: 0, function: { arguments: piece } }] }, 1))
  }
  const finish = part({}, choice.generated, { finish_reason: choice.finish })
  const opening: Json = choice.call === null ? { role: 'assistant', content: '' } : { role: 'assistant', content: null }
  const [first] = deltas
  if (variant.roleChunk === 'first' || first === undefined) return [part(opening, 0), ...deltas, finish]
  const merged = { ...first.choice, delta: { role: 'assistant', ...(first.choice.delta as Json) } }
  return [{ ...first, choice: merged }, ...deltas.slice(1), finish]
}
