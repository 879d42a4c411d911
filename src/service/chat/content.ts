import type { Draft, Token, ToolCall } from './completion.ts'
import type { AppliedOptions, OptionDecisions } from './options.ts'
import type { ChatRequest } from './request.ts'

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
export type Source = {
  readonly title: string
  readonly url: string
  readonly content: string
  readonly date: string
}
/** What was found for a request, and how often something was looked up for it. */
export type Found = { readonly sources: readonly Source[]; readonly lookups: number }
const library: readonly Source[] = [
  {
    title: 'On the measuring of queues',
    url: 'https://library.example/queues',
    content: 'A queue is as long as what came is more than what went.',
    date: '2026-02-11',
  },
  {
    title: 'Ledgers',
    url: 'https://library.example/ledgers',
    content: 'What is taken from one column stands in another.',
    date: '2025-11-30',
  },
]
/** Pages that the message names are scraped instead of a search. A search that is left to the model is not made. */
export function lookUp(applied: AppliedOptions, userText: () => string, decide: OptionDecisions): Found {
  if (applied.enable_web_scraping === true) {
    const named = [...new Set(userText().match(/https?:\/\/[^\s"'<>]+/g))]
    const pages = named.slice(0, decide.scrapedPages(named.length))
    if (pages.length > 0) return { sources: pages.map(pageOf), lookups: pages.length }
  }
  const isSearched = applied.enable_web_search === 'on' || applied.enable_x_search === true
  return isSearched ? { sources: library, lookups: 1 } : { sources: [], lookups: 0 }
}
const pageOf = (url: string): Source => ({
  title: `The page at ${url}`,
  url,
  content: 'It is short.',
  date: '2026-08-01',
})
