/**
 * Reads the Prometheus text format: `name{labels} value`, each series and each family type once. Throws for anything
 * else. The client library writes `Nan` for an event loop without samples, which Prometheus accepts. Values of Turnpike
 * are always numbers.
 */
export function readExposition(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>()
  const lines = text.split('\n')
  const types = lines.filter(line => line.startsWith('# TYPE ')).map(line => line.split(' ')[2])
  if (new Set(types).size < types.length) throw new Error(`duplicate family: ${types}`)
  for (const line of lines.filter(each => each !== '' && !each.startsWith('# '))) {
    const match = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?)*\})? (\S+)$/.exec(line)
    const value = Number(match?.[3]?.replace('Inf', 'Infinity'))
    if (match === null || (Number.isNaN(value) && !/^nodejs_.* Nan$/.test(line)))
      throw new Error(`not a sample: ${line}`)
    const series = `${match[1]}${match[2] ?? ''}`
    if (samples.has(series)) throw new Error(`duplicate series: ${series}`)
    samples.set(series, value)
  }
  return samples
}

/** Counter series that decreased or disappeared from one scrape to the next. */
export const fallen = (scrapes: readonly ReadonlyMap<string, number>[]): readonly string[] =>
  scrapes.slice(1).flatMap((after, index) =>
    [...(scrapes[index] ?? [])]
      .filter(([series]) => /^turnpike_\w+_(count|bucket|total)(\{|$)/.test(series))
      .filter(([series, value]) => !((after.get(series) ?? -1) >= value))
      .map(([series]) => series),
  )
