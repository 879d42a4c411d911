import { describe, expect, test } from 'vitest'
import { createLimiter } from './service/limiters.ts'
import { numbers, options } from './service/variant.ts'

const windowMs = 60_000

describe.each(options.limiter)('the limiter %s', kind => {
  const seeds = Array.from({ length: 30 }, (_, index) => index + 1)

  test.each(seeds)('allows a request at the time that a refusal names, and not before (%i)', seed => {
    const next = numbers(seed)
    const limit = 1 + Math.floor(next() * 40)
    const limiter = createLimiter(kind, { limit, windowMs, refusedCount: false })
    let now = 1_800_000_000_000 + Math.floor(next() * windowMs)
    let refusals = 0
    for (let count = 0; count < 400; count++) {
      now += Math.floor((next() * windowMs * 1.5) / limit)
      const view = limiter.view(now)
      expect(view.remaining).toBeLessThanOrEqual(limit)
      if (view.remaining > 0) {
        limiter.draw(now, 1)
        continue
      }
      refusals++
      expect(view.retryAt).toBeGreaterThan(now)
      expect(limiter.view(view.retryAt - 2).remaining).toBe(0)
      expect(limiter.view(Math.ceil(view.retryAt)).remaining).toBeGreaterThan(0)
      now = Math.ceil(view.retryAt)
    }
    expect(refusals).toBeGreaterThan(0)
  })

  test.each([20, 23, 60])('allows exactly a limit of %i at once', limit => {
    const limiter = createLimiter(kind, { limit, windowMs: 4_000, refusedCount: false })
    const now = 1_800_000_000_000
    let accepted = 0
    while (limiter.view(now).remaining > 0 && accepted < 100) {
      expect(limiter.view(now).remaining).toBe(limit - accepted)
      limiter.draw(now, 1)
      accepted++
    }
    expect(accepted).toBe(limit)
  })
})
