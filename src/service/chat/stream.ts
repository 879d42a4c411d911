import type { StreamChunk } from '../message.ts'
import {
  type CompletionHead,
  type FinishReason,
  type GeneratedChoice,
  logprobsOf,
  type Token,
  type ToolCall,
} from './completion.ts'

/** One event of a stream; `part` is its kind. */
export type StreamEvent = {
  readonly part: 'results' | 'role' | 'reasoning' | 'content' | 'tool-call' | 'finish' | 'usage' | 'done'
  readonly afterMs: number
  /** JSON, or the done marker. */
  readonly data: string
}

type StreamOptions = {
  readonly head: CompletionHead
  readonly generated: readonly GeneratedChoice[]
  readonly topLogprobs: number | null
  /** The fields of the chunk with the search results, before or after the content; null for none. */
  readonly results: Readonly<Record<string, unknown>> | null
  readonly resultsAt: 'first' | 'last'
  /** The fields of the last chunk: usage, cost, and the echo of the options. */
  readonly closing: Readonly<Record<string, unknown>>
  readonly doneMarker: string
  readonly rules: StreamRules
}

/** The decisions of the service about a stream. */
type StreamRules = {
  readonly completionHead: (head: CompletionHead) => Readonly<Record<string, unknown>>
  readonly finishReason: (reason: FinishReason) => string | null
  readonly stopReason: (reason: FinishReason) => unknown
  readonly events: (events: readonly StreamEvent[]) => readonly StreamEvent[]
}

/** The headers are sent once the prompt is read, halfway to the first token. */
export function streamHeadMs(generated: readonly GeneratedChoice[]): number {
  return Math.min(...generated.map(({ reasoning, content }) => (reasoning[0] ?? content[0])?.afterMs ?? 0)) / 2
}

export const lastTokenMs = (generated: readonly GeneratedChoice[]): number =>
  Math.max(...generated.map(({ content }) => content.at(-1)?.afterMs ?? 0))

/** The chunks in order: role, tokens one by one, finish, then usage and cost without a choice, then the done marker. */
export function streamChunks({
  head,
  generated,
  topLogprobs,
  results,
  resultsAt,
  closing,
  doneMarker,
  rules,
}: StreamOptions): readonly StreamChunk[] {
  const common = rules.completionHead(head)
  const headMs = streamHeadMs(generated)
  const choiceEvent = (
    part: StreamEvent['part'],
    afterMs: number,
    index: number,
    delta: Readonly<Record<string, unknown>>,
    more: Readonly<Record<string, unknown>> = {},
  ): StreamEvent => ({
    part,
    afterMs,
    data: JSON.stringify({ ...common, choices: [{ index, delta, finish_reason: null, logprobs: null, ...more }] }),
  })

  const logprobsAt = ({ word }: Token, k: number) =>
    topLogprobs === null ? {} : { logprobs: logprobsOf([word], topLogprobs, k) }

  const perChoice = generated.map(({ reasoning, content, shown, toolCall, finishReason }, index) => [
    choiceEvent('role', headMs, index, { role: 'assistant', content: '' }),
    ...reasoning.map((token, k) =>
      choiceEvent('reasoning', token.afterMs, index, { reasoning_content: spaced(token, k) }),
    ),
    ...shown.map((token, k) =>
      choiceEvent('content', token.afterMs, index, { content: spaced(token, k) }, logprobsAt(token, k)),
    ),
    ...toolCallsOf(toolCall, head).map(call =>
      choiceEvent('tool-call', content[0]?.afterMs ?? headMs, index, { tool_calls: [{ index: 0, ...call }] }),
    ),
    choiceEvent(
      'finish',
      content.at(-1)?.afterMs ?? headMs,
      index,
      {},
      {
        finish_reason: rules.finishReason(finishReason),
        stop_reason: rules.stopReason(finishReason),
      },
    ),
  ])
  const endMs = lastTokenMs(generated)
  const resultsEvent: StreamEvent = {
    part: 'results',
    afterMs: resultsAt === 'first' ? headMs : endMs,
    data: JSON.stringify({ ...common, choices: [], ...results }),
  }
  const resultsIf = (position: StreamOptions['resultsAt']) =>
    results !== null && resultsAt === position ? [resultsEvent] : []
  const events: readonly StreamEvent[] = [
    ...resultsIf('first'),
    ...perChoice.flat().sort((a, b) => a.afterMs - b.afterMs),
    ...resultsIf('last'),
    { part: 'usage', afterMs: endMs, data: JSON.stringify({ ...common, choices: [], ...closing }) },
    { part: 'done', afterMs: endMs, data: doneMarker },
  ]
  return rules.events(events).map(({ afterMs, data }) => ({ afterMs, text: `data: ${data}\n\n` }))
}

const spaced = ({ word }: Token, index: number): string => (index === 0 ? word : ` ${word}`)

/** The value of `tool_calls`. */
export const toolCallsOf = (call: ToolCall | null, { id }: CompletionHead) =>
  call === null ? [] : [{ id: `call_${id.slice(-12)}`, type: 'function', function: call }]
