import { canariesIn } from '../../contract/requests/canary.ts'
import { toObject } from '../../lib/json.ts'
import type { GeneratedChoice, Token, ToolCall } from './completion.ts'
import type { AppliedOptions, OptionRules } from './options.ts'
import type { ChatRequest } from './request.ts'

/** The share of a think block in the content of a model that thinks in tags. */
const thoughtShare = 0.3

/** The choice as it is sent: with or without its think block, with citations, or as a tool call. */
export function renderChoice(
  choice: GeneratedChoice,
  { options, thinksInTags, tool, schema }: ChatRequest,
  sources: readonly SearchHit[],
  rules: OptionRules,
): GeneratedChoice {
  const documents = sources.length > 0 ? rules.documentsTool(options) : null
  const called: ToolCall | null =
    documents !== null
      ? { name: documents, arguments: JSON.stringify({ documents: sources }) }
      : tool !== null
        ? { name: tool.name, arguments: JSON.stringify(exampleOf(tool.parameters) ?? {}) }
        : null
  if (called !== null) return { ...choice, shown: [], toolCall: called, finishReason: 'tool_calls' }
  if (schema !== null) return { ...choice, shown: asJson(choice.content, schema) }
  const visible = thinksInTags ? withThoughts(choice.content, options, rules) : choice.content
  return { ...choice, shown: sources.length > 0 ? withCitations(visible, sources, options, rules) : visible }
}

/** The tokens with the parts of a JSON value as their words. The last token has what is left. */
function asJson(content: readonly Token[], schema: unknown): readonly Token[] {
  const parts = JSON.stringify(exampleOf(schema)).match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g) ?? []
  const last = Math.min(content.length, parts.length) - 1
  return content
    .slice(0, last + 1)
    .map((token, index) => ({ ...token, word: index < last ? (parts[index] ?? '') : parts.slice(last).join('') }))
}

/** Bounds the values of a schema, which may refer to itself. */
const maxValues = 200

/** A small value that follows a JSON schema, as far as its common keywords say. */
function exampleOf(schema: unknown): unknown {
  let values = 0
  return valueFor(schema)

  function valueFor(written: unknown): unknown {
    const of = toObject(written)
    if (of === null || ++values > maxValues) return null
    if (typeof of.$ref === 'string') return valueFor(pointed(of.$ref))
    if (of.const !== undefined) return of.const
    const [first] = [of.enum, of.anyOf, of.oneOf, of.allOf].find(Array.isArray) ?? []
    if (first !== undefined) return Array.isArray(of.enum) ? first : valueFor(first)
    const type = Array.isArray(of.type) ? of.type[0] : (of.type ?? (of.properties === undefined ? null : 'object'))
    const bound = (name: string, unstated = 0): number => (typeof of[name] === 'number' ? of[name] : unstated)
    switch (type) {
      case 'object': {
        const required = Array.isArray(of.required) ? of.required.map(String) : []
        const properties = toObject(of.properties) ?? {}
        return Object.fromEntries(required.map(name => [name, valueFor(properties[name])]))
      }
      case 'array':
        return Array.from({ length: Math.min(bound('minItems'), maxValues - values) }, () => valueFor(of.items))
      case 'string':
        return 'text'.padEnd(Math.min(bound('minLength'), maxValues), '.')
      case 'integer':
      case 'number':
        return Math.min(
          Math.max(0, Math.ceil(bound('minimum')), Math.floor(bound('exclusiveMinimum', -1)) + 1),
          bound('maximum', Number.MAX_SAFE_INTEGER),
        )
      case 'boolean':
        return true
      default:
        return null
    }
  }

  function pointed(reference: string): unknown {
    const names = reference
      .replace(/^#\/?/, '')
      .split('/')
      .filter(name => name !== '')
    return names.reduce<unknown>((value, name) => toObject(value)?.[name], schema)
  }
}

/** The first words are the think block. The first and the last of them become its tags. */
function withThoughts(content: readonly Token[], options: AppliedOptions, rules: OptionRules): readonly Token[] {
  const close = Math.floor(content.length * thoughtShare)
  if (close === 0) return content
  if (rules.stripsThinking(options)) return content.slice(close + 1)
  return content.map((token, index) =>
    index === 0 ? { ...token, word: '<think>' } : index === close ? { ...token, word: '</think>' } : token,
  )
}

/** The citations follow the first word, one for each source. */
function withCitations(
  content: readonly Token[],
  sources: readonly SearchHit[],
  options: AppliedOptions,
  rules: OptionRules,
): readonly Token[] {
  return content.map((token, index) => {
    const isCitation = index > 0 && index <= sources.length
    const word = isCitation ? rules.citation(index - 1, sources.length, options) : null
    return word === null ? token : { ...token, word }
  })
}

export type SearchHit = {
  readonly title: string
  readonly url: string
  readonly content: string
  readonly date: string
}

/** What a search found for a request, and how many lookups it is charged for. */
type SearchResults = { readonly sources: readonly SearchHit[]; readonly lookups: number }

const library: readonly SearchHit[] = [
  {
    title: 'On the measuring of queues',
    url: 'https://library.example/queues',
    content: 'The length of a queue is the number of arrivals minus the number of departures.',
    date: '2026-02-11',
  },
  {
    title: 'Ledgers',
    url: 'https://library.example/ledgers',
    content: 'An amount that leaves one column appears in another.',
    date: '2025-11-30',
  },
]

/** Scrapes the pages that the message names, or else searches. A search left to the model (`auto`) does not happen. */
export function searchWeb(applied: AppliedOptions, userText: () => string, rules: OptionRules): SearchResults {
  if (applied.enable_web_scraping === true) {
    const named = [...new Set(userText().match(/https?:\/\/[^\s"'<>]+/g))]
    const pages = named.slice(0, rules.scrapedPages(named.length))
    if (pages.length > 0) return { sources: pages.map(pageOf), lookups: pages.length }
  }
  const isSearched = applied.enable_web_search === 'on' || applied.enable_x_search === true
  return isSearched ? { sources: library, lookups: 1 } : { sources: [], lookups: 0 }
}

const pageOf = (url: string): SearchHit => ({
  title: `The page at ${url}`,
  url,
  content: 'It is short.',
  date: '2026-08-01',
})

/** The choice of a model that begins with the word that the user asks for. */
export function withCanary(choice: GeneratedChoice, userText: string): GeneratedChoice {
  const [canary] = canariesIn(userText)
  if (canary === undefined) return choice
  const content = choice.content.map((token, index) => (index === 0 ? { ...token, word: canary } : token))
  return { ...choice, content, shown: content }
}
