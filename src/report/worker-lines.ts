import { count, formatDuration, NO_VALUE, plural } from '../lib/format.ts'
import type { LoadFacts } from './report.ts'

/** What each worker says of itself, and how far apart they began; nothing where one did all. */
export function workerLines({ workers }: LoadFacts): readonly string[] {
  if (workers.length < 2) return []
  const began = workers.flatMap(({ beganMs }) => beganMs ?? [])
  const skew = began.length < 2 ? NO_VALUE : formatDuration(Math.max(...began) - Math.min(...began))
  return [
    `${plural(workers.length, 'worker')}, which began ${skew} apart`,
    ...workers.map(({ worker, callers, isLost, sent, latenessMs: { p50, p99, max } }) => {
      const lateness = `lateness p50 ${formatDuration(p50)}, p99 ${formatDuration(p99)}, max ${formatDuration(max)}`
      const lost = isLost ? 'lost; known of it: ' : ''
      return `worker ${worker}: ${lost}${plural(callers, 'caller')}, ${count(sent)} sent, ${lateness}`
    }),
  ]
}
