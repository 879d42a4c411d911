export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a field is neither missing nor null. */
export const isPresent = (value: unknown): boolean => value !== undefined && value !== null

/** Null if the text is not a JSON object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

const maxStringLength = 256
const maxMembers = 32
const maxDepth = 6

/** The value with long strings, wide lists and deep nesting cut, because a target may send anything and this is kept. */
export function boundJson(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, maxStringLength)
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return null
  if (Array.isArray(value)) return value.slice(0, maxMembers).map(each => boundJson(each, depth + 1))
  return boundMembers(value, depth)
}

/** An object with its members cut as by `boundJson`. */
export const boundMembers = (value: object, depth = 0): JsonObject =>
  Object.fromEntries(
    Object.entries(value)
      .slice(0, maxMembers)
      .map(([name, member]) => [name.slice(0, maxStringLength), boundJson(member, depth + 1)]),
  )
