import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { isObject } from '../../lib/json.ts'
import type { AppliedOptions } from '../chat/options.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { type Lie, type Lies, lie } from './lie.ts'

/** Also in the suffix of the model's name. */
const refusing = (name: string, option: (contract: Contract) => string, value: unknown): Lie =>
  lie(
    name,
    `A request that sets an option (${JSON.stringify(value)}) is refused.`,
    (honest, contract) => ({
      takesOption: (sent, to) => !(sent === option(contract) && to === value) && honest.takesOption(sent, to),
    }),
    ['parameters.suffix'],
  )

type Members = Readonly<Record<string, unknown>>

const echoing = (
  name: string,
  text: string,
  change: (echo: Members, applied: AppliedOptions, contract: Contract) => unknown,
  alsoBreaks: readonly ClauseId[] = [],
): Lie =>
  lie(
    name,
    text,
    (honest, contract) => ({
      echo: (echo, applied) => {
        const said = honest.echo(echo, applied)
        return isObject(said) ? change(said, applied, contract) : said
      },
    }),
    alsoBreaks,
  )

const citing = (name: string, text: string, change: (citation: Members) => Members): Lie =>
  echoing(name, text, echo => ({
    ...echo,
    web_search_citations: listOf(echo.web_search_citations).map(each => (isObject(each) ? change(each) : each)),
  }))

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const changed = (members: Members, change: (value: unknown) => unknown): Members =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]))

const at =
  ({ afterMs }: StreamEvent) =>
  (event: StreamEvent): StreamEvent => ({ ...event, afterMs })

export const chatOptionLies = {
  'parameters.accepted': [
    refusing('refuses-strip-thinking', () => 'strip_thinking_response', true),
    refusing('refuses-disable-thinking', () => 'disable_thinking', true),
    refusing('refuses-search-off', () => 'enable_web_search', 'off'),
    refusing('refuses-search-on', () => 'enable_web_search', 'on'),
    refusing('refuses-search-auto', () => 'enable_web_search', 'auto'),
    refusing('refuses-scraping', () => 'enable_web_scraping', true),
    refusing('refuses-citations', () => 'enable_web_citations', true),
    refusing('refuses-results-in-stream', () => 'include_search_results_in_stream', true),
    refusing('refuses-documents', () => 'return_search_results_as_documents', true),
    refusing('refuses-system-prompt', ({ chat }) => chat.systemPromptOption, true),
  ],
  'parameters.invalid': [
    lie('any-search-mode', 'Web search takes any text for a mode.', honest => ({
      takesOption: (name, value) => (name === 'enable_web_search' ? true : honest.takesOption(name, value)),
    })),
  ],
  'parameters.echo': [
    echoing('echo-flags-as-text', 'The echo has "true" and "false" as texts.', echo =>
      changed(echo, value => (typeof value === 'boolean' ? String(value) : value)),
    ),
    echoing('echo-flags-as-numbers', 'The echo has 1 and 0 for true and false.', echo =>
      changed(echo, value => (typeof value === 'boolean' ? Number(value) : value)),
    ),
    echoing('echo-search-as-flag', 'The echo says of the web search whether it is on.', echo => ({
      ...echo,
      enable_web_search: echo.enable_web_search !== 'off',
    })),
    echoing('echo-search-in-capitals', 'The echo has the mode of the web search in capitals.', echo => ({
      ...echo,
      enable_web_search: String(echo.enable_web_search).toUpperCase(),
    })),
    echoing('echo-slug-as-object', 'The echo has the character as an object.', echo =>
      echo.character_slug === undefined ? echo : { ...echo, character_slug: { slug: echo.character_slug } },
    ),
    echoing('echo-citations-as-object', 'The echo has an object of citations.', echo => ({
      ...echo,
      web_search_citations: { ...listOf(echo.web_search_citations) },
    })),
    echoing('echo-as-text', 'The echo is a text with JSON in it.', echo => JSON.stringify(echo)),
  ],
  'parameters.echo.citations': [
    citing('citations-without-title', 'Citations have no title.', citation => ({ ...citation, title: undefined })),
    citing('citations-without-url', 'Citations have a link in place of url.', ({ url, ...citation }) => ({
      ...citation,
      link: url,
    })),
    citing('citation-date-as-number', 'The date of a citation is Unix time.', citation => ({
      ...citation,
      date: Date.parse(String(citation.date)) / 1000,
    })),
    citing('citation-content-as-list', 'The content of a citation is a list of snippets.', citation => ({
      ...citation,
      content: [citation.content],
    })),
  ],
  'parameters.echo.sent': [
    echoing(
      'echo-of-defaults',
      'The echo has the defaults, whatever was sent.',
      (echo, _, { chat }) => ({
        ...echo,
        ...Object.fromEntries(
          Object.entries(chat.options).map(([name, option]) => [name, option.default ?? undefined]),
        ),
        [chat.systemPromptOption]: true,
      }),
      ['parameters.suffix'],
    ),
    echoing('echo-of-search-normalised', 'The echo has web search on where it was auto.', echo => ({
      ...echo,
      enable_web_search: echo.enable_web_search === 'auto' ? 'on' : echo.enable_web_search,
    })),
  ],
  'parameters.echo.default': [
    echoing('strips-by-default', 'The echo says that think blocks are stripped.', echo => ({
      ...echo,
      strip_thinking_response: true,
    })),
    echoing(
      'scrapes-by-default',
      'The echo says that pages are scraped.',
      echo => ({ ...echo, enable_web_scraping: true }),
      ['parameters.echo.sent'],
    ),
    echoing(
      'no-system-prompt-by-default',
      'The echo says that there is no system prompt of the service.',
      (echo, _, { chat }) => ({ ...echo, [chat.systemPromptOption]: false }),
      ['parameters.echo.sent'],
    ),
  ],
  'parameters.suffix': [
    lie('suffix-refused', "Options behind the model's name are refused.", () => ({
      suffixOptions: () => [['enable_web_search', null]],
    })),
    lie('suffix-ignored', "Options behind the model's name are not read.", () => ({ suffixOptions: () => [] })),
    lie('second-in-suffix-ignored', "Of the options behind the model's name only the first is read.", () => ({
      suffixOptions: pairs => pairs.slice(0, 1),
    })),
    lie('suffix-flags-as-text', "A true behind the model's name is taken for a text, and refused.", () => ({
      suffixOptions: pairs => pairs.map(([name, value]) => [name, String(value)]),
    })),
  ],
  'parameters.thinking': [
    lie('strip-ignored', 'Think blocks are not stripped.', honest => ({
      stripsThinking: applied => applied.disable_thinking === true && honest.stripsThinking(applied),
    })),
    lie('thinking-not-disabled', 'Thinking that is disabled goes on in think blocks.', honest => ({
      stripsThinking: applied => applied.disable_thinking !== true && honest.stripsThinking(applied),
      thinksInTags: () => true,
    })),
  ],
  'parameters.citations': [
    lie('citations-unasked', 'Sources are cited where nobody asked for it.', honest => ({
      citation: (position, sources, applied) =>
        honest.citation(position, sources, { ...applied, enable_web_citations: true }),
    })),
    lie('citation-left-open', 'Citations are not closed.', honest => ({
      citation: (position, sources, applied) => honest.citation(position, sources, applied)?.slice(0, -1) ?? null,
    })),
    lie('citations-from-one', 'Sources are counted from 1.', honest => ({
      citation: (position, sources, applied) => honest.citation(position + 1, sources, applied),
    })),
  ],
  'parameters.results-in-stream': [
    lie('results-last', 'The search results come behind the answer.', honest => ({
      events: events => {
        const results = events.filter(({ part }) => part === 'results')
        return honest
          .events(events)
          .filter(({ part }) => part !== 'results')
          .flatMap(event => (event.part === 'usage' ? [...results.map(at(event)), event] : [event]))
      },
    })),
    lie('results-in-between', 'The search results come between two tokens.', honest => ({
      events: events => {
        const results = events.filter(({ part }) => part === 'results')
        const others = honest.events(events).filter(({ part }) => part !== 'results')
        const first = others.findIndex(({ part }) => part === 'content')
        return others.flatMap((event, index) => (index === first ? [event, ...results.map(at(event))] : [event]))
      },
    })),
    lie('results-behind-role', 'The search results come behind the role.', honest => ({
      events: events => {
        const [first, second, ...others] = honest.events(events)
        if (first?.part !== 'results' || second === undefined) return events
        return [second, first, ...others]
      },
    })),
  ],
  'parameters.documents': [
    lie('documents-of-another-name', 'The tool that holds the search results is called search_results.', honest => ({
      documentsTool: applied => (honest.documentsTool(applied) === null ? null : 'search_results'),
    })),
    lie('documents-not-given', 'Search results are not given as documents.', () => ({ documentsTool: () => null })),
  ],
  'parameters.scraping': [
    lie('scrapes-every-page', 'Every page that a message names is scraped.', () => ({ scrapedPages: named => named }), [
      'parameters.price',
    ]),
  ],
  'parameters.price': [
    lie('lookups-tenfold', 'A search costs ten times its price.', honest => ({
      withLookups: (pico, lookups) => honest.withLookups(pico, lookups * 10),
    })),
    lie('one-lookup-too-many', 'One search, or one page, more is charged than was asked for.', honest => ({
      withLookups: (pico, lookups) => honest.withLookups(pico, lookups === 0 ? 0 : lookups + 1),
    })),
    lie('free-with-lookups', 'A request that searches or scrapes is free.', honest => ({
      withLookups: (pico, lookups) => (lookups === 0 ? honest.withLookups(pico, 0) : 0n),
    })),
  ],
} satisfies Lies
