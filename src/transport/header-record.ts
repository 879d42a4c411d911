const mostHeaders = 128
const longestValue = 512

/**
 * What header records inherit from: nothing, so that a header called `constructor` is absent unless it was sent. Without
 * any prototype V8 makes each record a table of its own; with this one, answers with the same headers share their shape,
 * and all judging takes a quarter less.
 */
const nothing: object = Object.freeze(Object.create(null))

export const noHeaders: Readonly<Record<string, string>> = Object.freeze(Object.create(nothing))

/**
 * The headers of an answer in the form that an observation keeps: names in lower case (as they come), repeated ones
 * joined, long values cut.
 */
export function headerRecord(
  received: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const record: Record<string, string> = Object.create(nothing)
  let count = 0
  for (const name in received) {
    const value = received[name]
    if (value === undefined) continue
    if (count++ === mostHeaders) break
    const text = typeof value === 'string' ? value : value.join(', ')
    record[name] = text.length > longestValue ? text.slice(0, longestValue) : text
  }
  return record
}
