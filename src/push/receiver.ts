import type { Clock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RawHttpRequest } from '../transport/transport.ts'
import type { UndiciTransport } from '../transport/undici.ts'
import type { Post } from './outbox.ts'
import { readReply } from './reply.ts'

/** Who takes what is pushed. */
export type Receiver = {
  /** As it may be shown: without what proves who we are. */
  readonly address: string
  readonly authorization: string | null
  /** What nobody may be shown, in each form in which a receiver could repeat it. */
  readonly secrets: readonly string[]
}

/** What it takes to reach a receiver, and to say how that goes. */
export type Line = {
  readonly receiver: Receiver
  readonly send: UndiciTransport['send']
  readonly clock: Clock
  readonly note: (line: string) => void
}

/**
 * The receiver at an address that a flag gave. Credentials are a token, or a user and a password with a colon between
 * them; they stand in the environment, because a command line is read by everybody on the machine. Throws a UsageError
 * that shows no secret.
 */
export function receiverAt(flag: string, address: string, variable: string, credentials: string | undefined): Receiver {
  const url = URL.canParse(address) ? new URL(address) : null
  const expected = 'an address such as http://127.0.0.1:9090'
  // Not what was given: a secret may stand anywhere in it.
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError({ where: flag, got: 'no address of http or https', expected })
  if (url.username !== '' || url.password !== '')
    throw new UsageError({ where: flag, got: 'an address with a user or a password', expected: `them in ${variable}` })
  if (url.search !== '' || url.hash !== '')
    throw new UsageError({ where: flag, got: 'an address with a ? or a #', expected: 'one that ends with its path' })
  if (credentials === undefined || credentials === '') return { address: url.href, authorization: null, secrets: [] }
  if (!/^[\x21-\x7e]+$/.test(credentials))
    throw new UsageError({
      where: variable,
      got: 'a space or a special character',
      expected: 'a token or user:password',
    })
  const encoded = Buffer.from(credentials).toString('base64')
  const isPair = credentials.includes(':')
  return {
    address: url.href,
    authorization: isPair ? `Basic ${encoded}` : `Bearer ${credentials}`,
    secrets: isPair ? [encoded, credentials.slice(credentials.indexOf(':') + 1)] : [encoded, credentials],
  }
}

/** A receiver is on a network of its own, and must not keep a run from ending. */
const timeouts = { connectMs: 3_000, headersMs: 10_000, idleMs: 10_000, totalMs: 10_000 }
const mostReplyBytes = 64 * 1024

/** Sends bodies to a receiver, each once. What it answers never shows what it was sent. */
export function postTo(
  { receiver, send, clock }: Omit<Line, 'note'>,
  { method, headers }: Pick<RawHttpRequest, 'method' | 'headers'>,
): Post {
  const { address, authorization, secrets } = receiver
  const path = new URL(address).pathname
  const proof = authorization === null ? {} : { authorization }
  const all = { ...headers, ...proof }
  return async (body, signal) => {
    const request = { method, path, headers: all, body, timeouts, maxBodyBytes: mostReplyBytes, onStreamBytes: null }
    return readReply(await send(request, signal), clock.wallMs(), secrets)
  }
}
