import type { Clock } from '../../lib/clock.ts'
import { createMask, type Mask } from '../../lib/mask/mask.ts'
import { UsageError } from '../../lib/usage-error.ts'
import type { PushCounts } from '../../observation/log-lines.ts'
import type { Exchange, RawHttpRequest } from '../../produce/transport/transport.ts'
import type { UndiciTransport } from '../../produce/transport/undici.ts'

/** A server that receives pushed metrics. */
export type Receiver = {
  /** Without credentials, so it may be shown. */
  readonly address: string
  readonly authorization: string | null
  /** Further headers, whose values are secret. */
  readonly headers: Readonly<Record<string, string>>
  /** Hides the credentials in responses. */
  readonly mask: Mask
}

/** A receiver and the connection to it. */
export type ReceiverLink = {
  readonly receiver: Receiver
  readonly send: UndiciTransport['send']
  readonly clock: Clock
  /** Called with a short message when the state of pushing changes. */
  readonly note: (line: string) => void
  /** Called at the end with the counts of all samples or spans. */
  readonly reportCounts: (counts: PushCounts, unit?: 'sample' | 'span') => void
  readonly close: () => Promise<void>
}

/** Sends a body once. */
export type Post = (body: Uint8Array, signal: AbortSignal) => Promise<PushResult>

/** The maximum time that the end of a run waits for a receiver. */
const maxFinishMs = 10_000

/** Runs the final work for a receiver. `until` aborts when it takes too long, or when `quit` aborts. */
export async function finishInTime(
  clock: Clock,
  quit: AbortSignal,
  work: (until: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const over = new AbortController()
  const end = () => over.abort()
  const cancel = clock.at(clock.nowMs() + maxFinishMs, end)
  quit.addEventListener('abort', end, { once: true })
  if (quit.aborted) end()
  await work(over.signal)
  quit.removeEventListener('abort', end)
  cancel()
}

/**
 * The receiver at the address of a flag. Credentials are a token, or a user and a password separated by a colon. They
 * come from the environment, because every user of the machine can read command lines. Throws a UsageError, which never
 * contains a secret.
 */
export function parseReceiver(
  flag: string,
  address: string,
  variable: string,
  credentials: string | undefined,
  more: MoreHeaders = { headers: {}, secrets: [] },
): Receiver {
  const url = URL.canParse(address) ? new URL(address) : null
  const expected = 'an address such as http://127.0.0.1:9090'
  // The message does not quote the address, because it may contain a secret.
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError({ where: flag, got: 'not an http or https address', expected })
  if (url.username !== '' || url.password !== '')
    throw new UsageError({
      where: flag,
      got: 'an address with a user name or a password',
      expected: `an address without them; put them into ${variable}`,
    })
  if (url.search !== '' || url.hash !== '')
    throw new UsageError({
      where: flag,
      got: 'an address with ? or #',
      expected: 'an address without them',
    })
  const { headers, secrets } = more
  if (credentials === undefined || credentials === '')
    return { address: url.href, authorization: null, headers, mask: createMask(secrets) }
  if (!/^[\x21-\x7e]+$/.test(credentials))
    throw new UsageError({
      where: variable,
      got: 'a space or a character outside ASCII',
      expected: 'a token, or user:password',
    })
  const encoded = Buffer.from(credentials).toString('base64')
  const isPair = credentials.includes(':')
  return {
    address: url.href,
    authorization: isPair ? `Basic ${encoded}` : `Bearer ${credentials}`,
    headers,
    mask: createMask([credentials, ...(isPair ? [credentials.slice(credentials.indexOf(':') + 1)] : []), ...secrets]),
  }
}

/** Headers besides the credentials, and their secret parts. */
export type MoreHeaders = {
  readonly headers: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

/** A slow receiver must not delay the end of a run. */
const timeouts = { connectMs: 3_000, headersMs: 10_000, idleMs: 10_000, totalMs: 10_000 }
const maxReplyBytes = 64 * 1024

/** Sends bodies to a receiver, each once. No result contains what was sent. */
export function createPost(
  { receiver, send, clock }: Pick<ReceiverLink, 'receiver' | 'send' | 'clock'>,
  { method, headers }: Pick<RawHttpRequest, 'method' | 'headers'>,
  rules: PushRules = remoteWriteRules,
): Post {
  const { address, authorization, mask } = receiver
  const path = new URL(address).pathname
  const credentials = authorization === null ? {} : { authorization }
  const all = { ...receiver.headers, ...headers, ...credentials }
  return async (body, signal) => {
    const request = { method, path, headers: all, body, timeouts, maxBodyBytes: maxReplyBytes, onStreamBytes: null }
    return readPushResult(await send(request, signal), clock.wallMs(), mask, rules)
  }
}

export type PushResult =
  | { readonly kind: 'accepted' }
  /** Accepted except for some samples, or with a warning. */
  | { readonly kind: 'partial'; readonly rejected: number; readonly reason: string }
  /** Retry later; after `afterMs` milliseconds if the receiver sent a Retry-After. */
  | { readonly kind: 'later'; readonly reason: string; readonly afterMs: number | null }
  /** Do not retry. */
  | { readonly kind: 'refused'; readonly reason: string }

/** What a protocol says about responses. */
export type PushRules = {
  readonly isRetried: (status: number) => boolean
  /** The samples that an accepting response rejects nevertheless, and why; null: none. */
  readonly rejected: (body: Buffer) => { readonly count: number; readonly message: string } | null
}

/** A faulty request is not retried, anything else is. */
const remoteWriteRules: PushRules = {
  isRetried: status => status >= 500 || status === 429,
  rejected: () => null,
}

/** Quotes are masked. */
export function readPushResult(
  { failure, status, headers, body }: Exchange,
  wallMs: number,
  mask: Mask,
  { isRetried, rejected }: PushRules = remoteWriteRules,
): PushResult {
  if (failure !== null)
    return { kind: 'later', reason: `${failure.reason}: ${mask.text(failure.detail)}`, afterMs: null }
  if (status === null || isRetried(status)) {
    const afterMs = retryAfterMs(headers['retry-after'], wallMs)
    return { kind: 'later', reason: `status ${status}${quoted(body, mask)}`, afterMs }
  }
  if (status >= 200 && status < 300) {
    const partial = rejected(body)
    if (partial === null) return { kind: 'accepted' }
    const { count, message } = partial
    return { kind: 'partial', rejected: count, reason: `${count} rejected${quoted(Buffer.from(message), mask)}` }
  }
  if (status >= 300 && status < 400)
    return { kind: 'refused', reason: `status ${status}: a redirect, which is not followed` }
  return { kind: 'refused', reason: `status ${status}${quoted(body, mask)}` }
}

/** Seconds, or a date. */
function retryAfterMs(text: string | undefined, wallMs: number): number | null {
  if (text === undefined) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - wallMs)
}

const maxQuotedLength = 160

/** The beginning of a response as one line, for a message. */
function quoted(body: Buffer, mask: Mask): string {
  const text = mask.beginning(body.toString('utf8'), maxReplyBytes)
  const words = text.replace(/[^\x20-\x7e]+/g, ' ').trim()
  return words === '' ? '' : `: ${words.slice(0, maxQuotedLength)}`
}
