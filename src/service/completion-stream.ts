import type { CompletionHead, Draft, Token } from './completion.ts'
import type { StreamChunk } from './message.ts'

/** One event of a stream before it is text; `part` is what it is for. */
export type StreamEvent = {
  readonly part: 'role' | 'reasoning' | 'content' | 'finish' | 'usage' | 'done'
  readonly afterMs: number
  /** JSON, or the done marker. */
  readonly data: string
}

export type StreamOptions = {
  readonly head: CompletionHead
  readonly drafts: readonly Draft[]
  /** The fields of the last chunk: usage and cost. */
  readonly closing: Readonly<Record<string, unknown>>
  readonly doneMarker: string
  readonly decide: StreamDecisions
}

/** What is decided of a stream before it is sent. */
export type StreamDecisions = {
  readonly completionHead: (head: CompletionHead) => Readonly<Record<string, unknown>>
  readonly finishReason: (reason: 'stop' | 'length') => string | null
  readonly events: (events: readonly StreamEvent[]) => readonly StreamEvent[]
}

/** The head leaves when the prompt is read, half-way to the first token. */
export function streamHeadMs(drafts: readonly Draft[]): number {
  return Math.min(...drafts.map(({ reasoning, content }) => (reasoning[0] ?? content[0])?.afterMs ?? 0)) / 2
}

export const lastTokenMs = (drafts: readonly Draft[]): number =>
  Math.max(...drafts.map(({ content }) => content.at(-1)?.afterMs ?? 0))

/** The role, the tokens one by one, the finish, then usage and cost without a choice, then the done marker. */
export function streamChunks({ head, drafts, closing, doneMarker, decide }: StreamOptions): readonly StreamChunk[] {
  const common = decide.completionHead(head)
  const headMs = streamHeadMs(drafts)
  const choiceEvent = (
    part: StreamEvent['part'],
    afterMs: number,
    index: number,
    delta: Readonly<Record<string, string>>,
    finish_reason: string | null = null,
  ): StreamEvent => ({
    part,
    afterMs,
    data: JSON.stringify({ ...common, choices: [{ index, delta, finish_reason, logprobs: null }] }),
  })

  const perChoice = drafts.map(({ reasoning, content, finishReason }, index) => [
    choiceEvent('role', headMs, index, { role: 'assistant', content: '' }),
    ...reasoning.map((token, k) =>
      choiceEvent('reasoning', token.afterMs, index, { reasoning_content: spaced(token, k) }),
    ),
    ...content.map((token, k) => choiceEvent('content', token.afterMs, index, { content: spaced(token, k) })),
    choiceEvent('finish', content.at(-1)?.afterMs ?? headMs, index, {}, decide.finishReason(finishReason)),
  ])
  const endMs = lastTokenMs(drafts)
  const events: readonly StreamEvent[] = [
    ...perChoice.flat().sort((a, b) => a.afterMs - b.afterMs),
    { part: 'usage', afterMs: endMs, data: JSON.stringify({ ...common, choices: [], ...closing }) },
    { part: 'done', afterMs: endMs, data: doneMarker },
  ]
  return decide.events(events).map(({ afterMs, data }) => ({ afterMs, text: `data: ${data}\n\n` }))
}

const spaced = ({ word }: Token, index: number): string => (index === 0 ? word : ` ${word}`)
