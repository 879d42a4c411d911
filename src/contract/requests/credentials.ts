import { z } from 'zod'
import { headerName, open } from '../fields.ts'

/** How a request carries a key. */
export type KeyForm = { readonly header: string; readonly scheme: string | null }

/** Headers that Turnpike writes itself, or that would break the connection. */
const takenHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'traceparent',
  'transfer-encoding',
  'upgrade',
])

/** The name of a header that a profile adds to requests. */
export const addedHeader = headerName.refine(
  name => !takenHeaders.has(name.toLowerCase()),
  'the name of a header that Turnpike does not write itself',
)

export const keyFormTerms = {
  header: addedHeader.meta(open('the header with the key of a caller, such as `api-key`; open in the document')),
  scheme: z
    .string()
    .regex(/^[!#$%&'*+.^_`|~\w-]{1,64}$/, 'a word such as "Bearer", or null')
    .nullable()
    .meta(open('the word before the key in that header; `null`: the header holds the key alone')),
} as const

/** The headers of a request with this key. */
export const keyHeaders = ({ header, scheme }: KeyForm, key: string): Readonly<Record<string, string>> => ({
  [header.toLowerCase()]: scheme === null ? key : `${scheme} ${key}`,
})

/** The header with a key, as it is in requests. */
export const keyHeader = ({ header }: KeyForm): string => header.toLowerCase()

/** Forms of a key that a contract does not have: its own key, which only a service with laxer rules accepts. */
const keyForgeries = ['key-of-other-scheme', 'key-without-scheme', 'key-in-other-header'] as const
export type KeyForgery = (typeof keyForgeries)[number]

export const isKeyForgery = (sender: string): sender is KeyForgery =>
  (keyForgeries as readonly string[]).includes(sender)

/** The key of these headers in another form. A caller without a key sends an unknown one. */
export function misplacedKey(form: KeyForm, own: Readonly<Record<string, string>>, forgery: KeyForgery) {
  const header = keyHeader(form)
  const { scheme } = form
  const value = own[header] ?? 'bm90LWE6a2V5'
  const key = scheme !== null && value.startsWith(`${scheme} `) ? value.slice(scheme.length + 1) : value
  switch (forgery) {
    case 'key-of-other-scheme':
      return { [header]: `${scheme?.toLowerCase() === 'basic' ? 'Token' : 'Basic'} ${key}` }
    case 'key-without-scheme':
      return { [header]: key }
    case 'key-in-other-header':
      return { [header === 'x-api-key' ? 'api-key' : 'x-api-key']: key }
  }
}
