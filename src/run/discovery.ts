import type { Contract } from '../contract/contract.ts'
import { systemClock } from '../lib/clock.ts'
import { type PublishedLimits, parseLimits } from '../plan/limits.ts'
import type { Plan } from '../plan/plan.ts'
import { authorize, type Caller } from '../produce/callers/caller.ts'
import type { Exchange } from '../produce/transport/transport.ts'
import { undiciTransport } from '../produce/transport/undici.ts'

/**
 * Requests the rate limits of the first caller from the target, once. This costs nothing and never ends a run: without
 * a usable response, the plan uses the limits of the profile and states this.
 */
export async function discoverLimits(
  target: string,
  [caller]: readonly Caller[],
  { bounds }: Plan,
  { paths }: Contract,
): Promise<PublishedLimits> {
  if (caller === undefined) return { kind: 'not-asked', why: 'there is no caller' }
  const transport = undiciTransport({ baseUrl: target, clock: systemClock(), maxConnections: 1 })
  try {
    const exchange = await transport.send(
      {
        method: 'GET',
        path: paths.rateLimits,
        headers: { accept: 'application/json', ...authorize(caller, 0) },
        body: null,
        timeouts: bounds.timeouts.control,
        maxBodyBytes: bounds.maxBodyBytes,
        onStreamBytes: null,
      },
      new AbortController().signal,
    )
    return limitsIn(exchange, caller.name)
  } finally {
    await transport.close()
  }
}

/** The limits in the response, or why it is not usable. */
function limitsIn({ failure, status, body }: Exchange, caller: string): PublishedLimits {
  if (failure !== null) return { kind: 'failed', caller, why: failure.reason }
  if (status !== 200) return { kind: 'failed', caller, why: `it responded with ${status}` }
  const perMinute = parseLimits(parsed(body))
  return perMinute === null
    ? { kind: 'failed', caller, why: 'its response contains no limits' }
    : { kind: 'answered', caller, perMinute }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}
