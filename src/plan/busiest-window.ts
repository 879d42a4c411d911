/** Something that takes of what is counted, in milliseconds since the load began. */
export type Draw = {
  /** How much in [fromMs, toMs). */
  readonly taken: (fromMs: number, toMs: number) => number
  /** Where windows of this length begin between which nothing begins, ends, turns or comes at once at an edge of them. */
  readonly starts: (windowMs: number) => readonly number[]
  /** Whether all that it takes comes at once, so that between two starts nothing changes. */
  readonly isStepped: boolean
}

/**
 * The most that is taken within any `windowMs`, wherever they begin: the bound for a fixed window, whose beginning is not
 * ours to choose. Between two starts the amount is a quadratic function of where the window begins, so looking at those
 * and at the vertex between them is exact.
 */
export function busiestWindow(draws: readonly Draw[], windowMs: number): number {
  const amount = (startMs: number) => draws.reduce((sum, { taken }) => sum + taken(startMs, startMs + windowMs), 0)
  const starts = Float64Array.from(new Set(draws.flatMap(draw => draw.starts(windowMs)))).sort()
  const isStepped = draws.every(draw => draw.isStepped)
  let most = 0
  for (const [index, start] of starts.entries()) {
    most = Math.max(most, amount(start))
    if (!isStepped) most = Math.max(most, amount(vertexBetween(amount, start, starts[index + 1] ?? start)))
  }
  return Number(most.toPrecision(9))
}

/** Where the quadratic through three points inside (low, high) is highest; `low` when it has no summit there. */
function vertexBetween(f: (x: number) => number, low: number, high: number): number {
  const step = (high - low) / 4
  if (step < 1e-3) return low
  const middle = low + 2 * step
  const [left, centre, right] = [f(low + step), f(middle), f(high - step)]
  const bend = left - 2 * centre + right
  if (bend >= 0) return low
  const summit = middle + (step * (left - right)) / (2 * bend)
  return summit > low && summit < high ? summit : low
}
