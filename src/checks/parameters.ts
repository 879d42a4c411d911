import { documentedOptions, isSearching, isValueOf, sentOptions } from '../contract/chat-options.ts'
import type { ClausesOf } from '../contract/clauses.ts'
import type { ChatOption, Contract } from '../contract/contract.ts'
import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'
import { type Answer, type ChatAsked, type Observation, streamOf } from '../observation/observation.ts'
import { is2xx, isFromGateway } from '../observation/response.ts'
import { isAboutModel } from './chat-request.ts'
import { type Check, type Expect, expecting } from './check.ts'
import { checkCitations } from './citations.ts'
import { checkEcho } from './echo.ts'
import { saidIn } from './said.ts'

type Options = NonNullable<ChatAsked['options']>

/** What is said to a chat request with options of the service. Plain ones, as nearly all are, have none. */
export const checkParameters: Check<'parameters'> = (observation, contract, say) => {
  const { answer, asked, outcome, seq } = observation
  if (asked.kind !== 'chat' || asked.options === null) return
  if (answer === null || isFromGateway(answer, contract)) return
  const expect = expecting(say, seq)
  if (!is2xx(answer.status)) return checkRefusal(answer, asked.options, contract, expect)
  if (outcome.kind !== 'answered') return

  const { options } = asked
  if (isPromised(options.parameters, contract)) expect('parameters.accepted', true, () => '')
  const said = saidIn(answer, contract)
  const sent = sentOptions(options, contract)
  const citations = checkEcho(said.echo, options, contract, expect)
  checkThinking(said.text, sent, expect)
  checkCitations(said, sent, citations, contract, expect)
  checkResults(observation, sent, contract, expect)
  checkDocuments(said.tools, options, sent, citations, contract, expect)
  checkScraping(sent, citations, contract, expect)
}

/** Answers that may be given to a request for what it asks. */
const refusals: readonly number[] = [400, 404, 422]

function checkRefusal(
  answer: Answer,
  { body, parameters, suffix }: Options,
  contract: Contract,
  expect: Expect<'parameters.accepted' | 'parameters.suffix'>,
): void {
  const { status } = answer
  // Where the request has more in it that can be refused, that may be what was.
  if (!refusals.includes(status) || Object.keys(body).some(name => name !== 'messages')) return
  const names = Object.keys(parameters)
  if (suffix !== null) {
    const behind = sentOptions({ body, parameters: {}, suffix, encoding: null, samePrompt: false }, contract)
    if (!isPromised(behind, contract) || (names.length > 0 && !isPromised(parameters, contract))) return
    expect('parameters.suffix', false, () => `${suffix} behind the model was answered with ${status}, expected 200`)
  } else if (isPromised(parameters, contract) && !isAboutModel(answer)) {
    expect('parameters.accepted', false, () => `${quote(parameters)} was answered with ${status}, expected 200`)
  }
}

/** Whether each of the options is documented for every model, with this value, and there is one. */
function isPromised(options: Readonly<Record<string, unknown>>, contract: Contract): boolean {
  const known = documentedOptions(contract)
  const entries = Object.entries(options).filter(([, value]) => value !== null)
  const isTaken = ([name, value]: readonly [string, unknown]) => {
    const option: ChatOption | undefined = Object.hasOwn(known, name) ? known[name] : undefined
    return option !== undefined && !option.conditional && isValueOf(option, value)
  }
  return entries.length > 0 && entries.every(isTaken)
}

type Sent = Readonly<Record<string, unknown>>

const thinkTag = /<\/?think>/i

function checkThinking(text: string | null, sent: Sent, expect: Expect<'parameters.thinking'>): void {
  if (text === null || (sent.strip_thinking_response !== true && sent.disable_thinking !== true)) return
  expect('parameters.thinking', !thinkTag.test(text), () => `the content is ${quote(text)}, expected no think block`)
}

/** Where results were found, and the stream tells of them at all. */
function checkResults(
  observation: Observation,
  sent: Sent,
  { chat }: Contract,
  expect: Expect<'parameters.results-in-stream'>,
): void {
  const parts = streamOf(observation)?.grammar.map(([part]) => part)
  if (sent.include_search_results_in_stream !== true || !isSearching(sent) || !parts?.includes('results')) return
  const where = chat.search.resultsInStream
  const behind = parts.slice(parts.lastIndexOf('results'))
  const isThere =
    where === 'anywhere' || (where === 'first' ? parts[0] === 'results' : !behind.some(part => tokens.includes(part)))
  expect('parameters.results-in-stream', isThere, () => {
    const expected = where === 'first' ? 'the results in its first chunk' : 'the results behind its last token'
    return `the stream is ${parts.join(' ')}, expected ${expected}`
  })
}

const tokens: readonly string[] = ['reasoning', 'content', 'tool-call']

/** Where results were found or a tool is called; the tools of the caller may be called, too. */
function checkDocuments(
  tools: readonly string[],
  { body }: Options,
  sent: Sent,
  citations: readonly unknown[],
  { chat }: Contract,
  expect: Expect<'parameters.documents'>,
): void {
  const tool = chat.search.documentsTool
  if (tool === null || sent.return_search_results_as_documents !== true || !isSearching(sent)) return
  if ('tools' in body || (tools.length === 0 && citations.length === 0)) return
  expect(
    'parameters.documents',
    tools.includes(tool),
    () => `the tools that are called are ${quote(tools)}, expected a call of ${tool}`,
  )
}

/** A page that was scraped is cited; with a search beside it, the citations may be those of the search. */
function checkScraping(
  sent: Sent,
  citations: readonly unknown[],
  { chat }: Contract,
  expect: Expect<ClausesOf<'parameters'>>,
): void {
  if (sent.enable_web_scraping !== true || isSearching(sent) || citations.length === 0) return
  const most = chat.search.scrapedPages
  const pages = new Set(citations.map(citation => toObject(citation)?.url)).size
  expect('parameters.scraping', pages <= most, () => `${pages} pages were scraped, expected at most ${most}`)
}
