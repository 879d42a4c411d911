import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { isObject } from '../../lib/json.ts'
import type { AppliedOptions } from '../chat/options.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { type Lie, type Lies, lie } from './lie.ts'

/** The lie also applies to options after the name of the model. */
const rejectsOption = (name: string, option: (contract: Contract) => string, value: unknown): Lie =>
  lie(
    name,
    `A request that sets an option to ${JSON.stringify(value)} is rejected.`,
    (honest, contract) => ({
      takesOption: (sent, to) => !(sent === option(contract) && to === value) && honest.takesOption(sent, to),
    }),
    ['parameters.suffix'],
  )

type Members = Readonly<Record<string, unknown>>

const systemPrompt = ({ systemPromptOption: name }: Contract['chat'], value: boolean): Members =>
  name === null ? {} : { [name]: value }

const echoLie = (
  name: string,
  text: string,
  change: (echo: Members, applied: AppliedOptions, contract: Contract) => unknown,
  alsoViolates: readonly ClauseId[] = [],
): Lie =>
  lie(
    name,
    text,
    (honest, contract) => ({
      echo: (echo, applied) => {
        const original = honest.echo(echo, applied)
        return isObject(original) ? change(original, applied, contract) : original
      },
    }),
    alsoViolates,
  )

const citationLie = (name: string, text: string, change: (citation: Members) => Members): Lie =>
  echoLie(name, text, echo => ({
    ...echo,
    web_search_citations: listOf(echo.web_search_citations).map(each => (isObject(each) ? change(each) : each)),
  }))

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const mapValues = (members: Members, change: (value: unknown) => unknown): Members =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]))

const at =
  ({ afterMs }: StreamEvent) =>
  (event: StreamEvent): StreamEvent => ({ ...event, afterMs })

export const chatOptionLies = {
  'parameters.accepted': [
    rejectsOption('refuses-strip-thinking', () => 'strip_thinking_response', true),
    rejectsOption('refuses-disable-thinking', () => 'disable_thinking', true),
    rejectsOption('refuses-search-off', () => 'enable_web_search', 'off'),
    rejectsOption('refuses-search-on', () => 'enable_web_search', 'on'),
    rejectsOption('refuses-search-auto', () => 'enable_web_search', 'auto'),
    rejectsOption('refuses-scraping', () => 'enable_web_scraping', true),
    rejectsOption('refuses-citations', () => 'enable_web_citations', true),
    rejectsOption('refuses-results-in-stream', () => 'include_search_results_in_stream', true),
    rejectsOption('refuses-documents', () => 'return_search_results_as_documents', true),
    rejectsOption('refuses-system-prompt', ({ chat }) => chat.systemPromptOption ?? '', true),
  ],
  'parameters.invalid': [
    lie('any-search-mode', 'Any text is accepted as the web search mode.', honest => ({
      takesOption: (name, value) => (name === 'enable_web_search' ? true : honest.takesOption(name, value)),
    })),
  ],
  'parameters.echo': [
    echoLie('echo-flags-as-text', 'The echo has the strings "true" and "false".', echo =>
      mapValues(echo, value => (typeof value === 'boolean' ? String(value) : value)),
    ),
    echoLie('echo-flags-as-numbers', 'The echo has 1 and 0 for true and false.', echo =>
      mapValues(echo, value => (typeof value === 'boolean' ? Number(value) : value)),
    ),
    echoLie('echo-search-as-flag', 'The echo has a boolean as the web search mode.', echo => ({
      ...echo,
      enable_web_search: echo.enable_web_search !== 'off',
    })),
    echoLie('echo-search-in-capitals', 'The echo has the web search mode in capitals.', echo => ({
      ...echo,
      enable_web_search: String(echo.enable_web_search).toUpperCase(),
    })),
    echoLie('echo-slug-as-object', 'The echo has an object as the character.', echo =>
      echo.character_slug === undefined ? echo : { ...echo, character_slug: { slug: echo.character_slug } },
    ),
    echoLie('echo-citations-as-object', 'The echo has an object as the list of citations.', echo => ({
      ...echo,
      web_search_citations: { ...listOf(echo.web_search_citations) },
    })),
    echoLie('echo-as-text', 'The echo is JSON in a string.', echo => JSON.stringify(echo)),
  ],
  'parameters.echo.citations': [
    citationLie('citations-without-title', 'Citations have no title.', citation => ({ ...citation, title: undefined })),
    citationLie('citations-without-url', 'Citations have link instead of url.', ({ url, ...citation }) => ({
      ...citation,
      link: url,
    })),
    citationLie('citation-date-as-number', 'The date of a citation is a Unix time.', citation => ({
      ...citation,
      date: Date.parse(String(citation.date)) / 1000,
    })),
    citationLie('citation-content-as-list', 'The content of a citation is a list of snippets.', citation => ({
      ...citation,
      content: [citation.content],
    })),
  ],
  'parameters.echo.sent': [
    echoLie(
      'echo-of-defaults',
      'The echo always has the defaults.',
      (echo, _, { chat }) => ({
        ...echo,
        ...Object.fromEntries(
          Object.entries(chat.options).map(([name, option]) => [name, option.default ?? undefined]),
        ),
        ...systemPrompt(chat, true),
      }),
      ['parameters.suffix'],
    ),
    echoLie('echo-of-search-normalised', 'The echo has web search on when the request had auto.', echo => ({
      ...echo,
      enable_web_search: echo.enable_web_search === 'auto' ? 'on' : echo.enable_web_search,
    })),
  ],
  'parameters.echo.default': [
    echoLie('strips-by-default', 'The echo always states that think blocks are stripped.', echo => ({
      ...echo,
      strip_thinking_response: true,
    })),
    echoLie(
      'scrapes-by-default',
      'The echo always states that pages are scraped.',
      echo => ({ ...echo, enable_web_scraping: true }),
      ['parameters.echo.sent'],
    ),
    echoLie(
      'no-system-prompt-by-default',
      'The echo always states that the service adds no system prompt.',
      (echo, _, { chat }) => ({ ...echo, ...systemPrompt(chat, false) }),
      ['parameters.echo.sent'],
    ),
  ],
  'parameters.suffix': [
    lie('suffix-refused', "Options after the model's name are rejected.", () => ({
      suffixOptions: () => [['enable_web_search', null]],
    })),
    lie('suffix-ignored', "Options after the model's name are ignored.", () => ({ suffixOptions: () => [] })),
    lie('second-in-suffix-ignored', "Only the first option after the model's name is read.", () => ({
      suffixOptions: pairs => pairs.slice(0, 1),
    })),
    lie('suffix-flags-as-text', "A true after the model's name is read as text and rejected.", () => ({
      suffixOptions: pairs => pairs.map(([name, value]) => [name, String(value)]),
    })),
  ],
  'parameters.thinking': [
    lie('strip-ignored', 'Think blocks are not stripped.', honest => ({
      stripsThinking: applied => applied.disable_thinking === true && honest.stripsThinking(applied),
    })),
    lie('thinking-not-disabled', 'With thinking disabled, the model still thinks in think blocks.', honest => ({
      stripsThinking: applied => applied.disable_thinking !== true && honest.stripsThinking(applied),
      thinksInTags: () => true,
    })),
  ],
  'parameters.citations': [
    lie('citations-unasked', 'Sources are cited without a request for citations.', honest => ({
      citation: (position, sources, applied) =>
        honest.citation(position, sources, { ...applied, enable_web_citations: true }),
    })),
    lie('citation-left-open', 'Citations have no closing bracket.', honest => ({
      citation: (position, sources, applied) => honest.citation(position, sources, applied)?.slice(0, -1) ?? null,
    })),
    lie('citations-from-one', 'Sources are numbered from 1.', honest => ({
      citation: (position, sources, applied) => honest.citation(position + 1, sources, applied),
    })),
  ],
  'parameters.results-in-stream': [
    lie('results-last', 'The search results follow the content.', honest => ({
      events: events => {
        const results = events.filter(({ part }) => part === 'results')
        return honest
          .events(events)
          .filter(({ part }) => part !== 'results')
          .flatMap(event => (event.part === 'usage' ? [...results.map(at(event)), event] : [event]))
      },
    })),
    lie('results-in-between', 'The search results are between two tokens.', honest => ({
      events: events => {
        const results = events.filter(({ part }) => part === 'results')
        const others = honest.events(events).filter(({ part }) => part !== 'results')
        const first = others.findIndex(({ part }) => part === 'content')
        return others.flatMap((event, index) => (index === first ? [event, ...results.map(at(event))] : [event]))
      },
    })),
    lie('results-behind-role', 'The search results follow the role.', honest => ({
      events: events => {
        const [first, second, ...others] = honest.events(events)
        if (first?.part !== 'results' || second === undefined) return events
        return [second, first, ...others]
      },
    })),
  ],
  'parameters.documents': [
    lie('documents-of-another-name', 'The tool with the search results is called search_results.', honest => ({
      documentsTool: applied => (honest.documentsTool(applied) === null ? null : 'search_results'),
    })),
    lie('documents-not-given', 'Search results are not returned as documents.', () => ({ documentsTool: () => null })),
  ],
  'parameters.scraping': [
    lie('scrapes-every-page', 'Every page named in a message is scraped.', () => ({ scrapedPages: named => named }), [
      'parameters.price',
    ]),
  ],
  'parameters.price': [
    lie('lookups-tenfold', 'A search costs ten times its price.', honest => ({
      withLookups: (pico, lookups) => honest.withLookups(pico, lookups * 10),
    })),
    lie('one-lookup-too-many', 'One search or page too many is charged.', honest => ({
      withLookups: (pico, lookups) => honest.withLookups(pico, lookups === 0 ? 0 : lookups + 1),
    })),
    lie('free-with-lookups', 'A request that searches or scrapes is free.', honest => ({
      withLookups: (pico, lookups) => (lookups === 0 ? honest.withLookups(pico, 0) : 0n),
    })),
  ],
} satisfies Lies
