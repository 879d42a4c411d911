import { randomStream } from '../../lib/random.ts'
import { type HangUp, writtenPoint } from '../../plan/plan.ts'
import type { Leave } from '../transport/transport.ts'
import type { StreamReader } from './stream-reader.ts'

/** At which point the client leaves this request; undefined: it reads the response to its end. */
export function pointToLeave(
  hangUp: HangUp | undefined,
  content: number | string,
  seed: number,
): HangUp['after'] | undefined {
  if (hangUp === undefined) return undefined
  const leaves = hangUp.ratio === 1 || randomStream(seed, `hang-up/${content}`).next() < hangUp.ratio
  return leaves ? hangUp.after : undefined
}

/** The same for the transport, which knows bytes but no tokens. */
export function leaveAt(point: HangUp['after'], reader: StreamReader | null): Leave {
  const text = writtenPoint(point)
  switch (point.kind) {
    case 'tokens':
      return { at: { isReached: () => reader !== null && reader.tokens() >= point.count }, text }
    case 'time':
      return { at: { ms: point.ms }, text }
    default:
      return { at: point.kind, text }
  }
}
