const maxHeaders = 6
/** Said by any server of anything, and seldom what a violation is about. */
const commonplace = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'etag',
  'keep-alive',
  'server',
  'transfer-encoding',
  'vary',
])

/** By which the service finds the request in its own records. */
const identities = new Set(['cf-ray', 'x-request-id'])

/**
 * The headers that a violation is about: those that its words name, best first, and those that identify the request.
 * Where its words name none, as when one is missing, all that are not commonplace.
 */
export function relevantHeaders(
  headers: Readonly<Record<string, string>>,
  about: string,
): readonly (readonly [name: string, value: string])[] {
  const words = new Set(wordsOf(about))
  const text = about.toLowerCase()
  const score = (name: string) => (text.includes(name) ? 100 : wordsOf(name).filter(word => words.has(word)).length)
  const scored = Object.entries(headers).map(([name, value]) => ({ name, value, score: score(name) }))
  const named = scored.filter(header => header.score > 0)
  const shown = named.length > 0 ? named : scored.filter(({ name }) => !commonplace.has(name) && !identities.has(name))
  const identifying = scored.filter(header => identities.has(header.name) && !named.includes(header))
  return [...shown.toSorted((a, b) => b.score - a.score).slice(0, maxHeaders - identifying.length), ...identifying].map(
    ({ name, value }) => [name, value],
  )
}

/** In the singular, so that `credits` and `credit` meet. */
const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(word => word.length > 2)
    .map(word => word.replace(/s$/, ''))
