/** What was seen, and what was expected, in a message such as `a list has status 201, expected 200`. */
const form =
  /^(?:.*?\b(?:is|are|was|were|has|have|had|got|as)\b )(?<seen>.+?)(?: on a \d{3}| for an? [a-z ]+)?, expected (?<expected>.+)$/s

const plain = (text: string | undefined): string =>
  (text ?? '')
    .replaceAll(/["'`]/g, '')
    .replaceAll(/^(?:status|an?|the) /g, '')
    .trim()
    .toLowerCase()

/** A number, and the bound that it should not exceed, in a message such as `21 requests were accepted, expected at most 20`. */
const bound = /^(?<seen>\d+) .+, expected at most (?<most>\d+)\b/s

/** The value that a message both saw and expected instead; null if there is none. */
export function contradictionIn(message: string): string | null {
  const { seen: count, most } = bound.exec(message)?.groups ?? {}
  if (count !== undefined && Number(count) <= Number(most)) return count
  const { seen, expected } = form.exec(message)?.groups ?? {}
  if (seen === undefined) return null
  return plain(seen) === plain(expected) ? seen : null
}
