import { count, duration, NO_VALUE, plural } from '../metrics/quantity.ts'
import type { LoadFacts } from './document.ts'

/** What each worker says of itself, and how far apart they began; nothing where one did all. */
export function workerLines({ workers }: LoadFacts): readonly string[] {
  if (workers.length < 2) return []
  const began = workers.flatMap(({ beganMs }) => beganMs ?? [])
  const skew = began.length < 2 ? NO_VALUE : duration(Math.max(...began) - Math.min(...began))
  return [
    `${plural(workers.length, 'worker')}, which began ${skew} apart`,
    ...workers.map(({ worker, callers, isLost, sent, latenessMs: { p50, p99, max } }) => {
      const lateness = `lateness p50 ${duration(p50)}, p99 ${duration(p99)}, max ${duration(max)}`
      const lost = isLost ? 'lost; known of it: ' : ''
      return `worker ${worker}: ${lost}${plural(callers, 'caller')}, ${count(sent)} sent, ${lateness}`
    }),
  ]
}
