import type { AppliedOptions, OptionDecisions } from './applied-options.ts'
import type { ChatRequest } from './chat-request.ts'
import type { Draft, Token, ToolCall } from './completion.ts'
import type { Source } from './web-search.ts'

/** Of the tokens of an answer, where the model thinks in tags. */
const thoughtShare = 0.3

/** A draft as it is given: with its think block or without, with its sources, or as the call of a tool. */
export function formDraft(
  draft: Draft,
  { options, thinksInTags, tool }: ChatRequest,
  sources: readonly Source[],
  decide: OptionDecisions,
): Draft {
  const documents = sources.length > 0 ? decide.documentsTool(options) : null
  const called: ToolCall | null =
    documents !== null
      ? { name: documents, arguments: JSON.stringify({ documents: sources }) }
      : tool !== null
        ? { name: tool, arguments: '{}' }
        : null
  if (called !== null) return { ...draft, shown: [], toolCall: called, finishReason: 'tool_calls' }
  const visible = thinksInTags ? withThoughts(draft.content, options, decide) : draft.content
  return { ...draft, shown: sources.length > 0 ? withCitations(visible, sources, options, decide) : visible }
}

/** The first words are thoughts, the first and the last of which stand for the tags. */
function withThoughts(content: readonly Token[], options: AppliedOptions, decide: OptionDecisions): readonly Token[] {
  const close = Math.floor(content.length * thoughtShare)
  if (close === 0) return content
  if (decide.stripsThinking(options)) return content.slice(close + 1)
  return content.map((token, index) =>
    index === 0 ? { ...token, word: '<think>' } : index === close ? { ...token, word: '</think>' } : token,
  )
}

/** Behind the first word are the citations, one of each source. */
function withCitations(
  content: readonly Token[],
  sources: readonly Source[],
  options: AppliedOptions,
  decide: OptionDecisions,
): readonly Token[] {
  return content.map((token, index) => {
    const isCitation = index > 0 && index <= sources.length
    const word = isCitation ? decide.citation(index - 1, sources.length, options) : null
    return word === null ? token : { ...token, word }
  })
}
