const repeated = /^([1-9]\d{0,3}) ?[x×] (\S.*)$/

/** One entry of a sequence: the name of a call or a probe, or `20 x name` for so many of it in a row. */
export function parseTurn(entry: string): { readonly name: string; readonly times: number } {
  const match = repeated.exec(entry)
  return match === null ? { name: entry, times: 1 } : { name: match[2] ?? '', times: Number(match[1]) }
}

export const turnsOf = (entries: readonly string[]): readonly string[] =>
  entries.flatMap(entry => {
    const { name, times } = parseTurn(entry)
    return Array<string>(times).fill(name)
  })

/** The names in a list that may not be one of texts yet. */
export const namesIn = (entries: unknown): readonly string[] =>
  (Array.isArray(entries) ? entries : []).flatMap((entry: unknown) =>
    typeof entry === 'string' ? [parseTurn(entry).name] : [],
  )
