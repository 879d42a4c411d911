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
  /** Whether its remaining requests are those of the limit that it enforces. */
  readonly saysWhatItEnforces?: boolean
  /** Requests shortly before the run, a second or more. */
  readonly usedBefore?: number
  readonly usedBeforeMs?: number
  /** When bursts of how many requests are sent; by default eight at random. */
  readonly steps?: readonly (readonly [atMs: number, count: number])[]
  /** The maximum time from sending to arrival, and from there to the response. */
  readonly latencyMs?: number
  /** The ratio of responses that are lost. */
  readonly lost?: number
}

/** The responses to bursts, in the order in which they end. All requests of a burst are in flight at once. */
function bursts(
  { kind, refusedCount, enforced = limit, usedBefore = 0, latencyMs = 250, lost = 0, ...others }: Service,
  seed: number,
): readonly Observation[] {
  const { saysWhatItEnforces = false, usedBeforeMs = 1_000, steps } = others
  const random = randomStream(seed, 'bursts')
  const limiter = createLimiter(kind, { limit: enforced, windowMs, refusedCount })
  const accepts = (nowMs: number): boolean => {
    const isAccepted = limiter.view(nowMs).remaining > 0
    if (isAccepted) limiter.draw(nowMs, 1)
    else limiter.refuse(nowMs)
    return isAccepted
  }
  for (let used = 0; used < usedBefore; used++) accepts(startedAtMs - usedBeforeMs)
  let nextMs = 20
  const plan = Array.from({ length: steps?.length ?? 8 }, (_, index) => {
    const [atMs = nextMs, count = 5 + random.int(35)] = steps?.[index] ?? []
    nextMs = atMs
    const burst = Array.from({ length: count }, () => {
      const sentMs = nextMs + random.next() * 20
      const arrivedMs = sentMs + 25 + random.next() * latencyMs
      return { sentMs, arrivedMs, headersMs: arrivedMs + 25 + random.next() * latencyMs }
    })
    nextMs += 500 + random.next() * 1.3 * windowMs
    return burst
  }).flat()
  const inOrder = plan
    .toSorted((a, b) => a.sentMs - b.sentMs)
    .map((times, index) => ({ ...times, id: steps === undefined ? index : index + 1 }))
  return inOrder
    .toSorted((a, b) => a.arrivedMs - b.arrivedMs)
    .map(({ id, sentMs, arrivedMs, headersMs }) => {
      const nowMs = startedAtMs + arrivedMs
      const isAccepted = accepts(nowMs)
      const { remaining, resetAt, retryAt } = limiter.view(nowMs)
      const headers = {
        date: new Date(Math.floor(nowMs / 1000) * 1000).toUTCString(),
        'x-ratelimit-limit-requests': String(limit),
        'x-ratelimit-remaining-requests': String(remaining + (saysWhatItEnforces ? 0 : limit - enforced)),
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

/** The first request of a run, which has another limit. */
const earlier = observed(chatDescriptor, responseOf(200, {}), {
  ...{ id: 0, dueMs: 20, sentMs: 20, headersMs: 60, endMs: 60 },
})

/** A request to begin with, a burst beyond the limit seconds later, and one more, all of it within a window. */
const once = (random: () => number): NonNullable<Service['steps']> => {
  const first = 4_000 + random() * 20_000
  const second = first + 500 + random() * 6_000
  return [
    [first, 1 + Math.floor(random() * 3)],
    [second, 25],
    [second + 4_000, 1],
  ]
}

describe('a window that begins in the run, although others before it may still count', () => {
  const runs = todays(
    Array.from({ length: 200 }, (_, seed) => seed),
    20,
  )
  const stepsOf = (seed: number) => {
    const random = randomStream(seed, 'once')
    return once(() => random.next())
  }

  test.each(options.limiter)('a limiter %s is not accused, whatever was used before', kind => {
    for (const seed of runs) {
      const before = { usedBefore: seed % 4, usedBeforeMs: 1_000 + (seed % 7) * 9_000 }
      const service = { kind, refusedCount: seed % 2 === 0, steps: stepsOf(seed), ...before }
      const { findings } = judge([earlier, ...bursts(service, seed)], { algorithm: null })
      expect({ seed, service, findings }).toEqual({ seed, service, findings: [] })
    }
  })

  test.each(['fixed', 'log'] as const)('a limiter %s that is too low by one is named', kind => {
    const missed = runs.filter(seed => {
      const lower = { enforced: limit - 1, saysWhatItEnforces: seed % 2 === 0 }
      const run = bursts({ kind, refusedCount: false, steps: stepsOf(seed), ...lower }, seed)
      const { findings } = judge([earlier, ...run], { algorithm: null })
      return !findings.some(({ clause }) => clause === 'limit.requests.not-early')
    })
    expect(missed.length).toBeLessThan(runs.length / 8)
  })
})
