import { describe, expect, test } from 'vitest'
import type { Observation, ObservedResponse } from '../../../../../src/observation/observation.ts'
import { startedAtMs } from '../../checks/observed.ts'
import { type Fault, gate } from './gate.ts'
import { judge } from './judge-limits.ts'

const seeds = [1, 2, 3, 4]

type Headers = ObservedResponse['headers']

const withHeaders =
  (change: (headers: Headers) => Headers) =>
  (each: Observation): Observation =>
    each.response === null ? each : { ...each, response: { ...each.response, headers: change(each.response.headers) } }

const without = (headers: Headers, name: string): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name))

describe('a violation that hides others', () => {
  const quiet = { seed: 1, latencyMs: 20, lost: 0, refused: 0, gapMs: 800 }
  const algorithms = ['fixed-window', null] as const
  const unusable: Fault = { resetMs: reset => reset + 100_000 }
  const hidden = { kind: 'not-judged', text: 'resets are unusable', clause: 'limit.requests.reset' }

  test.each(algorithms)('is named by the clauses that it hides, with algorithm %s', algorithm => {
    const { findings, because, limits } = judge(
      gate({ begins: 'with-minute' }, quiet, { ...unusable, admits: used => used < 30 }),
      { algorithm },
    )
    expect(findings.map(({ clause }) => clause)).toEqual(['limit.requests.reset'])
    expect(because['limit.requests.remaining']).toEqual(hidden)
    expect(because['limit.requests.enforced']).toEqual(hidden)
    expect(because['retry.after-reset']).toEqual(hidden)
    expect(limits.map(({ windows, missing429, unexpected429 }) => [windows, missing429, unexpected429])).toEqual([
      [null, null, null],
    ])
  })

  test.each(algorithms)('is no reason for an honest service, with algorithm %s', algorithm => {
    const { because, limits } = judge(gate({ begins: 'with-minute' }, quiet), { algorithm })
    expect(limits[0]).toMatchObject({ unexpected429: 0, missing429: 0, windows: expect.any(Number) })
    const open = Object.entries(because).filter(([, each]) => each !== null)
    expect(open.map(([clause]) => clause)).toEqual(
      algorithm === null ? ['limit.requests.window', 'limit.tokens.remaining'] : [],
    )
  })

  test('a caller below its limit misses no 429, whatever its resets', () => {
    const few = gate({ begins: 'with-minute' }, { ...quiet, requests: 15 }, unusable)
    expect(judge(few, { algorithm: null }).limits[0]).toMatchObject({ accepted: 15, missing429: 0, unexpected429: 0 })
  })

  test('without limit headers, their clause is the reason', () => {
    const bare = (headers: Headers): Headers => (headers.date === undefined ? {} : { date: headers.date })
    const { because } = judge(gate({ begins: 'with-minute' }, quiet).map(withHeaders(bare)), { algorithm: null })
    // Another judge reports the violation; here is only the reason.
    expect(because['limit.requests.remaining']).toMatchObject({ text: 'responses have no usable limit headers' })
    expect(because['limit.requests.enforced']).toMatchObject({ text: 'responses have no usable limit headers' })
  })

  test('a window that ends too early hides the counts of the later ones', () => {
    const cut: Fault = { ends: (startedMs, nowMs) => nowMs > startedMs + 12_000, admits: () => true }
    const { because, limits } = judge(gate({ begins: 'with-second' }, { ...quiet, gapMs: 200 }, cut))
    expect(because['limit.requests.enforced']).toMatchObject({ clause: 'limit.requests.window' })
    expect(limits[0]?.missing429).toBe(null)
  })

  test('others on the same account leave open whether a 429 is early', () => {
    const early: Fault = { admits: used => used < 10 }
    const { because } = judge(gate({ begins: 'with-minute' }, quiet, early), { algorithm: null }, true)
    expect(because['limit.requests.not-early']?.text).toContain('may count too')
  })

  test('a 429 without remaining tokens is right, whatever was used before', () => {
    const limits = { tokenLimit: 4000 }
    const seen = gate({ begins: 'with-minute', ...limits }, quiet)
    const unused = seen.map(withHeaders(headers => without(headers, 'x-ratelimit-remaining-requests')))
    const { judged, findings } = judge(unused, { algorithm: null, ...limits }, true)
    expect(judged['limit.tokens.enforced']).toBeGreaterThan(0)
    expect(findings).toEqual([])
  })

  test('without Date, it is open whether a reset is over', () => {
    const undated = ({ date: _, ...headers }: Headers): Headers => headers
    const seen = gate({ begins: 'with-minute' }, quiet).map(withHeaders(undated))
    expect(judge(seen, { algorithm: null }).because['retry.after-reset']?.text).toContain('without Date')
  })
})

describe('of a model without a known tier and without limit headers', () => {
  const tierless = (seen: Observation): Observation =>
    seen.request.kind === 'chat' ? { ...seen, request: { ...seen.request, modelTier: null } } : seen
  const stateless = ({ 'x-ratelimit-limit-requests': _, ...headers }: Headers): Headers => headers
  const judged = (fault?: Fault, more: readonly Observation[] = []) => {
    const seen = gate({ begins: 'with-minute' }, { seed: 1, lost: 0, refused: 0 }, fault)
    return judge([...seen, ...more].map(withHeaders(stateless)).map(tierless), { algorithm: 'fixed-window' })
  }

  test('the limit is judged, since all scopes say the same', () => {
    const { findings, limits } = judged()
    expect(findings).toEqual([])
    expect(limits[0]?.decided429).toBeGreaterThan(0)
    expect(judged({ admits: used => used < 5 }).findings.map(({ clause }) => clause)).toContain(
      'limit.requests.not-early',
    )
  })
  test('429s are counted beside those of another model, whose tier is unknown too', () => {
    const [first] = gate({}, { seed: 2, requests: 1, lost: 0, refused: 0 })
    if (first?.request.kind !== 'chat') throw new Error('the gate has no chat request')
    const other = { ...first, id: 9_999, request: { ...first.request, model: 'another' } }
    const { limits } = judged({ admits: used => used < 10 }, [other])
    const rejected = limits.reduce((sum, limit) => sum + limit.rejected, 0)
    expect(rejected).toBeGreaterThan(0)
    expect(limits.flatMap(({ names }) => names).toSorted()).toEqual(['chat:another', `chat:${first.request.model}`])
  })
})

test('the length of a window is measured by its usage, whatever its resets say', () => {
  for (const windowMs of [20_000, 60_000, 90_000])
    for (const seed of seeds) {
      const traffic = { seed, latencyMs: 300, gapMs: 1_500, requests: 900 }
      const seen = gate({ begins: 'with-request', windowMs }, traffic, { resetMs: reset => reset - 500_000 })
      const { limits } = judge(seen, { algorithm: null })
      const { minMs, maxMs } = limits[0]?.lasted ?? { minMs: Number.NaN, maxMs: Number.NaN }
      expect(minMs).toBeLessThanOrEqual(windowMs)
      expect(maxMs).toBeGreaterThanOrEqual(windowMs)
      expect(maxMs - minMs).toBeLessThan(3_000)
    }
})

test('429s without headers to a model of an unknown tier are counted, and left undecided', () => {
  const bare = withHeaders(() => ({}))
  const unknown = ({ request, ...each }: Observation): Observation => ({
    ...each,
    request: request.kind === 'chat' ? { ...request, model: 'other', modelTier: null } : request,
  })
  const honest = gate({ begins: 'with-minute' }, { seed: 1, latencyMs: 20, lost: 0, refused: 0, gapMs: 800 })
  const { limits } = judge(
    honest.map(each => unknown(bare(each))),
    { algorithm: null, published: false },
  )
  const rejected = honest.filter(({ response }) => response?.status === 429).length
  expect(rejected).toBeGreaterThan(0)
  expect(limits).toMatchObject([{ scope: 'chat:other', rejected, decided429: 0 }])
})

test('a request certainly after a reset counts as a retry, although one near the reset was accepted before', () => {
  const honest = gate({ begins: 'with-minute' }, { seed: 1, latencyMs: 20, lost: 0, refused: 0, gapMs: 800 })
  const first = honest.findIndex(({ response }) => response?.status === 429)
  const resetMs = 1000 * Number(honest[first]?.response?.headers['x-ratelimit-reset-requests']) - startedAtMs
  const sent = (each: Observation) => each.sentMs ?? 0
  const [near, next] = honest.filter(each => sent(each) > resetMs && sent(each) < resetMs + 1000)
  if (near === undefined || next === undefined) throw new Error('the traffic has two requests after the reset')
  const laterMs = sent(next) + 6000
  const date = new Date(startedAtMs + laterMs).toUTCString()
  const later = {
    ...withHeaders(headers => ({ ...headers, date }))(next),
    ...{ sentMs: laterMs, headersMs: laterMs + 20, endMs: laterMs + 20 },
  }
  const { judged, findings } = judge([...honest.slice(0, first + 1), near, later], { algorithm: null })
  expect(judged['retry.after-reset']).toBe(1)
  expect(findings).toEqual([])
})
