import type { Cancel, Clock } from '../lib/clock.ts'
import { progressBlock, progressLine } from './progress.ts'
import type { ProgressSnapshot } from './progress-snapshot.ts'

export type ProgressWriter = {
  /** A line that stays: it stands above what is redrawn. */
  readonly log: (line: string) => void
  /** Takes the block away and gives the cursor back. May be called more than once. */
  readonly stop: () => void
}

export type ProgressWriterOptions = {
  readonly stream: { readonly write: (text: string) => unknown }
  /** A terminal, in which lines can be drawn again; otherwise a plain line is written now and then. */
  readonly interactive: boolean
  /** Asked each time, for a terminal may be resized. */
  readonly columns: () => number
  readonly clock: Clock
  readonly snapshot: () => ProgressSnapshot
}

/** Four pictures a second: each costs the loop that measures the time of a few requests. */
const REDRAW_MS = 250
const PLAIN_LINE_MS = 5000

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'
const CLEAR_BELOW = '\u001b[0J'

export function createProgressWriter(options: ProgressWriterOptions): ProgressWriter {
  return options.interactive ? redrawing(options) : plain(options)
}

function redrawing({ stream, columns, clock, snapshot }: ProgressWriterOptions): ProgressWriter {
  let drawn = 0
  let stopped = false
  // One write a picture, so that a terminal never shows a half of it. The last column stays free: a terminal that
  // wraps there would count one line more than we do.
  const draw = (above: string) => {
    const block = progressBlock(snapshot(), Math.max(1, columns() - 1))
    stream.write(`${erased(drawn)}${above}${block.map(line => `${line}\n`).join('')}`)
    drawn = block.length
  }

  stream.write(HIDE_CURSOR)
  draw('')
  const cancel = every(clock, REDRAW_MS, () => draw(''))

  return {
    log: line => (stopped ? stream.write(`${line}\n`) : draw(`${line}\n`)),
    stop: () => {
      if (stopped) return
      stopped = true
      cancel()
      stream.write(`${erased(drawn)}${SHOW_CURSOR}`)
    },
  }
}

function plain({ stream, clock, snapshot }: ProgressWriterOptions): ProgressWriter {
  const stop = every(clock, PLAIN_LINE_MS, () => stream.write(`${progressLine(snapshot())}\n`))
  return { log: line => stream.write(`${line}\n`), stop }
}

const erased = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}A\r${CLEAR_BELOW}`)

function every(clock: Clock, ms: number, work: () => void): Cancel {
  let cancel = clock.at(clock.nowMs() + ms, again)
  function again() {
    // Counted from now and not from when it was due: a loop that was blocked must not catch up on pictures.
    cancel = clock.at(clock.nowMs() + ms, again)
    work()
  }
  return () => cancel()
}
