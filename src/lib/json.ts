export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object, but neither an array nor null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value if it is an object, else null. */
export const toObject = (value: unknown): JsonObject | null => (isObject(value) ? value : null)

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null

/** The value of a JSON text; undefined if it is malformed, since no JSON text has that value. */
export function parseJson(body: Buffer | string): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Whether lists and objects are nested more than `max` deep. Fast, since it only counts brackets outside of texts. */
export function isNestedDeeper(json: string, max: number): boolean {
  let depth = 0
  let isText = false
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (isText) {
      if (code === 92) index++
      else if (code === 34) isText = false
    } else if (code === 34) isText = true
    else if (code === 91 || code === 123) {
      if (++depth > max) return true
    } else if (code === 93 || code === 125) depth--
  }
  return false
}

/** Null if the text is not a JSON object. */
export const parseObject = (text: string): JsonObject | null => toObject(parseJson(text))

/**
 * Truncates texts to 256 characters, lists and objects to 32 members, and nesting to 6 levels; a number beyond any double
 * is null, as in the log. A service may send anything, and the result stays in memory.
 */
export function boundJson(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, 256)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'object' || value === null) return value
  if (depth === 6) return null
  if (Array.isArray(value)) return value.slice(0, 32).map(each => boundJson(each, depth + 1))
  return boundMembers(value, depth)
}

/** Applies `boundJson` to an object. */
export const boundMembers = (value: object, depth = 0): JsonObject =>
  Object.fromEntries(
    Object.entries(value)
      .slice(0, 32)
      .map(([name, member]) => [name.slice(0, 256), boundJson(member, depth + 1)]),
  )

/** Whether a Content-Type is JSON, with any parameters. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return false
  if (contentType === 'application/json') return true
  const end = contentType.indexOf(';')
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase() === 'application/json'
}

/** What is written, of a type that is accepted when it is read. Anything else does not compile. */
export type Accepted<Written extends Read, Read> = Written & Read

/** A type with every level readonly, for types that zod infers. */
export type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T
