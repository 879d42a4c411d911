export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object with members: no array, and not null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value if it is an object, else null. */
export const toObject = (value: unknown): JsonObject | null => (isObject(value) ? value : null)

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null

/** The value of a JSON text; undefined, which no JSON text has, where it is malformed. */
export function parseJson(body: Buffer | string): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Null when the text is no JSON, or no object. */
export const parseObject = (text: string): JsonObject | null => toObject(parseJson(text))

/**
 * The value, with long texts (256 characters), long lists and objects (32 members) and deep ones (6 levels) cut: a
 * service may send anything, and this is kept.
 */
export function boundJson(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, 256)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 6) return null
  if (Array.isArray(value)) return value.slice(0, 32).map(each => boundJson(each, depth + 1))
  return boundMembers(value, depth)
}

/** An object whose members are cut like that. */
export const boundMembers = (value: object, depth = 0): JsonObject =>
  Object.fromEntries(
    Object.entries(value)
      .slice(0, 32)
      .map(([name, member]) => [name.slice(0, 256), boundJson(member, depth + 1)]),
  )

/** Whether a Content-Type names JSON, whatever its parameters. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return false
  if (contentType === 'application/json') return true
  const end = contentType.indexOf(';')
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase() === 'application/json'
}

/** The same data, of which nothing can be changed: for the type that a zod schema infers. */
export type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T
