/** The most columns that a run is shown in. */
export const maxColumns = 600
const finestStepMs = 1_000

/** One number for each column of time. */
export type TimeRow = {
  readonly put: (column: number, value: number) => void
  readonly at: (column: number) => number
  readonly snapshot: () => Float64Array
  readonly merge: (snapshot: Float64Array, columnOf: (theirs: number) => number) => void
}

/** Counts for each column of time and each row of something else. */
type TimeMatrix = {
  readonly add: (column: number, row: number) => void
  readonly at: (column: number, row: number) => number
  /** All rows of the first column, of the second, and so on. */
  readonly snapshot: () => Uint32Array
  readonly merge: (snapshot: Uint32Array, columnOf: (theirs: number) => number) => void
}

/** How far a timeline has come; what stands in its columns is with its tracks and grids. */
export type TimelineSnapshot = { readonly stepMs: number; readonly columns: number }

/**
 * The time of a run in columns of one second, at most `mostColumns` of them: where a run goes on for longer, two columns
 * become one, again and again. So memory is fixed, and a record that is read again comes to the same columns.
 */
export type Timeline = {
  /** A column for an instant on the clock of the run; -1 where it is no instant. It holds until the next call. */
  readonly columnOf: (ms: number) => number
  readonly columns: () => number
  readonly stepMs: () => number
  /** Values of a column, and columns that become one, are added up. */
  readonly sums: () => TimeRow
  /** The largest value; 0 where there is none. */
  readonly maxima: () => TimeRow
  readonly matrix: (rows: number) => TimeMatrix
  /** Called with the number of each column from which on two become one. */
  readonly onHalving: (halve: () => void) => void
  readonly snapshot: () => TimelineSnapshot
  /** Makes room for all that another timeline has come to; gives the column of each of its columns. */
  readonly merge: (snapshot: TimelineSnapshot) => (theirs: number) => number
}

export function createTimeline(): Timeline {
  const halvings: (() => void)[] = []
  let stepMs = finestStepMs
  let columns = 0

  const row = (join: (a: number, b: number) => number): TimeRow => {
    const values = new Float64Array(maxColumns)
    halvings.push(() => {
      for (let column = 0; column < maxColumns; column++) {
        const from = 2 * column
        values[column] = from < maxColumns ? join(values[from] ?? 0, values[from + 1] ?? 0) : 0
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
    while (ms >= stepMs * maxColumns) {
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
      const counts = new Uint32Array(maxColumns * rows)
      halvings.push(() => {
        for (let column = 0; column < maxColumns; column++) {
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
          for (const [index, count] of snapshot.entries()) {
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
      // The end of its last column: it has come too far for a finer step than its own.
      if (snapshot.columns > 0) columnOf(snapshot.columns * snapshot.stepMs - 1)
      return theirs => Math.floor((theirs * snapshot.stepMs) / stepMs)
    },
  }
}
