import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../../../src/lib/random.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { createLimiter } from '../../../../honest/service/limiters.ts'
import { options } from '../../../../honest/service/variant.ts'
import { todays } from '../../../../support/nightly.ts'
import { chatDescriptor, observed, responseOf, startedAtMs } from '../../checks/observed.ts'
import { judge } from './judge-limits.ts'

const windowMs = 60_000
const limit = 20
const request = { ...chatDescriptor, model: 'ref-large-235b', modelTier: 'L' as const }

type Service = {
  readonly kind: (typeof options.limiter)[number]
  readonly refusedCount: boolean
  /** The limit that it enforces; it states 20. */
  readonly enforced?: number
  /** Requests shortly before the run. */
  readonly usedBefore?: number
  /** The maximum time from sending to arrival, and from there to the response. */
  readonly latencyMs?: number
  /** The ratio of responses that are lost. */
  readonly lost?: number
}

/** The responses to bursts, in the order in which they end. All requests of a burst are in flight at once. */
function bursts(
  { kind, refusedCount, enforced = limit, usedBefore = 0, latencyMs = 250, lost = 0 }: Service,
  seed: number,
): readonly Observation[] {
  const random = randomStream(seed, 'bursts')
  const limiter = createLimiter(kind, { limit: enforced, windowMs, refusedCount })
  const accepts = (nowMs: number): boolean => {
    const isAccepted = limiter.view(nowMs).remaining > 0
    if (isAccepted) limiter.draw(nowMs, 1)
    else limiter.refuse(nowMs)
    return isAccepted
  }
  for (let used = 0; used < usedBefore; used++) accepts(startedAtMs - 1_000)
  let nextMs = 20
  const plan = Array.from({ length: 8 }, () => {
    const burst = Array.from({ length: 5 + random.int(35) }, () => {
      const sentMs = nextMs + random.next() * 20
      const arrivedMs = sentMs + 25 + random.next() * latencyMs
      return { sentMs, arrivedMs, headersMs: arrivedMs + 25 + random.next() * latencyMs }
    })
    nextMs += 500 + random.next() * 1.3 * windowMs
    return burst
  }).flat()
  const inOrder = plan.toSorted((a, b) => a.sentMs - b.sentMs).map((times, id) => ({ ...times, id }))
  return inOrder
    .toSorted((a, b) => a.arrivedMs - b.arrivedMs)
    .map(({ id, sentMs, arrivedMs, headersMs }) => {
      const nowMs = startedAtMs + arrivedMs
      const isAccepted = accepts(nowMs)
      const { remaining, resetAt, retryAt } = limiter.view(nowMs)
      const headers = {
        date: new Date(Math.floor(nowMs / 1000) * 1000).toUTCString(),
        'x-ratelimit-limit-requests': String(limit),
        'x-ratelimit-remaining-requests': String(remaining + limit - enforced),
        'x-ratelimit-reset-requests': String(Math.ceil((isAccepted ? resetAt : retryAt) / 1000)),
      }
      const response = isAccepted ? responseOf(200, {}, headers) : responseOf(429, { error: 'No' }, headers)
      if (random.next() < lost)
        return observed(request, null, {
          ...{ id, dueMs: sentMs, sentMs, headersMs: null, endMs: headersMs },
          outcome: { kind: 'failed', reason: 'connection-lost', detail: '' },
        })
      return observed(request, response, { id, dueMs: sentMs, sentMs, headersMs, endMs: headersMs })
    })
    .toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))
}

const all = Array.from({ length: 30 }, (_, index) => index + 31)
const seeds = todays(all, 5)

describe.each(options.limiter)('bursts at the limiter %s, which may count refused requests', kind => {
  test.each([false, true])('break no rule of a limit if it is honest (%s)', refusedCount => {
    for (const more of [{}, { usedBefore: 7 }, { usedBefore: 60, lost: 0.05 }, { usedBefore: 60, latencyMs: 5_000 }])
      for (const seed of seeds) {
        const { findings } = judge(bursts({ kind, refusedCount, ...more }, seed), { algorithm: null })
        expect({ more, seed, findings }).toEqual({ more, seed, findings: [] })
      }
  })

  test.each([false, true])('show that it refuses requests within the limit (%s)', refusedCount => {
    const missed = seeds.filter(seed => {
      const { findings } = judge(bursts({ kind, refusedCount, enforced: limit / 2 }, seed), { algorithm: null })
      return !findings.some(({ clause }) => clause === 'limit.requests.not-early')
    })
    expect(missed).toEqual([])
  })
})
