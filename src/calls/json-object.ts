export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isSaid = (value: unknown): boolean => value !== undefined && value !== null

/** Null when the text is no JSON, or no object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The value with whatever is long, wide or deep in it cut, because a service may say anything and it is kept. */
export function clip(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, 256)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 6) return null
  if (Array.isArray(value)) return value.slice(0, 32).map(each => clip(each, depth + 1))
  return clipMembers(value, depth)
}

/** An object whose members are cut so. */
export const clipMembers = (value: object, depth = 0): JsonObject =>
  Object.fromEntries(
    Object.entries(value)
      .slice(0, 32)
      .map(([name, member]) => [name.slice(0, 256), clip(member, depth + 1)]),
  )
