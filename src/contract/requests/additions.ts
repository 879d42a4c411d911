import { z } from 'zod'
import { parameterValue } from '../../lib/mask/mask.ts'
import { memoizeByObject } from '../../lib/memoize.ts'
import { isIssued, type Mistake, UsageError } from '../../lib/usage-error.ts'
import { keyed } from '../fields.ts'
import { addedHeader, type KeyForm, keyHeader } from './credentials.ts'

/** What a profile adds to each request is in a header, or a parameter of its address. */
const places = {
  header: {
    variable: 'TURNPIKE_HEADER_<NAME>',
    value: /^[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?$/,
    invalid: 'a value that no header can have',
  },
  /** Scripts and commands send the value as it is, so it is written as in an address. */
  parameter: {
    variable: 'TURNPIKE_QUERY_<NAME>',
    value: /^(?:[\w.~:@/=-]|%[\dA-Fa-f]{2}){1,1000}$/,
    invalid: 'characters that an address has only encoded, such as %2B for a plus',
  },
} as const

type Place = keyof typeof places

/** A variable with a secret. It has no other purpose, so that a profile of somebody else gets no other secret. */
function secretIn(place: Place) {
  const { variable } = places[place]
  const names = new RegExp(`^${variable.replace('<NAME>', '[A-Z0-9_]{1,100}')}$`)
  return z.strictObject({ env: z.string().regex(names, `a variable named ${variable}`) })
}

const orVariable = (place: Place): string =>
  `a text, or { env: ${places[place].variable} } for a secret in that variable`

const addedHeaderValue = z.union(
  [
    z.string().refine(text => places.header.value.test(text) && !isIssued(text), orVariable('header')),
    secretIn('header'),
  ],
  { error: orVariable('header') },
)

const addedParameterValue = z.union(
  [
    z
      .string()
      .max(1_000)
      .refine(text => !isIssued(text), orVariable('parameter')),
    secretIn('parameter'),
  ],
  { error: orVariable('parameter') },
)

/** What a profile adds to each request. */
export const additionTerms = {
  requestHeaders: z
    .record(
      addedHeader,
      addedHeaderValue.describe(
        'a header of each request: its value, or `{ env: TURNPIKE_HEADER_<NAME> }` for a secret in that variable of the environment',
      ),
    )
    .meta({ ...keyed('header'), isOpen: true }),
  requestQuery: z
    .record(
      z.string().regex(/^[\w.~-]{1,100}$/, 'the name of a parameter'),
      addedParameterValue.describe(
        'a parameter in the address of each request, such as `api-version`: its value, or `{ env: TURNPIKE_QUERY_<NAME> }` for a secret in that variable of the environment',
      ),
    )
    .meta({ ...keyed('parameter'), isOpen: true }),
} as const

type AddedValue = string | { readonly env: string }

type Additions = {
  readonly requestHeaders: Readonly<Record<string, AddedValue>>
  readonly requestQuery: Readonly<Record<string, AddedValue>>
}

/** The secrets that a profile adds to requests, by variable. */
export type AddedSecrets = Readonly<Record<string, string>>

/** One addition, with its value or its variable. The names of headers are in lower case. */
type Addition = { readonly place: Place; readonly name: string } & (
  | { readonly value: string; readonly variable: null }
  | { readonly value: null; readonly variable: string }
)

const additionIn =
  (place: Place) =>
  ([name, value]: readonly [string, AddedValue]): Addition =>
    typeof value === 'string'
      ? { place, name, value, variable: null }
      : { place, name, value: null, variable: value.env }

const encoded = (parameters: Readonly<Record<string, string>>): string => new URLSearchParams(parameters).toString()

/** Read for each request. Most profiles add nothing. */
const additionsOf = memoizeByObject(({ requestHeaders, requestQuery }: Additions) => {
  const headers = Object.entries(requestHeaders).map(([name, value]) => [name.toLowerCase(), value] as const)
  const all = [...headers.map(additionIn('header')), ...Object.entries(requestQuery).map(additionIn('parameter'))]
  return {
    all,
    headers: all.filter(({ place }) => place === 'header'),
    parameters: all
      .filter(({ place }) => place === 'parameter')
      .map(({ name, value, variable }) => ({ start: encoded({ [name]: value ?? '' }), variable })),
    secrets: all.flatMap(({ place, name, variable }) => (variable === null ? [] : [{ place, name, variable }])),
  }
})

/** The secrets that a profile adds, and where. */
export const secretAdditions = (
  contract: Additions,
): readonly { readonly place: Place; readonly name: string; readonly variable: string }[] =>
  additionsOf(contract).secrets

/**
 * The secrets that a profile adds, from the environment. The reference service that a run starts accepts any value. Throws a
 * UsageError if one is missing or invalid.
 */
export function loadAddedSecrets(
  additions: Additions,
  environment: Readonly<Record<string, string | undefined>>,
  isReference: boolean,
): AddedSecrets {
  const mistakes: Mistake[] = []
  const values: Record<string, string> = {}
  for (const { place, name, variable } of secretAdditions(additions)) {
    const value = environment[variable]?.trim() ?? ''
    if (places[place].value.test(value)) values[variable] = value
    else if (value !== '' || !isReference)
      mistakes.push({
        where: variable,
        got: value === '' ? 'nothing' : places[place].invalid,
        expected: `the value of the ${place} ${name}, which the profile adds to each request`,
      })
  }
  if (mistakes.length > 0) throw new UsageError(mistakes)
  return values
}

/**
 * A request with what the profile adds. Its own headers stay. A secret without a known value is shown as its variable, as in
 * commands and scripts.
 */
export function withAdditions<
  Request extends { readonly path: string; readonly headers: Readonly<Record<string, string>> },
>(request: Request, contract: Additions, secrets: AddedSecrets = {}): Request {
  const { all, headers, parameters } = additionsOf(contract)
  if (all.length === 0) return request
  const secretOf = (variable: string): string => secrets[variable] ?? `$${variable}`
  const added = headers.map(({ name, value, variable }) => [name, value ?? secretOf(variable)])
  const query = parameters.map(({ start, variable }) => (variable === null ? start : start + secretOf(variable)))
  return {
    ...request,
    path: withQuery(request.path, query.join('&')),
    headers: { ...Object.fromEntries(added), ...request.headers },
  }
}

/** A path, which may have parameters, with more of them. */
export const withQuery = (path: string, query: string): string =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`

/** What a request lacks of the additions, as the reference service demands them; null: nothing. */
export function missingAddition(
  { path, headers }: { readonly path: string; readonly headers: Readonly<Record<string, string | undefined>> },
  contract: Additions,
  secrets: AddedSecrets,
): string | null {
  const { all } = additionsOf(contract)
  if (all.length === 0) return null
  const query = new URLSearchParams(path.split('?')[1])
  const lacks = ({ place, name, value, variable }: Addition): boolean => {
    const sent = (place === 'header' ? headers[name] : query.get(name)) ?? null
    if (sent === null || (value === null && secrets[variable] === undefined)) return sent === null
    const expected = value ?? secrets[variable] ?? ''
    return sent !== (place === 'parameter' && value === null ? parameterValue(expected) : expected)
  }
  const lacking = all.find(lacks)
  return lacking === undefined ? null : `${lacking.place} ${lacking.name}`
}

/** A header that would carry both a key and something else; null if there is none. */
export const sharedHeader = (contract: Additions & { readonly auth: KeyForm }): string | null =>
  Object.keys(contract.requestHeaders).find(name => name.toLowerCase() === keyHeader(contract.auth)) ?? null
