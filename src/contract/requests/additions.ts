import { z } from 'zod'
import { memoizeByObject } from '../../lib/memoize.ts'
import { isIssued, type Mistake, UsageError } from '../../lib/usage-error.ts'
import { keyed } from '../fields.ts'
import { addedHeader, type KeyForm, keyHeader } from './credentials.ts'

const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?$/
const secretVariable = /^TURNPIKE_HEADER_[A-Z0-9_]{1,100}$/

const textOrVariable = 'a text, or { env: TURNPIKE_HEADER_<NAME> } for a secret in that variable'

/** The value of a header: a text, or the variable that holds it. Such a variable has no other purpose, so that a profile of somebody else gets no other secret. */
const addedValue = z.union(
  [
    z.string().refine(text => headerValue.test(text) && !isIssued(text), textOrVariable),
    z.strictObject({ env: z.string().regex(secretVariable, 'a variable named TURNPIKE_HEADER_<NAME>') }),
  ],
  { error: textOrVariable },
)

/** What a profile adds to each request. */
export const additionTerms = {
  requestHeaders: z
    .record(
      addedHeader,
      addedValue.describe(
        'a header of each request: its value, or `{ env: TURNPIKE_HEADER_<NAME> }` for a secret in that variable of the environment',
      ),
    )
    .meta({ ...keyed('header'), isOpen: true }),
  requestQuery: z
    .record(
      z.string().regex(/^[\w.~-]{1,100}$/, 'the name of a parameter'),
      z
        .string()
        .max(1_000)
        .refine(text => !isIssued(text), 'a text that is no secret: addresses are in reports and logs')
        .describe('a parameter in the address of each request, such as `api-version`, with its value'),
    )
    .meta({ ...keyed('parameter'), isOpen: true }),
} as const

type Additions = {
  readonly requestHeaders: Readonly<Record<string, z.infer<typeof addedValue>>>
  readonly requestQuery: Readonly<Record<string, string>>
}

/** The values of secret headers, by variable. */
export type HeaderValues = Readonly<Record<string, string>>

/** Each header in lower case, with its value or its variable. */
const headersOf = ({ requestHeaders }: Additions) =>
  Object.entries(requestHeaders).map(([name, value]) => {
    const header = name.toLowerCase()
    return typeof value === 'string' ? { header, value, variable: null } : { header, value: null, variable: value.env }
  })

/**
 * The secret headers, from the environment. The reference service that a run starts accepts any value. Throws a UsageError if
 * one is missing or invalid.
 */
export function loadHeaderValues(
  additions: Additions,
  environment: Readonly<Record<string, string | undefined>>,
  isReference: boolean,
): HeaderValues {
  const mistakes: Mistake[] = []
  const values: Record<string, string> = {}
  for (const { header, variable } of headersOf(additions)) {
    if (variable === null) continue
    const value = environment[variable]?.trim() ?? ''
    if (headerValue.test(value)) values[variable] = value
    else if (value !== '' || !isReference)
      mistakes.push({
        where: variable,
        got: value === '' ? 'nothing' : 'a value that no header can have',
        expected: `the value of the header ${header}, which the profile adds to each request`,
      })
  }
  if (mistakes.length > 0) throw new UsageError(mistakes)
  return values
}

/** null: the profile adds nothing, as in most runs. */
const additionsOf = memoizeByObject((additions: Additions) => {
  const headers = headersOf(additions)
  const query = new URLSearchParams(additions.requestQuery).toString()
  return { headers, query, isEmpty: headers.length === 0 && query === '' }
})

/**
 * A request with what the profile adds. Its own headers stay. A secret without a known value is shown as its variable, as in
 * commands and scripts.
 */
export function withAdditions<
  Request extends { readonly path: string; readonly headers: Readonly<Record<string, string>> },
>(request: Request, contract: Additions, values: HeaderValues = {}): Request {
  const { headers, query, isEmpty } = additionsOf(contract)
  if (isEmpty) return request
  const added = headers.map(({ header, value, variable }) => [header, value ?? values[variable] ?? `$${variable}`])
  return {
    ...request,
    path: withQuery(request.path, query),
    headers: { ...Object.fromEntries(added), ...request.headers },
  }
}

/** A path, which may have parameters, with more of them. */
export const withQuery = (path: string, query: string): string =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`

/** The variables with the values of secret headers, each with its header. */
export const headerVariables = (contract: Additions): ReadonlyMap<string, string> =>
  new Map(headersOf(contract).flatMap(({ header, variable }) => (variable === null ? [] : [[variable, header]])))

/** What a request lacks of the additions, as the reference service demands them; null: nothing. */
export function missingAddition(
  { path, headers }: { readonly path: string; readonly headers: Readonly<Record<string, string | undefined>> },
  contract: Additions,
  values: HeaderValues,
): string | null {
  if (additionsOf(contract).isEmpty) return null
  for (const { header, value, variable } of headersOf(contract)) {
    const expected = value ?? values[variable]
    const sent = headers[header]
    if (sent === undefined || (expected !== undefined && sent !== expected)) return `header ${header}`
  }
  const sent = new URLSearchParams(path.split('?')[1])
  const lacking = Object.entries(contract.requestQuery).find(([name, value]) => sent.get(name) !== value)
  return lacking === undefined ? null : `parameter ${lacking[0]}`
}

/** A header that would carry both a key and something else; null if there is none. */
export const sharedHeader = (contract: Additions & { readonly auth: KeyForm }): string | null =>
  Object.keys(contract.requestHeaders).find(name => name.toLowerCase() === keyHeader(contract.auth)) ?? null
