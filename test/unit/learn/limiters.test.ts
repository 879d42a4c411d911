import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { parseProfile } from '../../../src/contract/profile.ts'
import { notPromised } from '../../../src/contract/promises.ts'
import { firstScenario } from '../../../src/learn/first-scenario.ts'
import type { Transport } from '../../../src/produce/transport/transport.ts'
import { foreign, limitLines, speaking } from '../../support/learn-foreign.ts'
import { learnFrom } from '../../support/learn-from.ts'

/** The limiter of somebody else, before a service without one. `drawn`: what is left and until when, or the refusal. */
type Foreign = (nowMs: number) => { readonly left: number | null; readonly resetMs: number; readonly waitMs: number }

const limitedBy = (limiter: () => Foreign, limit: number) => (service: Transport, clock: { wallMs: () => number }) => {
  const draw = limiter()
  const hidden = foreign(service)
  const limited: Transport = async (request, ...more) => {
    const answer = await hidden(request, ...more)
    const bare = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !name.includes('ratelimit')))
    if (!request.path.startsWith('/chat')) return { ...answer, headers: bare }
    const { left, resetMs, waitMs } = draw(clock.wallMs())
    const seconds = (ms: number) => String(Math.ceil(ms / 1_000))
    const headers = {
      ...bare,
      'ratelimit-limit': String(limit),
      'ratelimit-remaining': String(left ?? 0),
      'ratelimit-reset': seconds(resetMs),
    }
    if (left !== null) return { ...answer, headers }
    const body = Buffer.from('{"error":{"message":"Too many requests"}}')
    return { ...answer, status: 429, headers: { ...headers, 'retry-after': seconds(waitMs) }, body }
  }
  return limited
}

/** A window that begins with its first request. Refusals after the limit may be punished with a longer one. */
const windows = (limit: number, lengthMs: number, punishMs: (refusal: number) => number) => (): Foreign => {
  let [endMs, used, refusals] = [0, 0, 0]
  return nowMs => {
    if (nowMs >= endMs) [endMs, used, refusals] = [nowMs + lengthMs, 0, 0]
    used++
    if (used > limit) endMs = Math.max(endMs, nowMs + punishMs(++refusals))
    return { left: used > limit ? null : limit - used, resetMs: endMs - nowMs, waitMs: endMs - nowMs }
  }
}

/** GCRA: its reset is the time until the bucket is full. */
const bucket = (limit: number, intervalMs: number) => (): Foreign => {
  let emptyMs = 0
  return nowMs => {
    const nextMs = Math.max(emptyMs, nowMs) + intervalMs
    const overMs = nextMs - nowMs - limit * intervalMs
    if (overMs > 0) return { left: null, resetMs: emptyMs - nowMs, waitMs: overMs }
    emptyMs = nextMs
    return { left: Math.floor(-overMs / intervalMs), resetMs: emptyMs - nowMs, waitMs: 0 }
  }
}

/** A window that is aligned to the clock, which others have used before. */
const aligned = (limit: number, lengthMs: number, before: number) => (): Foreign => {
  let [endMs, used] = [0, 0]
  return nowMs => {
    if (nowMs >= endMs) [used, endMs] = [endMs === 0 ? before : 0, (Math.floor(nowMs / lengthMs) + 1) * lengthMs]
    used++
    return { left: used > limit ? null : limit - used, resetMs: endMs - nowMs, waitMs: endMs - nowMs }
  }
}

describe('limiters of others', () => {
  test.each([
    ['a minute, of which the next one begins soon', 200, aligned(200, 60_000, 50), 60_000, true],
    [
      'an hour, whose begin nobody has seen',
      5_000,
      aligned(5_000, 3_600_000, 900),
      documentedContract.limits.windowMs,
      false,
    ],
  ])('in %s, what depends on its length is promised if it is known', async (_, limit, limiter, windowMs, isKnown) => {
    const { yaml, differences } = await learnFrom({ over: limitedBy(limiter, limit) })
    const { limits, promises } = parseProfile(yaml, 'learned.yaml')
    expect([limits.windowMs, limitLines(differences)]).toEqual([windowMs, []])
    expect(promises.only?.includes('limit.requests.enforced')).toBe(isKnown)
    expect(promises.only).toContain('limit.requests.headers')
  })

  test.each([
    ['a window of 5 s', windows(6, 5_000, () => 0), 5_000, true],
    ['a window of 5 s that blocks for 8 s', windows(6, 5_000, refusal => (refusal === 1 ? 8_000 : 0)), 5_000, false],
    ['a window of 5 s that each refusal begins anew, twice as long', windows(6, 5_000, () => 10_000), 5_000, false],
    ['a bucket of 6 with one each second', bucket(6, 1_000), 6_000, true],
    ['a bucket of 6 with one each 10 s', bucket(6, 10_000), 60_000, true],
    ['a bucket of 60 with one each second', bucket(60, 1_000), 60_000, true, 60],
  ])('%s is learned, and nothing is held against it', async (_, limiter, windowMs, endsWithWindow, limit = 6) => {
    const { yaml, differences } = await learnFrom({ over: limitedBy(limiter, limit) })
    const { limits, promises } = parseProfile(yaml, 'learned.yaml')
    expect([limits.dialect, limits.windowMs, limitLines(differences)]).toEqual(['kong', windowMs, []])
    // The reset of a punished refusal is beyond the window.
    expect(promises.only?.includes('limit.requests.reset')).toBe(endsWithWindow)
  })

  test('that refuse another account, too, are told, and the first scenario has both accounts', async () => {
    const shared = await learnFrom({
      over: limitedBy(
        windows(6, 10_000, () => 0),
        6,
      ),
      hasOtherCaller: true,
    })
    expect(limitLines(shared.differences)).toEqual([
      expect.stringContaining('another account of TURNPIKE_KEYS is refused'),
    ])
    expect(notPromised(parseProfile(shared.yaml, 'x'))).not.toContain('limit.requests.not-early')
    const apart = await learnFrom({ contract: speaking('kong'), over: foreign, hasOtherCaller: true })
    expect(limitLines(apart.differences)).toEqual([])
    const callers = [shared, apart].map(lesson => firstScenario(lesson, { tierPerMinute: null, budgetUsd: null }))
    expect(callers.map(text => /callers: { count: \d/.exec(text)?.[0].at(-1))).toEqual(['2', '1'])
  })
})
