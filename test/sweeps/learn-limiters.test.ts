import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { notPromised } from '../../src/contract/promises.ts'
import { firstScenario } from '../../src/learn/first-scenario.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { Transport } from '../../src/produce/transport/transport.ts'
import { memoryTransport } from '../../src/prove/memory-run.ts'
import { defaultLatency } from '../../src/service/capacity.ts'
import { createService } from '../../src/service/service.ts'
import { foreign, limitLines, speaking } from '../support/learn-foreign.ts'
import { learnFrom } from '../support/learn-from.ts'
import { virtualRun } from '../support/virtual-run.ts'

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

const referenceService = (clock: Clock) =>
  createService({
    ...{ contract: documentedContract, clock, seed: 1, timing: defaultLatency, lies: [] },
    ...{ openingBalanceUsd: '10', openingBalanceDiem: '0' },
  })

/** A window, or a bucket that fills up in the same time, from which each request takes its cost. */
const costing = (isBucket: boolean, limit: number, lengthMs: number, costOf: (request: number) => number) => () => {
  let [atMs, endMs, left, requests] = [0, 0, limit, 0]
  return (nowMs: number) => {
    if (isBucket) left = Math.min(limit, left + ((nowMs - atMs) * limit) / lengthMs)
    else if (nowMs >= endMs) [endMs, left] = [nowMs + lengthMs, limit]
    atMs = nowMs
    const cost = costOf(requests++)
    const isServed = cost <= left
    if (isServed) left -= cost
    const resetMs = isBucket ? ((limit - left) * lengthMs) / limit : endMs - nowMs
    const waitMs = isBucket ? ((cost - left) * lengthMs) / limit : resetMs
    return { left: isServed ? Math.floor(left) : null, resetMs, waitMs }
  }
}

describe('limits that count the cost of a request', () => {
  const limiters: readonly (readonly [string, number, () => (nowMs: number) => ReturnType<Foreign>])[] = [
    ['3 of 30 in a window of 10 s', 30, costing(false, 30, 10_000, () => 3)],
    ['7 of 50 in a window of 10 s', 50, costing(false, 50, 10_000, () => 7)],
    ['5 of 500 in a window of a minute', 500, costing(false, 500, 60_000, () => 5)],
    ['7 of 70 in a bucket of 10 s', 70, costing(true, 70, 10_000, () => 7)],
    ['1 to 100 of 500 in a window of 10 s', 500, costing(false, 500, 10_000, request => 1 + ((request * 37) % 100))],
  ]

  test.each(limiters.flatMap(each => [true, false].map(isBrief => [...each, isBrief] as const)))(
    '%s are told of a limit of %i, and a first run accuses nobody',
    async (_, limit, limiter, isBrief) => {
      const over = limitedBy(limiter, limit)
      const lesson = await learnFrom({ over, isBrief })
      expect(limitLines(lesson.differences)).toEqual([])
      expect(lesson.yaml).toContain('what the limit counts')
      expect(notPromised(parseProfile(lesson.yaml, 'x'))).toEqual(expect.arrayContaining(['limit.requests.enforced']))
      const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
      const { report } = await virtualRun({
        scenario: scenario.replace('profile: profile.yaml\n', ''),
        contract: parseProfile(lesson.yaml, 'x'),
        target: {
          connect: clock => over(memoryTransport(referenceService(clock), clock), clock),
          environment: { TURNPIKE_KEYS: 'ref_default_first' },
        },
      })
      expect([report.verdict, report.findings], report.reasons.join('\n')).toEqual(['pass', []])
    },
  )
})

test('a limit of tokens alone, whose window nothing tells, is not judged as of a minute', async () => {
  const [limit, lengthMs] = [100, 10_000]
  const { yaml, differences } = await learnFrom({
    over: (service, clock) => {
      const hidden = foreign(service)
      let [endMs, used] = [0, 0]
      return async (request, ...more) => {
        const answer = await hidden(request, ...more)
        const bare = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !name.includes('ratelimit')))
        if (!request.path.startsWith('/chat')) return { ...answer, headers: bare }
        const nowMs = clock.wallMs()
        if (nowMs >= endMs) [endMs, used] = [nowMs + lengthMs, 0]
        const isServed = used < limit
        if (isServed) used += Number(/"total_tokens":(\d+)/.exec(String(answer.body))?.[1] ?? 0)
        const headers = {
          ...bare,
          'x-ratelimit-limit-tokens': String(limit),
          'x-ratelimit-remaining-tokens': String(Math.max(0, limit - used)),
          'x-ratelimit-reset-tokens': `${(endMs - nowMs) / 1_000}s`,
        }
        if (isServed) return { ...answer, headers }
        const waitSeconds = String(Math.ceil((endMs - nowMs) / 1_000))
        const body = Buffer.from('{"error":{"message":"Too many tokens"}}')
        return { ...answer, status: 429, headers: { ...headers, 'retry-after': waitSeconds }, body }
      }
    },
  })
  expect(limitLines(differences)).toEqual([])
  const { only } = parseProfile(yaml, 'x').promises
  expect(only).toContain('limit.tokens.headers')
  expect(only).not.toContain('limit.tokens.enforced')
})

test('a limit that refuses while the cost of a request is left is judged as one of requests', async () => {
  const early = () => {
    const draw = costing(false, 30, 10_000, () => 3)()
    return (nowMs: number) => {
      const drawn = draw(nowMs)
      return drawn.left !== null && drawn.left < 9 ? { ...drawn, left: null } : drawn
    }
  }
  const { yaml } = await learnFrom({ over: limitedBy(early, 30) })
  expect(yaml).not.toContain('what the limit counts')
  expect(parseProfile(yaml, 'x').promises.only).toContain('limit.requests.not-early')
})

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
    ['a window of 10 in each second', windows(10, 1_000, () => 0), 1_000, true, 10],
    ['an aligned window of 10 in each second', aligned(10, 1_000, 0), 1_000, true, 10],
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
