import { systemClock } from '../lib/clock.ts'
import { formatDuration } from '../lib/format.ts'
import { isInteractive } from './print.ts'

const barColumns = 30

/** One line that is replaced; null where that is not possible. */
export function progressBar() {
  const { stderr } = process
  if (!isInteractive(stderr)) return null
  const clock = systemClock()
  return {
    /** `done` of `all`, which the text says in words. */
    show: (done: number, all: number, text: string) => {
      const filled = Math.min(barColumns, Math.round((barColumns * done) / Math.max(1, all)))
      const left = formatDuration((clock.nowMs() / Math.max(1, done)) * Math.max(0, all - done))
      const bar = `${'█'.repeat(filled)}${'░'.repeat(barColumns - filled)}`
      stderr.write(`\r\u001b[2K${bar} ${text}, ${left} left`)
    },
    end: () => void stderr.write('\r\u001b[2K'),
  }
}
