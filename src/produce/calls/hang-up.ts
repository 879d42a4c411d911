import type { ReadRate } from '../../contract/chat-options.ts'
import { randomStream } from '../../lib/random.ts'
import { type HangUp, writtenPoint } from '../../plan/plan.ts'
import type { Leave } from '../transport/transport.ts'
import type { StreamReader } from './stream-reader.ts'

/** How the client leaves this request; undefined: it reads the response to its end. */
export function pointToLeave(hangUp: HangUp | undefined, content: number | string, seed: number): HangUp | undefined {
  if (hangUp === undefined) return undefined
  const leaves = hangUp.ratio === 1 || randomStream(seed, `hang-up/${content}`).next() < hangUp.ratio
  return leaves ? hangUp : undefined
}

/** The same for the transport, which knows bytes but no tokens. */
export function leaveAt({ after: point, silentMs }: HangUp, reader: StreamReader | null): Leave {
  const more = silentMs === undefined ? {} : { silentMs }
  const text = `${writtenPoint(point)}${silentMs === undefined ? '' : `, and ${silentMs} ms without reading`}`
  switch (point.kind) {
    case 'tokens':
      return { at: { isReached: () => reader !== null && reader.tokens() >= point.count }, text, ...more }
    case 'time':
      return { at: { ms: point.ms }, text, ...more }
    default:
      return { at: point.kind, text, ...more }
  }
}

/** How long a client with this rate takes to read each part of a stream, by its bytes or the tokens in it. */
export function readingTime({ unit, perSecond }: ReadRate, reader: StreamReader | null): (bytes: number) => number {
  let read = 0
  return bytes => {
    const before = read
    read = unit === 'bytes' ? before + bytes : (reader?.tokens() ?? 0)
    return ((read - before) / perSecond) * 1000
  }
}
