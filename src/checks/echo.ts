import {
  bodyOptions,
  type ChatOptions,
  documentedOptions,
  isSearching,
  isValueOf,
  suffixOptions,
} from '../contract/chat-options.ts'
import type { Contract } from '../contract/contract.ts'
import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'
import type { Expect } from './check.ts'

type Members = Readonly<Record<string, unknown>>

type OfEcho =
  | 'parameters.echo'
  | 'parameters.echo.citations'
  | 'parameters.echo.sent'
  | 'parameters.echo.default'
  | 'parameters.suffix'

/** What is repeated of the options, where that is done; gives the citations. Null stands for a member that is missing. */
export function checkEcho(
  said: unknown,
  options: ChatOptions,
  contract: Contract,
  expect: Expect<OfEcho>,
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
  const wrong = echo === null ? null : wrongMember(echo, contract)
  expect('parameters.echo', echo !== null && wrong === null, () =>
    echo === null
      ? `the echo of the options is ${quote(said)}, expected an object`
      : `the echo of the options has ${wrong}`,
  )
}

function wrongMember(echo: Members, contract: Contract): string | null {
  for (const [name, option] of Object.entries(documentedOptions(contract))) {
    const value = memberOf(echo, name)
    if (value === null || isValueOf(option, value)) continue
    const expected = typeof option.values === 'string' ? `a ${option.values}` : option.values.join(', ')
    return `${name} ${quote(value)}, expected ${expected}`
  }
  const citations = memberOf(echo, 'web_search_citations')
  return citations === null || Array.isArray(citations)
    ? null
    : `web_search_citations ${quote(citations)}, expected a list`
}

/** Each option as it was sent or, if it was not, with its default. One of a type that is wrong is wrong for that. */
function checkValues(echo: Members, options: ChatOptions, contract: Contract, expect: Expect<OfEcho>): void {
  const inBody = bodyOptions(options, contract)
  const behind = suffixOptions(options, contract)
  const sent = { ...behind, ...inBody }
  let isSuffixKept = options.suffix !== null
  for (const [name, option] of Object.entries(documentedOptions(contract))) {
    const value = memberOf(echo, name)
    if (value === null || option.conditional || !isValueOf(option, value)) continue
    const asked = memberOf(sent, name)
    const got = () => `${name} is echoed as ${quote(value)}`
    if (asked === null) {
      if (option.default === null) continue
      expect(
        'parameters.echo.default',
        value === option.default,
        () => `${got()}, expected its default ${option.default}`,
      )
    } else if (isApplied(name, sent) && isValueOf(option, asked) && !isContested(name, inBody, behind)) {
      const expected = () => `${got()}, expected ${quote(asked)} as it was sent`
      if (Object.hasOwn(inBody, name)) expect('parameters.echo.sent', value === asked, expected)
      else if (value !== asked) {
        isSuffixKept = false
        expect('parameters.suffix', false, () => `${expected()} behind the model`)
      }
    }
  }
  if (isSuffixKept) expect('parameters.suffix', true, () => '')
}

/** Which of two values counts is open. */
const isContested = (name: string, inBody: Members, behind: Members): boolean =>
  Object.hasOwn(inBody, name) && Object.hasOwn(behind, name) && inBody[name] !== behind[name]

const ofSearch: readonly string[] = [
  'enable_web_citations',
  'include_search_results_in_stream',
  'return_search_results_as_documents',
]

/** Some options bypass a search, and some mean nothing without one: then it is open what counts as applied. */
function isApplied(name: string, sent: Members): boolean {
  if (ofSearch.includes(name)) return isSearching(sent)
  return name !== 'enable_web_search' || (sent.enable_web_scraping !== true && sent.enable_x_search !== true)
}

function wrongCitation(citation: Members): string | null {
  for (const name of ['title', 'url']) {
    if (typeof citation[name] !== 'string') return `${name} ${quote(citation[name])}, expected a text`
  }
  for (const name of ['content', 'date']) {
    const value = memberOf(citation, name)
    if (value !== null && typeof value !== 'string') return `${name} ${quote(value)}, expected a text`
  }
  return null
}

const memberOf = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? (members[name] ?? null) : null
