export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object, but neither an array nor null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value if it is an object, else null. */
export const toObject = (value: unknown): JsonObject | null => (isObject(value) ? value : null)

/** An own member of a table; null: none. A name from outside, such as `constructor`, must not match an inherited one. */
export const ownMember = <T>(table: Readonly<Record<string, T>>, name: string): T | null =>
  Object.hasOwn(table, name) ? (table[name] ?? null) : null

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null

/** Far deeper than any documented body, and less than the log accepts. */
const maxLevels = 128

/**
 * The value of a JSON text; undefined if it is malformed, since no JSON text has that value. Lists and objects that are
 * nested more than `max` levels deep are null: a target may send any depth, and whatever walks through a deep value, as
 * `JSON.stringify` does, overflows the stack.
 */
export function parseJson(body: Buffer | string, max = maxLevels): unknown {
  const text = typeof body === 'string' ? body : body.toString('utf8')
  try {
    return JSON.parse(cutNesting(text, max))
  } catch {
    return undefined
  }
}

/** The same for a text that must be read whole: undefined also if it is nested too deep. */
export function parseUncut(body: Buffer | string): unknown {
  const text = typeof body === 'string' ? body : body.toString('utf8')
  return isNestedDeeper(text, maxLevels) ? undefined : parseJson(text)
}

/**
 * The text with null in place of each list and object that is nested more than `max` levels deep. What is cut is not
 * parsed, so its brackets count, and not whether it is valid.
 */
function cutNesting(json: string, max: number): string {
  // A nested value has two brackets for each of its levels.
  const edges = json.length <= 2 * max ? [] : findDeepEdges(json, max)
  const kept: string[] = []
  let from = 0
  for (let index = 0; index < edges.length; index += 2) {
    kept.push(json.slice(from, edges[index]), 'null')
    // A text that ends inside of what is cut is malformed: the brackets around it are missing, too.
    from = edges[index + 1] ?? json.length
  }
  return kept.length === 0 ? json : kept.join('') + json.slice(from)
}

/** Whether lists and objects are nested more than `max` deep. */
export const isNestedDeeper = (json: string, max: number): boolean => findDeepEdges(json, max, 1).length > 0

const quote = 0x22
const backslash = 0x5c
const isOpening = (code: number): boolean => code === 0x5b || code === 0x7b
const isClosing = (code: number): boolean => code === 0x5d || code === 0x7d

/**
 * Where each list and object at level `max + 1` begins, and where it has ended: the first `atMost` of these places, in
 * order. Fast, since it only counts brackets outside of texts.
 */
function findDeepEdges(json: string, max: number, atMost = Number.POSITIVE_INFINITY): readonly number[] {
  const edges: number[] = []
  let depth = 0
  let isText = false
  for (let index = 0; index < json.length && edges.length < atMost; index++) {
    const code = json.charCodeAt(index)
    if (isText) {
      if (code === backslash) index++
      else if (code === quote) isText = false
    } else if (code === quote) isText = true
    else if (isOpening(code)) {
      if (++depth === max + 1) edges.push(index)
    } else if (isClosing(code) && depth-- === max + 1) edges.push(index + 1)
  }
  return edges
}

/** More than anybody measures or states; its multiples are still numbers. */
const maxNumber = 1e290

/** Whether a value that is not nested deeply has a number that sums and percentages could turn into infinity. */
export function hasHugeNumber(value: unknown): boolean {
  if (typeof value === 'number') return !(Math.abs(value) <= maxNumber)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasHugeNumber)
}

/** A text as it is, and any other value as its JSON. `String` throws for an object with members such as `toString`. */
export const plainText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')

/** What `Number` makes of a value; NaN for an object, for which it may throw, too. */
export const plainNumber = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Number.NaN : Number(value)

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

/** A type with every level readonly, for types that zod infers. */
export type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T
