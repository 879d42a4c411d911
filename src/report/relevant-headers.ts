const maxHeaders = 6
/** Said by any server of anything, and seldom what a violation is about. */
const commonplace = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'date',
  'etag',
  'keep-alive',
  'server',
  'transfer-encoding',
  'vary',
])

/** The headers that a violation is about: those that its words name come first, commonplace ones only if named. */
export function relevantHeaders(
  headers: Readonly<Record<string, string>>,
  about: string,
): readonly (readonly [name: string, value: string])[] {
  const words = new Set(wordsOf(about))
  const text = about.toLowerCase()
  const score = (name: string) => (text.includes(name) ? 100 : wordsOf(name).filter(word => words.has(word)).length)
  return Object.entries(headers)
    .map(([name, value]) => ({ name, value, score: score(name) }))
    .filter(({ name, score }) => score > 0 || !commonplace.has(name))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, maxHeaders)
    .map(({ name, value }) => [name, value])
}

/** In the singular, so that `credits` and `credit` meet. */
const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(word => word.length > 2)
    .map(word => word.replace(/s$/, ''))
