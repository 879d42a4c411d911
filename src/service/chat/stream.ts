import type { StreamChunk } from '../message.ts'
import type { CompletionHead, Draft, FinishReason, Token, ToolCall } from './completion.ts'

/** One event of a stream before it is text; `part` is what it is for. */
export type StreamEvent = {
  readonly part: 'results' | 'role' | 'reasoning' | 'content' | 'tool-call' | 'finish' | 'usage' | 'done'
  readonly afterMs: number
  /** JSON, or the done marker. */
  readonly data: string
}
export type StreamOptions = {
  readonly head: CompletionHead
  readonly drafts: readonly Draft[]
  /** The fields of a chunk of its own, before the answer or behind it; null: there is none. */
  readonly results: Readonly<Record<string, unknown>> | null
  readonly resultsAt: 'first' | 'last'
  /** The fields of the last chunk: usage, cost, and the echo of the options. */
  readonly closing: Readonly<Record<string, unknown>>
  readonly doneMarker: string
  readonly decide: StreamDecisions
}
/** What is decided of a stream before it is sent. */
export type StreamDecisions = {
  readonly completionHead: (head: CompletionHead) => Readonly<Record<string, unknown>>
  readonly finishReason: (reason: FinishReason) => string | null
  readonly stopReason: (reason: FinishReason) => unknown
  readonly events: (events: readonly StreamEvent[]) => readonly StreamEvent[]
}
/** The head leaves when the prompt is read, half-way to the first token. */
export function streamHeadMs(drafts: readonly Draft[]): number {
  return Math.min(...drafts.map(({ reasoning, content }) => (reasoning[0] ?? content[0])?.afterMs ?? 0)) / 2
}
export const lastTokenMs = (drafts: readonly Draft[]): number =>
  Math.max(...drafts.map(({ content }) => content.at(-1)?.afterMs ?? 0))
/** The role, the tokens one by one, the finish, then usage and cost without a choice, then the done marker. */
export function streamChunks({
  head,
  drafts,
  results,
  resultsAt,
  closing,
  doneMarker,
  decide,
}: StreamOptions): readonly StreamChunk[] {
  const common = decide.completionHead(head)
  const headMs = streamHeadMs(drafts)
  const choiceEvent = (
    part: StreamEvent['part'],
    afterMs: number,
    index: number,
    delta: Readonly<Record<string, unknown>>,
    end: Readonly<Record<string, unknown>> = { finish_reason: null },
  ): StreamEvent => ({
    part,
    afterMs,
    data: JSON.stringify({ ...common, choices: [{ index, delta, ...end, logprobs: null }] }),
  })

  const perChoice = drafts.map(({ reasoning, content, shown, toolCall, finishReason }, index) => [
    choiceEvent('role', headMs, index, { role: 'assistant', content: '' }),
    ...reasoning.map((token, k) =>
      choiceEvent('reasoning', token.afterMs, index, { reasoning_content: spaced(token, k) }),
    ),
    ...shown.map((token, k) => choiceEvent('content', token.afterMs, index, { content: spaced(token, k) })),
    ...calls(toolCall, head).map(call =>
      choiceEvent('tool-call', content[0]?.afterMs ?? headMs, index, { tool_calls: [{ index: 0, ...call }] }),
    ),
    choiceEvent(
      'finish',
      content.at(-1)?.afterMs ?? headMs,
      index,
      {},
      {
        finish_reason: decide.finishReason(finishReason),
        stop_reason: decide.stopReason(finishReason),
      },
    ),
  ])
  const endMs = lastTokenMs(drafts)
  const told: StreamEvent = {
    part: 'results',
    afterMs: resultsAt === 'first' ? headMs : endMs,
    data: JSON.stringify({ ...common, choices: [], ...results }),
  }
  const resultsIf = (place: StreamOptions['resultsAt']) => (results !== null && resultsAt === place ? [told] : [])
  const events: readonly StreamEvent[] = [
    ...resultsIf('first'),
    ...perChoice.flat().sort((a, b) => a.afterMs - b.afterMs),
    ...resultsIf('last'),
    { part: 'usage', afterMs: endMs, data: JSON.stringify({ ...common, choices: [], ...closing }) },
    { part: 'done', afterMs: endMs, data: doneMarker },
  ]
  return decide.events(events).map(({ afterMs, data }) => ({ afterMs, text: `data: ${data}\n\n` }))
}
const spaced = ({ word }: Token, index: number): string => (index === 0 ? word : ` ${word}`)
/** What `tool_calls` has in it. */
export const calls = (call: ToolCall | null, { id }: CompletionHead) =>
  call === null ? [] : [{ id: `call_${id.slice(-12)}`, type: 'function', function: call }]
