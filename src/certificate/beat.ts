/** When the metronome wrote a token, on the clock of the machine, and how much later that was than it was to be. */
export type Beat = { readonly writtenMs: number; readonly lateMs: number }

/** The line of an event that holds its beat: its `id`, by the standard, which no reader of completions asks for. */
export const beatLine = ({ writtenMs, lateMs }: Beat): string =>
  `id: beat ${writtenMs.toFixed(4)} ${lateMs.toFixed(4)}\n`

const opening = Buffer.from('id: beat ')
const LF = 0x0a

/**
 * Finds the beats in the bytes of a stream, however those were cut on the way. Cheaper than to read the events, because
 * it goes on inside the process that is measured; no other line that the metronome writes has this opening in it.
 */
export function scanBeats(onBeat: (writtenMs: number, lateMs: number) => void): (bytes: Buffer) => void {
  let rest: Buffer | null = null
  return bytes => {
    const whole: Buffer = rest === null ? bytes : Buffer.concat([rest, bytes])
    let from = 0
    for (;;) {
      const at = whole.indexOf(opening, from)
      const end = at === -1 ? -1 : whole.indexOf(LF, at)
      if (end === -1) {
        // The beginning of an opening may stand at the end.
        const start = at === -1 ? Math.max(from, whole.length - opening.length + 1) : at
        rest = start === whole.length ? null : whole.subarray(start)
        return
      }
      const said = whole.toString('latin1', at + opening.length, end)
      const space = said.indexOf(' ')
      onBeat(Number(said.slice(0, space)), Number(said.slice(space + 1)))
      from = end + 1
    }
  }
}
