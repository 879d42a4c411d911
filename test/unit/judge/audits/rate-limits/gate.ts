import { randomStream } from '../../../../../src/lib/random.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { chatDescriptor, observed, responseOf, startedAtMs, tokenHeaders } from '../../checks/observed.ts'

/** Ways in which an honest service may implement its limits, if the document leaves it open. */
export type Keeping = {
  readonly windowMs?: number
  readonly limit?: number
  /** A window begins with its first request, at the second of its first request, or with the minute. */
  readonly begins?: 'with-request' | 'with-second' | 'with-minute'
  /**
   * The format of the reset: rounded up or down to the second, in milliseconds, or the remaining seconds added to now.
   */
  readonly stamp?: 'seconds-up' | 'seconds-down' | 'milliseconds' | 'seconds-from-now'
  readonly rejectedCount?: boolean
  readonly refusedCount?: boolean
  /** Whether the remaining requests are written when the request arrives or when the response is sent. */
  readonly written?: 'on-arrival' | 'on-response'
  readonly skewMs?: number
  /** How old the Date of a response is at most; a cache keeps it, at random or for as long each time. */
  readonly dateAgeMs?: number
  readonly dateAges?: 'at-random' | 'always'
  /** How far the clock of Date is ahead of the clock of the limits. */
  readonly dateAheadMs?: number
  /** Requests of other clients in the window before the run. */
  readonly usedBefore?: number
  readonly tokenLimit?: number
  /** Whether a token window begins with the minute, whatever the request window does. */
  readonly tokensByMinute?: boolean
  readonly tokensOn429?: boolean
}

export type Traffic = {
  readonly seed: number
  readonly requests?: number
  /** The maximum time between two requests. */
  readonly gapMs?: number
  readonly latencyMs?: number
  /** Ratios of requests that are rejected for another reason, and that get no response. */
  readonly refused?: number
  readonly lost?: number
}

/** Faults of a service, each replacing one decision. */
export type Fault = {
  readonly admits?: (used: number, limit: number) => boolean
  readonly remaining?: (remaining: number, limit: number) => number
  readonly resetMs?: (resetMs: number, nowMs: number) => number
  /** Whether a window is cut short. */
  readonly ends?: (startedMs: number, nowMs: number) => boolean
  readonly tokensLeft?: (left: number, limit: number) => number
  /** How long a window really lasts; its reset is stated as if it lasted as documented. */
  readonly lasts?: number
}

type Window = { readonly startedMs: number; used: number; tokens: number }

const tokensOf = { prompt: 200, max: 120 } as const

/** The responses of one limit to random traffic of one caller, in the order in which they end. */
export function gate(keeping: Keeping, traffic: Traffic, fault: Fault = {}): readonly Observation[] {
  const {
    windowMs = 60_000,
    limit = 20,
    begins = 'with-second',
    stamp = 'seconds-up',
    written = 'on-arrival',
  } = keeping
  const { rejectedCount = false, refusedCount = true, skewMs = 0, tokenLimit = 750_000 } = keeping
  const { seed, requests = 400, gapMs = 1500, latencyMs = 400, refused = 0.05, lost = 0.03 } = traffic
  const { dateAgeMs = 0, dateAges = 'at-random', dateAheadMs = 0 } = keeping
  const { admits = (used, max) => used < max, remaining: show = left => left, ends = () => false } = fault
  const lastsMs = fault.lasts ?? windowMs
  const { resetMs: shiftReset = reset => reset, tokensLeft: showTokens = left => left } = fault
  const random = randomStream(seed, 'gate')
  const ageRandom = randomStream(seed, 'dates')
  let window: Window | null = null
  let tokenWindow: Window | null = null

  let sentMs = 20
  const plan = Array.from({ length: requests }, (_, id) => {
    // Bursts, in which many requests arrive out of order.
    sentMs += random.next() < 0.5 ? random.int(30) : random.int(gapMs)
    const arrivedMs = sentMs + 0.5 + random.next() * latencyMs
    const headersMs = arrivedMs + 0.5 + random.next() * latencyMs
    const endMs = headersMs + random.next() * 3 * latencyMs
    const draw = random.next()
    const kind = draw < refused ? 'refused' : draw < refused + lost ? 'lost' : 'usual'
    return { id, sentMs, arrivedMs, headersMs, endMs, kind }
  })

  const startOf = (nowMs: number, by: typeof begins) =>
    by === 'with-minute'
      ? Math.floor(nowMs / windowMs) * windowMs
      : by === 'with-second'
        ? Math.floor(nowMs / 1000) * 1000
        : nowMs
  const windowAt = (previous: Window | null, nowMs: number, by: typeof begins, before: number): Window => {
    if (previous !== null && nowMs < previous.startedMs + lastsMs && !ends(previous.startedMs, nowMs)) return previous
    return { startedMs: startOf(nowMs, by), used: before, tokens: 0 }
  }
  const stampOf = (resetMs: number, nowMs: number): string => {
    const shown = shiftReset(resetMs, nowMs)
    switch (stamp) {
      case 'seconds-up':
        return String(Math.ceil(shown / 1000))
      case 'seconds-down':
        return String(Math.floor(shown / 1000))
      case 'seconds-from-now':
        return String(Math.floor(nowMs / 1000) + Math.ceil((shown - nowMs) / 1000))
      case 'milliseconds':
        return String(Math.round(shown))
    }
  }

  const responses = new Map<number, Observation>()
  const later: { readonly atMs: number; readonly run: () => void }[] = []
  const settleUpTo = (atMs: number) => {
    for (const each of later.filter(event => event.atMs <= atMs)) each.run()
    later.splice(0, later.length, ...later.filter(event => event.atMs > atMs))
  }

  for (const request of plan.toSorted((a, b) => a.arrivedMs - b.arrivedMs)) {
    const { id, kind, headersMs, endMs, arrivedMs } = request
    settleUpTo(arrivedMs)
    const nowMs = startedAtMs + skewMs + arrivedMs
    // Another client opened the first window, so it may have begun before the run.
    window ??= keeping.usedBefore
      ? { startedMs: startOf(startedAtMs + skewMs - 5, begins), used: keeping.usedBefore, tokens: 0 }
      : null
    window = windowAt(window, nowMs, begins, 0)
    tokenWindow = windowAt(tokenWindow, nowMs, keeping.tokensByMinute ? 'with-minute' : begins, 0)
    const [current, ofTokens] = [window, tokenWindow]
    const drawn = tokensOf.prompt + tokensOf.max
    const isAdmitted = admits(current.used, limit) && ofTokens.tokens + drawn <= tokenLimit
    const counts = isAdmitted ? kind !== 'refused' || refusedCount : rejectedCount
    if (counts) current.used++
    if (isAdmitted && kind !== 'refused') {
      ofTokens.tokens += drawn
      // Unused tokens are returned when the completion is settled.
      const giveBack = () => {
        ofTokens.tokens -= 30
      }
      later.push({ atMs: endMs + random.next() * 900, run: giveBack })
    }

    const reset = stampOf(current.startedMs + windowMs, nowMs)
    const ageMs = dateAgeMs * (dateAges === 'always' ? 1 : ageRandom.next())
    const tokenReset = String(Math.max(0, Math.ceil((ofTokens.startedMs + windowMs - nowMs) / 1000)))
    const write = () => {
      const tokensLeft = String(showTokens(Math.max(0, tokenLimit - ofTokens.tokens), tokenLimit))
      const headers = {
        date: new Date(
          Math.floor((startedAtMs + skewMs + arrivedMs + dateAheadMs - ageMs) / 1000) * 1000,
        ).toUTCString(),
        'x-ratelimit-limit-requests': String(limit),
        'x-ratelimit-remaining-requests': String(show(Math.max(0, limit - current.used), limit)),
        'x-ratelimit-reset-requests': reset,
        'x-ratelimit-limit-tokens': String(tokenLimit),
        'x-ratelimit-remaining-tokens': isAdmitted || keeping.tokensOn429 !== false ? tokensLeft : undefined,
        'x-ratelimit-reset-tokens': tokenReset,
      }
      responses.set(id, seen(request, isAdmitted, kind, headers))
    }
    if (written === 'on-arrival') write()
    else later.push({ atMs: arrivedMs + (headersMs - arrivedMs) * random.next(), run: write })
  }
  settleUpTo(Number.POSITIVE_INFINITY)
  return [...responses.values()].toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))
}

function seen(
  { id, sentMs, headersMs, endMs }: { id: number; sentMs: number; headersMs: number; endMs: number },
  isAdmitted: boolean,
  kind: string,
  headers: Readonly<Record<string, string | undefined>>,
): Observation {
  const base = { id, dueMs: sentMs, sentMs, headersMs, endMs }
  const request = { ...chatDescriptor, model: 'ref-large-235b', modelTier: 'L' as const }
  if (kind === 'lost')
    return observed(request, null, {
      ...base,
      headersMs: null,
      outcome: { kind: 'failed', reason: 'connection-lost', detail: '' },
    })
  if (!isAdmitted) return observed(request, responseOf(429, { error: 'No' }, headers), base)
  if (kind === 'refused') return observed(request, responseOf(402, { error: 'No' }, headers), base)
  const total = tokensOf.prompt + tokensOf.max - 30
  const usage = { prompt_tokens: tokensOf.prompt, completion_tokens: total - tokensOf.prompt, total_tokens: total }
  return observed(request, responseOf(200, { usage }, { ...tokenHeaders, ...headers }), base)
}
