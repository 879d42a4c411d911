import { z } from 'zod'

/** Fields of the contract. */

/** An amount, which is a whole number of pico-units, as all money is computed. */
export const amountText = z
  .string()
  .regex(/^\d{1,30}(\.\d{1,12})?$/, 'a decimal in quotes with at most 12 decimals, such as "0.000000625"')
export const pattern = z.string().refine(isPattern, 'a regular expression')
/** The name of a header. Anything else would fail in the client, or add a header of its own. */
export const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]{1,256}$/, 'the name of a header')
export const headerPrefix = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/, 'the beginning of the name of a header, in lower case')
/** The address of an endpoint. */
export const path = z.string().regex(/^(?:\/[!-"$-~]*)?$/, 'a path from "/" on, without spaces, line breaks, and #')
export const positiveInt = z.int().positive()
/** Requests per minute; null: not documented, so not asserted. */
export const perMinute = positiveInt.nullable()
export const milliseconds = z.number().nonnegative()

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp
  } catch {
    return false
  }
}

/** What a field has beside its description, which is Markdown. */
declare module 'zod' {
  interface GlobalMeta {
    /** Whether the document leaves the value open; a list: whether it leaves that of these members open. */
    isOpen?: boolean | readonly string[]
    /** What stands for the keys of a mapping whose members mean the same, such as `<model tier>`. */
    keys?: string
  }
}

/** The metadata of a field that the document leaves open. */
export const open = (description: string) => ({ description, isOpen: true })

/** The metadata of a mapping whose keys the profile names, or whose members mean the same. */
export const keyed = (keys: string) => ({ keys: `<${keys}>` })
