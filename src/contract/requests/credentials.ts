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
  header: addedHeader
    .default('authorization')
    .meta(open('the header with the key of a caller, such as `api-key`; open in the document')),
  scheme: z
    .string()
    .regex(/^[!#$%&'*+.^_`|~\w-]{1,64}$/, 'a word such as "Bearer", or null')
    .nullable()
    .default('Bearer')
    .meta(open('the word before the key in that header; `null`: the header holds the key alone')),
} as const

/** The headers of a request with this key. */
export const keyHeaders = ({ header, scheme }: KeyForm, key: string): Readonly<Record<string, string>> => ({
  [header.toLowerCase()]: scheme === null ? key : `${scheme} ${key}`,
})

/** The header with a key, as it is in requests. */
export const keyHeader = ({ header }: KeyForm): string => header.toLowerCase()
