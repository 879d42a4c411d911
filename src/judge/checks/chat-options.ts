import {
  allowsValue,
  bodyOptions,
  type ChatOptions,
  documentedOptions,
  isSearching,
  requestedOptions,
  suffixOptions,
} from '../../contract/chat-options.ts'
import type { ClausesOf } from '../../contract/clauses.ts'
import type { ChatOption, Contract } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import {
  type Observation,
  type ObservedResponse,
  recordedLength,
  type StreamRecord,
  streamOf,
} from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { is2xx, isFromGateway, jsonObject } from '../../observation/response.ts'
import { isOfUnknownModel, mentionsModel } from './chat-request.ts'
import { type Check, type Expect, expectFor } from './check.ts'

type SentChatOptions = NonNullable<ChatDescriptor['options']>

/** Checks chat requests with service-specific options. Most requests have none. */
export const checkChatOptions: Check<'chat-options', ChatDescriptor> = (observation, contract, reporter) => {
  const { response, request, outcome, id } = observation
  // The document does not state how a suffix joins several options.
  if (request.options === null || request.options.suffix?.includes('&')) return
  if (response === null || isFromGateway(response, contract)) return
  const expect = expectFor(reporter, id)
  if (!is2xx(response.status)) return checkRefusal(response, request.options, contract, expect)
  if (outcome.kind !== 'answered') return

  const { options } = request
  if (isPromised(options.parameters, contract)) expect('parameters.accepted', true, () => '')
  const said = statedOptions(response, contract)
  const sent = requestedOptions(options, contract)
  const citations = checkEcho(said.echo, options, contract, expect)
  checkThinking(said.text, sent, expect)
  checkCitations(said, sent, citations, contract, expect)
  checkResults(observation, sent, contract, expect)
  checkDocuments(said.tools, options, sent, citations, contract, expect)
  checkScraping(sent, citations, contract, expect)
}

/** Statuses that reject the request itself, and not its caller or its rate. */
const refusals: readonly number[] = [400, 404, 422]

function checkRefusal(
  response: ObservedResponse,
  { body, parameters, suffix }: SentChatOptions,
  contract: Contract,
  expect: Expect<'parameters.accepted' | 'parameters.suffix'>,
): void {
  const { status } = response
  // If the request has other parts that can be rejected, they may be the reason.
  if (!refusals.includes(status) || isOfUnknownModel(response, contract)) return
  if (Object.keys(body).some(name => name !== 'messages')) return
  // A null is not sent.
  const names = Object.keys(parameters).filter(name => parameters[name] !== null)
  if (suffix !== null) {
    const inSuffix = requestedOptions({ body, parameters: {}, suffix, encoding: null, samePrompt: false }, contract)
    if (!isPromised(inSuffix, contract) || (names.length > 0 && !isPromised(parameters, contract))) return
    expect('parameters.suffix', false, () => `${suffix} in the model suffix got status ${status}, expected 200`)
  } else if (isPromised(parameters, contract) && !mentionsModel(response)) {
    expect('parameters.accepted', false, () => `${quote(parameters)} got status ${status}, expected 200`)
  }
}

/** Whether there are options, and all are documented with these values for every model. */
function isPromised(options: Readonly<Record<string, unknown>>, contract: Contract): boolean {
  const known = documentedOptions(contract)
  const entries = Object.entries(options).filter(([, value]) => value !== null)
  const isDocumented = ([name, value]: readonly [string, unknown]) => {
    const option: ChatOption | undefined = Object.hasOwn(known, name) ? known[name] : undefined
    return option !== undefined && !option.conditional && allowsValue(option, value)
  }
  return entries.length > 0 && entries.every(isDocumented)
}

type SentOptions = Readonly<Record<string, unknown>>

const thinkTag = /<\/?think>/i

function checkThinking(text: string | null, sent: SentOptions, expect: Expect<'parameters.thinking'>): void {
  if (text === null || (sent.strip_thinking_response !== true && sent.disable_thinking !== true)) return
  expect('parameters.thinking', !thinkTag.test(text), () => `the content is ${quote(text)}, expected no think block`)
}

/** Checks the search results in a stream, if sources were found. */
function checkResults(
  observation: Observation,
  sent: SentOptions,
  { chat }: Contract,
  expect: Expect<'parameters.results-in-stream'>,
): void {
  const parts = streamOf(observation)?.grammar.map(([part]) => part)
  if (sent.include_search_results_in_stream !== true || !isSearching(sent) || !parts?.includes('results')) return
  const where = chat.search.resultsInStream
  const afterResults = parts.slice(parts.lastIndexOf('results'))
  const isInPlace =
    where === 'anywhere' ||
    (where === 'first' ? parts[0] === 'results' : !afterResults.some(part => tokens.includes(part)))
  expect('parameters.results-in-stream', isInPlace, () => {
    const expected = where === 'first' ? 'the results in its first chunk' : 'the results after its last token'
    return `the stream is ${parts.join(' ')}, expected ${expected}`
  })
}

const tokens: readonly string[] = ['reasoning', 'content', 'tool-call']

/** Checks the tool call for documents, if sources were found. Tools of the caller may be called too. */
function checkDocuments(
  tools: StatedOptions['tools'],
  { body }: SentChatOptions,
  sent: SentOptions,
  citations: readonly unknown[],
  { chat }: Contract,
  expect: Expect<'parameters.documents'>,
): void {
  const tool = chat.search.documentsTool
  if (tool === null || sent.return_search_results_as_documents !== true || !isSearching(sent)) return
  if (tools === null || 'tools' in body || (tools.length === 0 && citations.length === 0)) return
  expect(
    'parameters.documents',
    tools.includes(tool),
    () => `the called tools are ${quote(tools)}, expected a call of ${tool}`,
  )
}

/** Scraped pages are cited. If the request also searches, the citations may come from the search. */
function checkScraping(
  sent: SentOptions,
  citations: readonly unknown[],
  { chat }: Contract,
  expect: Expect<ClausesOf<'chat-options'>>,
): void {
  if (sent.enable_web_scraping !== true || isSearching(sent) || citations.length === 0) return
  const max = chat.search.scrapedPages
  const pages = new Set(citations.map(citation => toObject(citation)?.url)).size
  expect('parameters.scraping', pages <= max, () => `${pages} pages were scraped, expected at most ${max}`)
}

type Fields = Readonly<Record<string, unknown>>

type EchoClause =
  | 'parameters.echo'
  | 'parameters.echo.citations'
  | 'parameters.echo.sent'
  | 'parameters.echo.default'
  | 'parameters.suffix'

/** Checks the types in an echo of the options, if there is one. Returns the citations; null for a missing field. */
function checkEcho(
  said: unknown,
  options: ChatOptions,
  contract: Contract,
  expect: Expect<EchoClause>,
): readonly unknown[] {
  const echo = toObject(said) ?? {}
  if (said !== undefined && said !== null) checkTypes(said, contract, expect)
  checkValues(echo, options, contract, expect)
  const citations: readonly unknown[] = Array.isArray(echo.web_search_citations) ? echo.web_search_citations : []
  for (const citation of citations) {
    const wrong = wrongCitation(toObject(citation) ?? {})
    expect('parameters.echo.citations', wrong === null, () => `a citation has ${wrong}`)
  }
  return citations
}

function checkTypes(said: unknown, contract: Contract, expect: Expect<'parameters.echo'>): void {
  const echo = toObject(said)
  const wrong = echo === null ? null : mistypedOption(echo, contract)
  expect('parameters.echo', echo !== null && wrong === null, () =>
    echo === null
      ? `the echo of the options is ${quote(said)}, expected an object`
      : `the echo of the options has ${wrong}`,
  )
}

function mistypedOption(echo: Fields, contract: Contract): string | null {
  for (const [name, option] of Object.entries(documentedOptions(contract))) {
    const value = fieldOf(echo, name)
    if (value === null || allowsValue(option, value)) continue
    const expected = typeof option.values === 'string' ? `a ${option.values}` : option.values.join(', ')
    return `${name} ${quote(value)}, expected ${expected}`
  }
  const citations = fieldOf(echo, 'web_search_citations')
  return citations === null || Array.isArray(citations)
    ? null
    : `web_search_citations ${quote(citations)}, expected a list`
}

/**
 * Each echoed option must have the sent value or, if not sent, the default. A value of a wrong type fails for its type
 * only.
 */
function checkValues(echo: Fields, options: ChatOptions, contract: Contract, expect: Expect<EchoClause>): void {
  const inBody = bodyOptions(options, contract)
  const inSuffix = suffixOptions(options, contract)
  const sent = { ...inSuffix, ...inBody }
  let isSuffixKept = options.suffix !== null
  for (const [name, option] of Object.entries(documentedOptions(contract))) {
    const value = fieldOf(echo, name)
    if (value === null || option.conditional || !allowsValue(option, value)) continue
    const request = fieldOf(sent, name)
    const got = () => `${name} is echoed as ${quote(value)}`
    if (request === null) {
      if (option.default === null) continue
      expect(
        'parameters.echo.default',
        value === option.default,
        () => `${got()}, expected its default ${option.default}`,
      )
    } else if (isApplied(name, sent) && allowsValue(option, request) && !isContradictory(name, inBody, inSuffix)) {
      const expected = () => `${got()}, expected ${quote(request)} as sent`
      if (Object.hasOwn(inBody, name)) expect('parameters.echo.sent', value === request, expected)
      else if (value !== request) {
        isSuffixKept = false
        expect('parameters.suffix', false, () => `${expected()} in the model suffix`)
      }
    }
  }
  if (isSuffixKept) expect('parameters.suffix', true, () => '')
}

/** It is open which of two different values counts. */
const isContradictory = (name: string, inBody: Fields, inSuffix: Fields): boolean =>
  Object.hasOwn(inBody, name) && Object.hasOwn(inSuffix, name) && inBody[name] !== inSuffix[name]

const ofSearch: readonly string[] = [
  'enable_web_citations',
  'include_search_results_in_stream',
  'return_search_results_as_documents',
]

/** Some options bypass a search, and some have no effect without one. Then it is open whether they count as applied. */
function isApplied(name: string, sent: Fields): boolean {
  if (ofSearch.includes(name)) return isSearching(sent)
  return name !== 'enable_web_search' || (sent.enable_web_scraping !== true && sent.enable_x_search !== true)
}

function wrongCitation(citation: Fields): string | null {
  for (const name of ['title', 'url']) {
    if (typeof citation[name] !== 'string') return `${name} ${quote(citation[name])}, expected a text`
  }
  for (const name of ['content', 'date']) {
    const value = fieldOf(citation, name)
    if (value !== null && typeof value !== 'string') return `${name} ${quote(value)}, expected a text`
  }
  return null
}

const fieldOf = (members: Fields, name: string): unknown =>
  Object.hasOwn(members, name) ? (members[name] ?? null) : null

/** A text that was cut may end inside a citation. A citation is at most this long. */
const maxCitationLength = 32

/** Checks the citations in the text: none unless requested, well-formed, and of sources that were found. */
function checkCitations(
  { text, isTruncated }: StatedOptions,
  sent: Readonly<Record<string, unknown>>,
  sources: readonly unknown[],
  { chat }: Contract,
  expect: Expect<'parameters.citations'>,
): void {
  if (text === null) return
  const { citation, citationMark, firstSource } = chat.search
  const found = [...text.matchAll(new RegExp(citation, 'g'))]
  const isRequested = sent.enable_web_citations === true && (isSearching(sent) || sent.enable_web_scraping === true)
  if (!isRequested) {
    expect(
      'parameters.citations',
      found.length === 0,
      () => `the content cites ${quote(found[0]?.[0])}, expected no citation`,
    )
    return
  }
  const rest = text.replaceAll(new RegExp(citation, 'g'), ' ')
  const whole = isTruncated ? rest.slice(0, -maxCitationLength) : rest
  const mark = citationMark === null ? null : new RegExp(citationMark).exec(whole)
  const unknown = found.find(([, numbers = '']) => isUnknown(numbers, sources.length, firstSource))
  if (found.length === 0 && mark === null) return
  expect('parameters.citations', mark === null && unknown === undefined, () =>
    mark !== null
      ? `the content has ${quote(whole.slice(Math.max(0, mark.index - 8), mark.index + maxCitationLength))}, expected citations as ${citation}`
      : `the content cites ${quote(unknown?.[0])}, expected one of ${sources.length} sources`,
  )
}

/** If the response does not list the sources, any of them may be meant. */
const isUnknown = (numbers: string, sources: number, first: number): boolean =>
  sources > 0 &&
  numbers.split(/\D+/).some(number => number !== '' && !isBetween(Number(number), first, first + sources))

const isBetween = (number: number, min: number, end: number): boolean => number >= min && number < end

/** The parts of a chat response, streamed or not, that show the effect of options. */
type StatedOptions = {
  /** The echo of the options; undefined if there is none. */
  readonly echo: unknown
  /** The content of all choices; null if it was not recorded. */
  readonly text: string | null
  /** Whether the text may have been cut, by its token limit or by the transport. */
  readonly isTruncated: boolean
  /** Names of the called tools; null: the completion has no choices, which may be absent. */
  readonly tools: readonly string[] | null
}

function statedOptions(response: ObservedResponse, { chat }: Contract): StatedOptions {
  if (response.body.kind === 'stream') return statedInStream(response.body.stream)
  const body = jsonObject(response)
  const choices = (Array.isArray(body?.choices) ? body.choices : []).map(toObject)
  const messages = choices.map(choice => toObject(choice?.message))
  const texts = messages.flatMap(message => textsOf(message?.content))
  const isTruncated = choices.some(choice => choice?.finish_reason === 'length')
  return {
    echo: body?.[chat.parametersField],
    text: texts.join('\n'),
    isTruncated: isTruncated || texts.some(text => text.length >= recordedLength.body),
    tools: Array.isArray(body?.choices) ? messages.flatMap(message => toolsOf(message?.tool_calls)) : null,
  }
}

const statedInStream = ({
  parameters,
  text,
  toolNames,
  contentCharacters,
  finishReasons,
}: StreamRecord): StatedOptions => ({
  echo: parameters ?? undefined,
  text,
  isTruncated: finishReasons.includes('length') || contentCharacters !== text?.length,
  tools: toolNames,
})

function textsOf(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap(part => {
    const text = toObject(part)?.text
    return typeof text === 'string' ? [text] : []
  })
}

function toolsOf(calls: unknown): readonly string[] {
  if (!Array.isArray(calls)) return []
  return calls.map(call => {
    const name = toObject(toObject(call)?.function)?.name
    return typeof name === 'string' ? name : ''
  })
}
