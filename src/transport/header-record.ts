const mostHeaders = 128
const longestValue = 512

/**
 * The headers of an answer in the form that an observation keeps: names in lower case (as they come), repeated ones
 * joined, long values cut. Without a prototype, so that a header called `constructor` is absent unless it was sent.
 */
export function headerRecord(
  received: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const record: Record<string, string> = Object.create(null)
  let count = 0
  for (const name in received) {
    const value = received[name]
    if (value === undefined) continue
    if (count++ === mostHeaders) break
    record[name] = (typeof value === 'string' ? value : value.join(', ')).slice(0, longestValue)
  }
  return record
}
