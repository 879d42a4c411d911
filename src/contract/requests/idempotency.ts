import { z } from 'zod'
import { headerName, milliseconds, open, pattern } from '../fields.ts'

/** Requests that a service may answer again for their key. stream: a chat with a streamed answer · resource: any other POST */
const repeatable = ['rpc', 'chat', 'stream', 'resource'] as const

const status = z.int().min(400).max(499)

export const idempotencyTerms = z.strictObject({
  calls: z.array(
    z
      .enum(repeatable)
      .describe(
        'the requests that may have an idempotency key: `rpc`, `chat` (with a whole answer), `stream` (a chat with a streamed one) or `resource` (a POST)',
      ),
  ),
  header: headerName.describe('the header with the idempotency key'),
  ttlMs: milliseconds.describe(
    'how long the service keeps a response for its key, in milliseconds; later repeats need not be replays',
  ),
  keyPattern: pattern.describe(
    'the keys that the reference service accepts; the keys of a run match the documented pattern',
  ),
  badKey: z
    .enum(['rejected', 'ignored'])
    .nullable()
    .meta(open('whether a key that does not match is refused with 400, or `ignored`; `null`: open')),
  concurrent: z
    .enum(['one-charge', 'best-effort'])
    .nullable()
    .meta(
      open(
        '`one-charge`: concurrent requests with one key are charged once in total; `best-effort`: they may each be charged, and a response is cached only a moment later; `null`: not asserted',
      ),
    ),
  replayHeader: headerName.nullable().describe('the header that marks a response as a replay; `null`: none'),
  replayValue: z.string().min(1).nullable().describe('the value of that header in a replay; `null`: any value'),
  replayStatus: z
    .int()
    .min(200)
    .max(299)
    .nullable()
    .describe(
      'the status that only a replay has, such as `208`; `null`: none. Without a header and a status, a response with the same bytes is a replay',
    ),
  conflict: z.array(status.describe('the statuses that are right for a used key with another body')).min(1),
  inProgress: z.array(
    status.meta(
      open(
        'the statuses that are right for a repeated request while the first one is in progress; an empty list: the service lets it wait',
      ),
    ),
  ),
  errors: z
    .enum(['kept', 'forgotten'])
    .nullable()
    .meta(
      open(
        'what a repeated request gets after a 500: the same error (`kept`), or a new attempt (`forgotten`); `null`: open',
      ),
    ),
})
export type IdempotencyTerms = z.infer<typeof idempotencyTerms>

/** What `calls` names a request by. */
export const repeatableKind = (call: { readonly kind: string; readonly stream?: boolean }): string =>
  call.kind === 'chat' && call.stream === true ? 'stream' : call.kind

/** Whether only its bytes show that a response is a replay. */
export const isMarkedByBytes = ({ replayHeader, replayStatus }: IdempotencyTerms): boolean =>
  replayHeader === null && replayStatus === null

/** Whether a response has the mark of a replay. */
export function hasReplayMark(
  { headers, status }: { readonly headers: Readonly<Record<string, string>>; readonly status: number },
  { replayHeader, replayValue, replayStatus }: IdempotencyTerms,
): boolean {
  if (replayStatus !== null && status === replayStatus) return true
  if (replayHeader === null) return false
  const value = headers[replayHeader.toLowerCase()]
  return replayValue === null ? value !== undefined : value === replayValue
}

/** The mark of a replay, for people. */
export function replayMark({ replayHeader, replayValue, replayStatus }: IdempotencyTerms): string {
  const header =
    replayHeader === null ? [] : [`${titled(replayHeader)}${replayValue === null ? '' : `: ${replayValue}`}`]
  const marks = [...header, ...(replayStatus === null ? [] : [`the status ${replayStatus}`])]
  return marks.length === 0 ? 'the same bytes' : marks.join(' or ')
}

const titled = (header: string): string => header.replace(/(^|-)[a-z]/g, letter => letter.toUpperCase())
