import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../../../src/lib/random.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { chatDescriptor, observed, responseOf, startedAtMs, tokenHeaders } from '../../checks/observed.ts'
import { judge } from './judge-limits.ts'

/** When a bucket says that it is reset: once it is full, in a minute, or now. */
const resets = {
  full: (missing: number, rate: number) => missing / rate,
  window: () => 60_000,
  now: () => 0,
} as const
type Traffic = { readonly limit: number; readonly gapMs: number; readonly use: number; readonly steady: boolean }

/** The completions of a bucket of tokens that refills all the time. */
function bucket(
  { limit, gapMs, use, steady }: Traffic,
  resetMs: (missing: number, rate: number) => number,
  seed: number,
  state = (left: number) => left,
): readonly Observation[] {
  const random = randomStream(seed, 'bucket')
  const rate = limit / 60_000
  let [missing, knownMs, sentMs] = [0, 0, 20]
  return Array.from({ length: 150 }, (_, id) => {
    sentMs += steady ? gapMs : random.int(2 * gapMs)
    const arrivedMs = sentMs + 5 + random.int(100)
    missing = Math.max(0, missing - Math.max(0, arrivedMs - knownMs) * rate)
    knownMs = Math.max(knownMs, arrivedMs)
    const tokens = steady ? use : 1 + random.int(2 * use)
    missing = Math.min(limit, missing + tokens)
    const headers = {
      ...tokenHeaders,
      date: new Date(startedAtMs + arrivedMs).toUTCString(),
      'x-ratelimit-limit-tokens': String(limit),
      'x-ratelimit-remaining-tokens': String(state(Math.floor(limit - missing))),
      'x-ratelimit-reset-tokens': String(Math.ceil(resetMs(missing, rate) / 1000)),
    }
    const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens }
    const request = { ...chatDescriptor, model: 'ref-large-235b', modelTier: 'L' as const }
    const times = { id, dueMs: sentMs, sentMs, headersMs: arrivedMs + 20, endMs: arrivedMs + 40 }
    return observed(request, responseOf(200, { usage }, headers), times)
  })
}

const ofTokens = (observations: readonly Observation[], tokenLimit: number) =>
  judge(observations, { algorithm: null, tokenLimit, limit: 100_000 }).findings.filter(({ clause }) =>
    clause.startsWith('limit.tokens'),
  )

describe.each([
  { limit: 750_000, gapMs: 300, use: 300, steady: false },
  { limit: 60_000, gapMs: 500, use: 500, steady: true },
  { limit: 60_000, gapMs: 1_500, use: 900, steady: false },
  { limit: 6_000, gapMs: 2_000, use: 150, steady: false },
  { limit: 6_000, gapMs: 500, use: 45, steady: true },
])('a bucket of $limit tokens a minute that loses about $use each $gapMs ms', traffic => {
  test.each(Object.entries(resets))('is accused of nothing, with the reset %s', (_, resetMs) => {
    for (let seed = 1; seed <= 8; seed++)
      expect(ofTokens(bucket(traffic, resetMs, seed), traffic.limit).map(({ message }) => message)).toEqual([])
  })
})

test('tokens that never fall in a window whose end stays are named, although the algorithm is open', () => {
  const traffic = { limit: 750_000, gapMs: 1_000, use: 300, steady: false }
  for (const constant of [750_000, 749_500]) {
    const calls = bucket(traffic, resets.now, 1, () => constant)
      .slice(0, 30)
      .map(each => {
        const seconds = 60 - Math.floor((each.headersMs ?? 0) / 1_000)
        const headers = { ...each.response?.headers, 'x-ratelimit-reset-tokens': String(seconds) }
        return each.response === null ? each : { ...each, response: { ...each.response, headers } }
      })
    expect(ofTokens(calls, 750_000).map(({ clause }) => clause)).toContain('limit.tokens.remaining')
  }
})
