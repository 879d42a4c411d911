import { z } from 'zod'
import { formatDuration } from '../../lib/format.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { whole } from '../../lib/schemas.ts'
import { durationField, mapping, probabilityField } from '../fields.ts'
import { parseDuration } from '../units.ts'
import type { CallContext } from './call-kind.ts'

const afterText = 'headers, first-byte, a duration such as 300ms, or a number of tokens such as 5 tokens'

const maxAfterMs = 600_000
const maxTokens = 1_000_000

/** The point of a response at which the client leaves. */
const hangUpPoint = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('headers') }),
  z.object({ kind: z.literal('first-byte') }),
  z.object({ kind: z.literal('time'), ms: z.number().positive() }),
  z.object({ kind: z.literal('tokens'), count: whole.positive() }),
])
type HangUpPoint = DeepReadonly<z.output<typeof hangUpPoint>>

/** Which share of the requests ends early, and when. */
export const resolvedHangUp = z.object({
  after: hangUpPoint,
  ratio: z.number().min(0).max(1),
  /** How long the client stops reading before it closes the connection; missing: it closes at once. */
  silentMs: z.number().positive().optional(),
})
export type HangUp = DeepReadonly<z.output<typeof resolvedHangUp>>

const after = z
  .string({ error: afterText })
  .meta({ title: 'point of a response', examples: ['5 tokens', '300ms', 'headers', 'first-byte'] })
  .transform((value, context): HangUpPoint => {
    const point = pointOf(value)
    if (point !== null) return point
    context.issues.push({ code: 'custom', message: afterText, input: value })
    return z.NEVER
  })

export const hangUpField = mapping({
  after: after.describe(
    'When the client leaves: at the "headers", at the "first-byte" of the body, after a time, or after some tokens of a stream.',
  ),
  'stop-reading': durationField
    .optional()
    .describe('How long the client stops reading before it closes the connection. Default: it closes at once.'),
  ratio: probabilityField().default(1).describe('Probability that a request is left early.'),
})
  .optional()
  .describe('The client closes the connection before the response is complete. Default: it never does.')

/** The point of a response that a text names; null: none. */
export function pointOf(text: string): HangUpPoint | null {
  if (text === 'headers' || text === 'first-byte') return { kind: text }
  const count = Number(/^(\d{1,7}) tokens?$/.exec(text)?.[1] ?? 0)
  if (count > 0 && count <= maxTokens) return { kind: 'tokens', count }
  const ms = parseDuration(text)
  return ms !== null && ms > 0 && ms <= maxAfterMs ? { kind: 'time', ms } : null
}

/** The hang-up of a call; null: none, or one that never happens. Only a stream has tokens to count. */
export function hangUpOf(
  written: z.output<typeof hangUpField>,
  isStream: boolean,
  report: CallContext['report'],
): { readonly hangUp?: HangUp } {
  if (written === undefined || written.ratio === 0) return {}
  if (written.after.kind === 'tokens' && !isStream) {
    const expected = 'headers, first-byte or a duration, since the response is not a stream'
    report(['hang-up', 'after'], { got: writtenPoint(written.after), expected })
  }
  const { after: point, ratio, 'stop-reading': silentMs } = written
  if (silentMs !== undefined && silentMs > maxAfterMs) {
    report(['hang-up', 'stop-reading'], { got: formatDuration(silentMs), expected: 'a duration of at most 10m' })
  }
  return { hangUp: { after: point, ratio, ...(silentMs !== undefined && { silentMs }) } }
}

export function writtenPoint(point: HangUpPoint): string {
  if (point.kind === 'tokens') return `${point.count} token${point.count === 1 ? '' : 's'}`
  return point.kind === 'time' ? `${point.ms}ms` : point.kind
}

/** The key of a call that hangs up, as a person would write it. */
export const writtenHangUp = (hangUp: HangUp | undefined) =>
  hangUp === undefined
    ? {}
    : {
        'hang-up': {
          after: writtenPoint(hangUp.after),
          ...(hangUp.silentMs !== undefined && { 'stop-reading': `${hangUp.silentMs}ms` }),
          ratio: hangUp.ratio,
        },
      }

/** The traits of a call that hangs up. */
export const hangUpTraits = (hangUp: HangUp | undefined) =>
  hangUp === undefined
    ? {}
    : {
        isSearchable: false,
        samples: () => 1 - hangUp.ratio,
        unfitToSaturate: 'which hangs up',
      }
