/** The maximum number of columns of a run. */
export const maxColumns = 600
/** The same in a live view: its charts stay this coarse, and its snapshots this small. */
export const maxLiveColumns = 100
const finestStepMs = 1_000

/** One number for each column of time. */
export type TimeRow = {
  readonly put: (column: number, value: number) => void
  readonly at: (column: number) => number
  readonly snapshot: () => Float64Array
  readonly merge: (snapshot: Float64Array, columnOf: (theirs: number) => number) => void
}

/** Counts by column of time and by row. */
type TimeMatrix = {
  readonly add: (column: number, row: number) => void
  readonly at: (column: number, row: number) => number
  /** All rows of the first column, then of the second, and so on. */
  readonly snapshot: () => Uint32Array
  readonly merge: (snapshot: Uint32Array, columnOf: (theirs: number) => number) => void
}

/** The state of a timeline; the values of its columns are in its rows and matrices. */
export type TimelineSnapshot = { readonly stepMs: number; readonly columns: number }

/**
 * The time of a run in columns of one second, at most `maxColumns`. Each time a run exceeds them, pairs of columns are
 * joined. So memory is fixed, and reading a recording again gives the same columns.
 */
export type Timeline = {
  /** The column of an instant on the clock of the run; -1: no valid instant. It is valid until the next call. */
  readonly columnOf: (ms: number) => number
  readonly columns: () => number
  readonly stepMs: () => number
  /** Adds up the values of a column, and joined columns. */
  readonly sums: () => TimeRow
  /** Keeps the largest value; 0: there is none. */
  readonly maxima: () => TimeRow
  readonly matrix: (rows: number) => TimeMatrix
  /** Called each time pairs of columns are joined. */
  readonly onHalving: (halve: () => void) => void
  readonly snapshot: () => TimelineSnapshot
  /** Extends this timeline to the end of another one; gives the column for each column of the other one. */
  readonly merge: (snapshot: TimelineSnapshot) => (theirs: number) => number
}

export function createTimeline(most: typeof maxColumns | typeof maxLiveColumns = maxColumns): Timeline {
  const halvings: (() => void)[] = []
  let stepMs = finestStepMs
  let columns = 0

  const row = (join: (a: number, b: number) => number): TimeRow => {
    const values = new Float64Array(most)
    halvings.push(() => {
      for (let column = 0; column < most; column++) {
        const from = 2 * column
        values[column] = from < most ? join(values[from] ?? 0, values[from + 1] ?? 0) : 0
      }
    })
    const put = (column: number, value: number) => {
      values[column] = join(values[column] ?? 0, value)
    }
    return {
      put,
      at: column => values[column] ?? 0,
      snapshot: () => values.slice(0, columns),
      merge: (snapshot, columnOf) => {
        for (const [column, value] of snapshot.entries()) put(columnOf(column), value)
      },
    }
  }

  const columnOf = (ms: number): number => {
    if (!(ms >= 0 && ms < Number.MAX_SAFE_INTEGER)) return -1
    while (ms >= stepMs * most) {
      stepMs *= 2
      columns = Math.ceil(columns / 2)
      for (const halve of halvings) halve()
    }
    const column = Math.floor(ms / stepMs)
    if (column >= columns) columns = column + 1
    return column
  }

  return {
    columnOf,
    columns: () => columns,
    stepMs: () => stepMs,
    sums: () => row((a, b) => a + b),
    maxima: () => row(Math.max),
    matrix: rows => {
      const counts = new Uint32Array(most * rows)
      halvings.push(() => {
        for (let column = 0; column < most; column++) {
          const from = 2 * column * rows
          for (let row = 0; row < rows; row++)
            counts[column * rows + row] = (counts[from + row] ?? 0) + (counts[from + rows + row] ?? 0)
        }
      })
      return {
        add: (column, row) => {
          counts[column * rows + row] = (counts[column * rows + row] ?? 0) + 1
        },
        at: (column, row) => counts[column * rows + row] ?? 0,
        snapshot: () => counts.slice(0, columns * rows),
        merge: (snapshot, columnOf) => {
          // Most are 0. A snapshot for a live view is merged during the load, so this loop must be fast.
          for (let index = 0; index < snapshot.length; index++) {
            const count = snapshot[index] ?? 0
            if (count === 0) continue
            const slot = columnOf(Math.floor(index / rows)) * rows + (index % rows)
            counts[slot] = (counts[slot] ?? 0) + count
          }
        },
      }
    },
    onHalving: halve => void halvings.push(halve),
    snapshot: () => ({ stepMs, columns }),
    merge: snapshot => {
      // The end of its last column, which rules out a finer step than its own.
      if (snapshot.columns > 0) columnOf(snapshot.columns * snapshot.stepMs - 1)
      return theirs => Math.floor((theirs * snapshot.stepMs) / stepMs)
    },
  }
}
