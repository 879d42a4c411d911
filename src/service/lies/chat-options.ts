import type { Contract } from '../../contract/contract.ts'
import { isObject } from '../../lib/json.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { always, type Fields, input, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import { events } from './streams.ts'

/** Rejects a value of an option. The lie also applies to options after the name of the model. */
const rejectOption = (option: (contract: Contract) => string, value: unknown): LieRow =>
  alsoViolating(
    ['parameters.suffix'],
    row(`A request that sets an option to ${JSON.stringify(value)} is rejected.`, (honest, contract) => ({
      takesOption: (name, to) => !(name === option(contract) && to === value) && honest.takesOption(name, to),
    })),
  )

const rejectDocumented = (name: string, value: unknown): LieRow => rejectOption(() => name, value)

const parametersIn = (body: Fields, { chat }: Contract): Fields =>
  isObject(body[chat.parametersField]) ? (body[chat.parametersField] as Fields) : {}

/** Ignores an option with such a value in whole or in streamed completions. */
const ignoresOption = (
  text: string,
  option: string,
  inStreams: boolean,
  isIgnored: (value: unknown) => boolean,
): LieRow =>
  alsoViolating(
    ['parameters.echo.sent'],
    row(text, (honest, contract) => ({
      chatBody: body => {
        const read = honest.chatBody(body)
        if (!isObject(read) || isStreamed(read) !== inStreams) return read
        const { [option]: value, ...others } = parametersIn(read, contract)
        if (!isIgnored(value)) return read
        return { ...read, [contract.chat.parametersField]: others }
      },
    })),
  )

const isStreamed = ({ stream }: Fields): boolean => stream === true
const isTrue = (value: unknown): boolean => value === true

/** Changes the echo, if there is one. */
const changeEcho = (text: string, change: (echo: Fields, contract: Contract) => unknown): LieRow =>
  row(text, (honest, contract) => ({
    echo: (echo, applied) => {
      const original = honest.echo(echo, applied)
      return isObject(original) ? change(original, contract) : original
    },
  }))

/** Replaces fields of the echo. */
const amendEcho = (text: string, fields: Fields | ((echo: Fields) => Fields)): LieRow =>
  changeEcho(text, echo => ({ ...echo, ...(typeof fields === 'function' ? fields(echo) : fields) }))

const systemPrompt = ({ systemPromptOption: name }: Contract['chat'], value: boolean): Fields =>
  name === null ? {} : { [name]: value }

const changeFlags = (text: string, change: (flag: boolean) => unknown): LieRow =>
  changeEcho(text, echo =>
    Object.fromEntries(
      Object.entries(echo).map(([name, value]) => [name, typeof value === 'boolean' ? change(value) : value]),
    ),
  )

const amendCitations = (text: string, fields: (citation: Fields) => Fields): LieRow =>
  amendEcho(text, ({ web_search_citations: citations }) => ({
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
    'refuses-disable-thinking-in-streams': row('A stream with thinking disabled is rejected.', (honest, contract) => ({
      chatObjection: body =>
        isStreamed(body) && parametersIn(body, contract).disable_thinking === true
          ? 'This request is not supported'
          : honest.chatObjection(body),
    })),
    'refuses-system-prompt': rejectOption(({ chat }) => chat.systemPromptOption ?? '', true),
  },
  'parameters.invalid': {
    'any-search-mode': result(
      'Any text is accepted as the web search mode.',
      'takesOption',
      (takes, name) => takes || name === 'enable_web_search',
    ),
    'any-search-mode-in-streams': ignoresOption(
      'Any text is accepted as the web search mode of a stream.',
      'enable_web_search',
      true,
      value => value === 'maybe',
    ),
    'flags-of-any-type-in-streams': ignoresOption(
      'A flag of a stream may be a text.',
      'strip_thinking_response',
      true,
      value => typeof value === 'string',
    ),
    'flags-of-any-type': result(
      'A flag may have any value.',
      'takesOption',
      (takes, name) => takes || name === 'strip_thinking_response',
    ),
    'any-search-mode-in-suffix': result(
      'An unknown web search mode in the model suffix is ignored.',
      'suffixOptions',
      pairs => pairs.filter(([name, value]) => name !== 'enable_web_search' || /^(on|off|auto)$/.test(String(value))),
    ),
  },
  'parameters.echo': {
    'echo-flags-as-text': changeFlags('The echo has the strings "true" and "false".', String),
    'echo-flags-as-numbers': changeFlags('The echo has 1 and 0 for true and false.', Number),
    'echo-search-as-flag': amendEcho(
      'The echo has a boolean as the web search mode.',
      ({ enable_web_search: mode }) => ({ enable_web_search: mode !== 'off' }),
    ),
    'echo-search-in-capitals': amendEcho(
      'The echo has the web search mode in capitals.',
      ({ enable_web_search: mode }) => ({ enable_web_search: String(mode).toUpperCase() }),
    ),
    'echo-slug-as-object': amendEcho('The echo has an object as the character.', ({ character_slug: slug }) =>
      slug === undefined ? {} : { character_slug: { slug } },
    ),
    'echo-citations-as-object': amendEcho(
      'The echo has an object as the list of citations.',
      ({ web_search_citations: citations }) => ({ web_search_citations: { ...listOf(citations) } }),
    ),
    'echo-as-text': changeEcho('The echo is JSON in a string.', echo => JSON.stringify(echo)),
  },
  'parameters.echo.citations': {
    'citations-without-title': amendCitations('Citations have no title.', () => ({ title: undefined })),
    'citations-without-url': amendCitations('Citations have link instead of url.', ({ url }) => ({
      url: undefined,
      link: url,
    })),
    'citation-date-as-number': amendCitations('The date of a citation is a Unix time.', ({ date }) => ({
      date: Date.parse(String(date)) / 1000,
    })),
    'citation-content-as-list': amendCitations('The content of a citation is a list of snippets.', ({ content }) => ({
      content: [content],
    })),
  },
  'parameters.echo.sent': {
    'echo-of-defaults': alsoViolating(
      ['parameters.suffix'],
      changeEcho('The echo always has the defaults.', (echo, { chat }) => {
        const defaults = Object.entries(chat.options).map(([name, option]) => [name, option.default ?? undefined])
        return { ...echo, ...Object.fromEntries(defaults), ...systemPrompt(chat, true) }
      }),
    ),
    'echo-of-search-normalised': amendEcho(
      'The echo has web search on when the request had auto.',
      ({ enable_web_search: mode }) => ({ enable_web_search: mode === 'auto' ? 'on' : mode }),
    ),
  },
  'parameters.echo.default': {
    'strips-by-default': amendEcho('The echo always states that think blocks are stripped.', {
      strip_thinking_response: true,
    }),
    'scrapes-by-default': alsoViolating(
      ['parameters.echo.sent'],
      amendEcho('The echo always states that pages are scraped.', { enable_web_scraping: true }),
    ),
    'no-system-prompt-by-default': alsoViolating(
      ['parameters.echo.sent'],
      changeEcho('The echo always states that the service adds no system prompt.', (echo, { chat }) => ({
        ...echo,
        ...systemPrompt(chat, false),
      })),
    ),
  },
  'parameters.suffix': {
    'suffix-refused': always("Options after the model's name are rejected.", {
      suffixOptions: () => [['enable_web_search', null]],
    }),
    'suffix-ignored': alsoViolating(
      ['parameters.invalid'],
      always("Options after the model's name are ignored.", { suffixOptions: () => [] }),
    ),
    'suffix-ignored-in-streams': always("Options after the model's name are ignored in streams.", {
      suffixOptions: (pairs, stream) => (stream ? [] : pairs),
    }),
    'prompt-in-suffix-ignored': always("The option for the system prompt is ignored after the model's name.", {
      suffixOptions: pairs => pairs.filter(([name]) => name !== 'include_venice_system_prompt'),
    }),
    'suffix-refused-in-streams': always("Options after the model's name are rejected in streams.", {
      suffixOptions: (pairs, stream) => (stream ? [['enable_web_search', null]] : pairs),
    }),
    'suffix-flags-as-text': always("A true after the model's name is read as text and rejected.", {
      suffixOptions: pairs => pairs.map(([name, value]) => [name, String(value)]),
    }),
  },
  'parameters.thinking': {
    'strip-ignored': result(
      'Think blocks are not stripped.',
      'stripsThinking',
      (strips, applied) => strips && applied.disable_thinking === true,
    ),
    'strip-ignored-in-whole': ignoresOption(
      'Think blocks are stripped in streams alone.',
      'strip_thinking_response',
      false,
      isTrue,
    ),
    'thinking-not-disabled-in-streams': ignoresOption(
      'Thinking is disabled only if the completion is whole.',
      'disable_thinking',
      true,
      isTrue,
    ),
    'thinking-not-disabled': row('With thinking disabled, the model still thinks in think blocks.', honest => ({
      stripsThinking: applied => applied.disable_thinking !== true && honest.stripsThinking(applied),
      thinksInTags: () => true,
    })),
  },
  'parameters.citations': {
    'citations-unasked': input(
      'Sources are cited without a request for citations.',
      'citation',
      (position, sources, applied) => [position, sources, { ...applied, enable_web_citations: true }],
    ),
    'citation-left-open': result(
      'Citations have no closing bracket.',
      'citation',
      citation => citation?.slice(0, -1) ?? null,
    ),
    'citations-from-one': input('Sources are numbered from 1.', 'citation', (position, sources, applied) => [
      position + 1,
      sources,
      applied,
    ]),
  },
  'parameters.results-in-stream': {
    'results-last': events('The search results follow the content.', (events, original) => {
      const results = original.filter(isResults)
      return events
        .filter(event => !isResults(event))
        .flatMap(event => (event.part === 'usage' ? [...results.map(at(event)), event] : [event]))
    }),
    'results-in-between': events('The search results are between two tokens.', (events, original) => {
      const results = original.filter(isResults)
      const others = events.filter(event => !isResults(event))
      const first = others.findIndex(({ part }) => part === 'content')
      return others.flatMap((event, index) => (index === first ? [event, ...results.map(at(event))] : [event]))
    }),
    'results-behind-role': events('The search results follow the role.', (events, original) => {
      const [first, second, ...others] = events
      if (first?.part !== 'results' || second === undefined) return original
      return [second, first, ...others]
    }),
  },
  'parameters.documents': {
    'documents-of-another-name': result(
      'The tool with the search results is called search_results.',
      'documentsTool',
      tool => (tool === null ? null : 'search_results'),
    ),
    'documents-not-given-in-streams': ignoresOption(
      'Search results are not returned as documents in a stream.',
      'return_search_results_as_documents',
      true,
      isTrue,
    ),
    'documents-not-given': always('Search results are not returned as documents.', { documentsTool: () => null }),
  },
  'parameters.scraping': {
    'scrapes-every-page': alsoViolating(
      ['parameters.price'],
      always('Every page named in a message is scraped.', { scrapedPages: named => named }),
    ),
  },
  'parameters.price': {
    'lookups-tenfold': input('A search costs ten times its price.', 'withLookups', (pico, lookups) => [
      pico,
      lookups * 10,
    ]),
    'one-lookup-too-many': input('One search or page too many is charged.', 'withLookups', (pico, lookups) => [
      pico,
      lookups === 0 ? 0 : lookups + 1,
    ]),
    'free-with-lookups': result('A request that searches or scrapes is free.', 'withLookups', (price, _, lookups) =>
      lookups === 0 ? price : 0n,
    ),
  },
} satisfies Lies
