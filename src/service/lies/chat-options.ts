import type { Contract } from '../../contract/contract.ts'
import { isObject } from '../../lib/json.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { changeInput, changeResult, type Fields } from './decisions.ts'
import type { LieRow, Lies, Overrides } from './lie.ts'
import { changeEvents } from './streams.ts'

/** Rejects a value of an option. The lie also applies to options after the name of the model. */
const rejectOption = (option: (contract: Contract) => string, value: unknown): LieRow => [
  `A request that sets an option to ${JSON.stringify(value)} is rejected.`,
  (honest, contract) => ({
    takesOption: (name, to) => !(name === option(contract) && to === value) && honest.takesOption(name, to),
  }),
  ['parameters.suffix'],
]

const rejectDocumented = (name: string, value: unknown): LieRow => rejectOption(() => name, value)

/** Changes the echo, if there is one. */
const changeEcho =
  (change: (echo: Fields, contract: Contract) => unknown): Overrides =>
  (honest, contract) =>
    changeResult('echo', echo => (isObject(echo) ? change(echo, contract) : echo))(honest, contract)

/** Replaces fields of the echo. */
const amendEcho = (fields: Fields | ((echo: Fields) => Fields)): Overrides =>
  changeEcho(echo => ({ ...echo, ...(typeof fields === 'function' ? fields(echo) : fields) }))

const systemPrompt = ({ systemPromptOption: name }: Contract['chat'], value: boolean): Fields =>
  name === null ? {} : { [name]: value }

const changeFlags = (change: (flag: boolean) => unknown): Overrides =>
  changeEcho(echo =>
    Object.fromEntries(
      Object.entries(echo).map(([name, value]) => [name, typeof value === 'boolean' ? change(value) : value]),
    ),
  )

const amendCitations = (fields: (citation: Fields) => Fields): Overrides =>
  amendEcho(({ web_search_citations: citations }) => ({
    web_search_citations: listOf(citations).map(each => (isObject(each) ? { ...each, ...fields(each) } : each)),
  }))

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const at =
  ({ afterMs }: StreamEvent) =>
  (event: StreamEvent): StreamEvent => ({ ...event, afterMs })

const isResults = ({ part }: StreamEvent): boolean => part === 'results'

export const chatOptionLies = {
  'parameters.accepted': {
    'refuses-strip-thinking': rejectDocumented('strip_thinking_response', true),
    'refuses-disable-thinking': rejectDocumented('disable_thinking', true),
    'refuses-search-off': rejectDocumented('enable_web_search', 'off'),
    'refuses-search-on': rejectDocumented('enable_web_search', 'on'),
    'refuses-search-auto': rejectDocumented('enable_web_search', 'auto'),
    'refuses-scraping': rejectDocumented('enable_web_scraping', true),
    'refuses-citations': rejectDocumented('enable_web_citations', true),
    'refuses-results-in-stream': rejectDocumented('include_search_results_in_stream', true),
    'refuses-documents': rejectDocumented('return_search_results_as_documents', true),
    'refuses-system-prompt': rejectOption(({ chat }) => chat.systemPromptOption ?? '', true),
  },
  'parameters.invalid': {
    'any-search-mode': [
      'Any text is accepted as the web search mode.',
      changeResult('takesOption', (takes, name) => takes || name === 'enable_web_search'),
    ],
  },
  'parameters.echo': {
    'echo-flags-as-text': ['The echo has the strings "true" and "false".', changeFlags(String)],
    'echo-flags-as-numbers': ['The echo has 1 and 0 for true and false.', changeFlags(Number)],
    'echo-search-as-flag': [
      'The echo has a boolean as the web search mode.',
      amendEcho(({ enable_web_search: mode }) => ({ enable_web_search: mode !== 'off' })),
    ],
    'echo-search-in-capitals': [
      'The echo has the web search mode in capitals.',
      amendEcho(({ enable_web_search: mode }) => ({ enable_web_search: String(mode).toUpperCase() })),
    ],
    'echo-slug-as-object': [
      'The echo has an object as the character.',
      amendEcho(({ character_slug: slug }) => (slug === undefined ? {} : { character_slug: { slug } })),
    ],
    'echo-citations-as-object': [
      'The echo has an object as the list of citations.',
      amendEcho(({ web_search_citations: citations }) => ({ web_search_citations: { ...listOf(citations) } })),
    ],
    'echo-as-text': ['The echo is JSON in a string.', changeEcho(echo => JSON.stringify(echo))],
  },
  'parameters.echo.citations': {
    'citations-without-title': ['Citations have no title.', amendCitations(() => ({ title: undefined }))],
    'citations-without-url': [
      'Citations have link instead of url.',
      amendCitations(({ url }) => ({ url: undefined, link: url })),
    ],
    'citation-date-as-number': [
      'The date of a citation is a Unix time.',
      amendCitations(({ date }) => ({ date: Date.parse(String(date)) / 1000 })),
    ],
    'citation-content-as-list': [
      'The content of a citation is a list of snippets.',
      amendCitations(({ content }) => ({ content: [content] })),
    ],
  },
  'parameters.echo.sent': {
    'echo-of-defaults': [
      'The echo always has the defaults.',
      changeEcho((echo, { chat }) => {
        const defaults = Object.entries(chat.options).map(([name, option]) => [name, option.default ?? undefined])
        return { ...echo, ...Object.fromEntries(defaults), ...systemPrompt(chat, true) }
      }),
      ['parameters.suffix'],
    ],
    'echo-of-search-normalised': [
      'The echo has web search on when the request had auto.',
      amendEcho(({ enable_web_search: mode }) => ({ enable_web_search: mode === 'auto' ? 'on' : mode })),
    ],
  },
  'parameters.echo.default': {
    'strips-by-default': [
      'The echo always states that think blocks are stripped.',
      amendEcho({ strip_thinking_response: true }),
    ],
    'scrapes-by-default': [
      'The echo always states that pages are scraped.',
      amendEcho({ enable_web_scraping: true }),
      ['parameters.echo.sent'],
    ],
    'no-system-prompt-by-default': [
      'The echo always states that the service adds no system prompt.',
      changeEcho((echo, { chat }) => ({ ...echo, ...systemPrompt(chat, false) })),
      ['parameters.echo.sent'],
    ],
  },
  'parameters.suffix': {
    'suffix-refused': [
      "Options after the model's name are rejected.",
      () => ({ suffixOptions: () => [['enable_web_search', null]] }),
    ],
    'suffix-ignored': ["Options after the model's name are ignored.", () => ({ suffixOptions: () => [] })],
    'second-in-suffix-ignored': [
      "Only the first option after the model's name is read.",
      () => ({ suffixOptions: pairs => pairs.slice(0, 1) }),
    ],
    'suffix-flags-as-text': [
      "A true after the model's name is read as text and rejected.",
      () => ({ suffixOptions: pairs => pairs.map(([name, value]) => [name, String(value)]) }),
    ],
  },
  'parameters.thinking': {
    'strip-ignored': [
      'Think blocks are not stripped.',
      changeResult('stripsThinking', (strips, applied) => strips && applied.disable_thinking === true),
    ],
    'thinking-not-disabled': [
      'With thinking disabled, the model still thinks in think blocks.',
      honest => ({
        stripsThinking: applied => applied.disable_thinking !== true && honest.stripsThinking(applied),
        thinksInTags: () => true,
      }),
    ],
  },
  'parameters.citations': {
    'citations-unasked': [
      'Sources are cited without a request for citations.',
      changeInput('citation', (position, sources, applied) => [
        position,
        sources,
        { ...applied, enable_web_citations: true },
      ]),
    ],
    'citation-left-open': [
      'Citations have no closing bracket.',
      changeResult('citation', citation => citation?.slice(0, -1) ?? null),
    ],
    'citations-from-one': [
      'Sources are numbered from 1.',
      changeInput('citation', (position, sources, applied) => [position + 1, sources, applied]),
    ],
  },
  'parameters.results-in-stream': {
    'results-last': [
      'The search results follow the content.',
      changeEvents((events, original) => {
        const results = original.filter(isResults)
        return events
          .filter(event => !isResults(event))
          .flatMap(event => (event.part === 'usage' ? [...results.map(at(event)), event] : [event]))
      }),
    ],
    'results-in-between': [
      'The search results are between two tokens.',
      changeEvents((events, original) => {
        const results = original.filter(isResults)
        const others = events.filter(event => !isResults(event))
        const first = others.findIndex(({ part }) => part === 'content')
        return others.flatMap((event, index) => (index === first ? [event, ...results.map(at(event))] : [event]))
      }),
    ],
    'results-behind-role': [
      'The search results follow the role.',
      changeEvents((events, original) => {
        const [first, second, ...others] = events
        if (first?.part !== 'results' || second === undefined) return original
        return [second, first, ...others]
      }),
    ],
  },
  'parameters.documents': {
    'documents-of-another-name': [
      'The tool with the search results is called search_results.',
      changeResult('documentsTool', tool => (tool === null ? null : 'search_results')),
    ],
    'documents-not-given': ['Search results are not returned as documents.', () => ({ documentsTool: () => null })],
  },
  'parameters.scraping': {
    'scrapes-every-page': [
      'Every page named in a message is scraped.',
      () => ({ scrapedPages: named => named }),
      ['parameters.price'],
    ],
  },
  'parameters.price': {
    'lookups-tenfold': [
      'A search costs ten times its price.',
      changeInput('withLookups', (pico, lookups) => [pico, lookups * 10]),
    ],
    'one-lookup-too-many': [
      'One search or page too many is charged.',
      changeInput('withLookups', (pico, lookups) => [pico, lookups === 0 ? 0 : lookups + 1]),
    ],
    'free-with-lookups': [
      'A request that searches or scrapes is free.',
      changeResult('withLookups', (price, _, lookups) => (lookups === 0 ? price : 0n)),
    ],
  },
} satisfies Lies
