import type { Exchange } from '../transport/transport.ts'

/** What a receiver made of a request. */
export type Reply =
  | { readonly kind: 'accepted' }
  /** It may be taken later: not before `afterMs` milliseconds, where the receiver said so. */
  | { readonly kind: 'later'; readonly because: string; readonly afterMs: number | null }
  /** It will never be taken. */
  | { readonly kind: 'refused'; readonly because: string }

/**
 * As the rules of remote write have it: what is wrong with the request stays so, all else may pass. A receiver that says
 * one of the secrets is not quoted.
 */
export function readReply(
  { failure, status, headers, body }: Exchange,
  wallMs: number,
  secrets: readonly string[],
): Reply {
  if (failure !== null) return { kind: 'later', because: `${failure.reason}: ${failure.detail}`, afterMs: null }
  if (status === null || status >= 500 || status === 429) {
    const afterMs = retryAfterMs(headers['retry-after'], wallMs)
    return { kind: 'later', because: `status ${status}${said(body, secrets)}`, afterMs }
  }
  if (status >= 200 && status < 300) return { kind: 'accepted' }
  if (status >= 300 && status < 400)
    return { kind: 'refused', because: `status ${status}: a redirect, which is not followed` }
  return { kind: 'refused', because: `status ${status}${said(body, secrets)}` }
}

/** Seconds, or a date. */
function retryAfterMs(text: string | undefined, wallMs: number): number | null {
  if (text === undefined) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - wallMs)
}

const longestSaid = 160

/** The beginning of what a receiver said, as one line for people. */
function said(body: Buffer, secrets: readonly string[]): string {
  const text = body.toString('utf8')
  if (secrets.some(secret => text.includes(secret))) return ''
  const words = text.replace(/[^\x20-\x7e]+/g, ' ').trim()
  return words === '' ? '' : `: ${words.slice(0, longestSaid)}`
}
