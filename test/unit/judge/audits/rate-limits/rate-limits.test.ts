import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../../../src/contract/clauses.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { isNightly, todays } from '../../../../support/nightly.ts'
import { observed, responseOf, startedAtMs } from '../../checks/observed.ts'
import { type Fault, gate, type Keeping, type Traffic } from './gate.ts'
import { judge } from './judge-limits.ts'

const seeds = Array.from({ length: isNightly ? 4 : 1 }, (_, index) => index + 1)
const begins = ['with-request', 'with-second', 'with-minute'] as const
const stamps = ['seconds-up', 'seconds-down', 'milliseconds', 'seconds-from-now'] as const
const pairs = begins.flatMap(begin => stamps.map(stamp => ({ begin, stamp })))
/** Other pairs for each of some variants, so that each day has all of them. */
const pairsFor = (variant: number) => todays([...pairs.slice(variant % 6), ...pairs.slice(0, variant % 6)], 6)

describe('an honest service passes', () => {
  const variants: Readonly<Record<string, [Keeping, Partial<Traffic>?]>> = {
    'with requests far below the limit': [{}, { gapMs: 8000 }],
    'with three times the limit': [{}, { gapMs: 800 }],
    'when responses take longer than a window': [{ windowMs: 5000 }, { latencyMs: 6000 }],
    'in short windows': [{ windowMs: 5000, limit: 5 }, {}],
    'when requests rejected for other reasons do not count': [{ refusedCount: false }, { refused: 0.4 }],
    'when requests rejected with 429 count': [{ rejectedCount: true }, { gapMs: 800 }],
    'when most requests get no response': [{}, { lost: 0.6 }],
    'when the remaining requests are written with the response': [{ written: 'on-response' }, { gapMs: 800 }],
    'on an account used before the run': [{ usedBefore: 7 }, { gapMs: 800 }],
    'on an account at its limit before the run': [{ usedBefore: 20 }, { gapMs: 800 }],
    'whose clock is three seconds fast': [{ skewMs: 3000 }, {}],
    'whose clock is three seconds slow': [{ skewMs: -3000 }, {}],
    'whose Date is up to two seconds old': [{ dateAgeMs: 2000 }, { gapMs: 800, latencyMs: 250 }],
    'whose Date is always two seconds old': [
      { dateAgeMs: 2000, dateAges: 'always' },
      { gapMs: 800, latencyMs: 125 },
    ],
    'whose Date is old, and from a clock a second behind that of its limits': [
      { dateAgeMs: 2000, dateAheadMs: -1000 },
      { gapMs: 800, latencyMs: 125 },
    ],
    'whose Date is from a clock a second ahead of that of its limits': [
      { dateAheadMs: 1000 },
      { gapMs: 800, latencyMs: 125 },
    ],
    'that runs out of tokens before requests': [{ tokenLimit: 4000 }, { gapMs: 800 }],
    'that runs out of tokens, without token headers on a 429': [
      { tokenLimit: 4000, tokensOn429: false },
      { gapMs: 800 },
    ],
    'whose token windows begin with the minute': [
      { tokenLimit: 4000, tokensByMinute: true, begins: 'with-request' },
      { gapMs: 800 },
    ],
    'that counts rejected requests and runs out of tokens': [{ tokenLimit: 4000, rejectedCount: true }, { gapMs: 800 }],
  }
  const rows = Object.entries(variants).map(([name, row], index) => [name, row, pairsFor(index)] as const)
  test.each(rows)('%s', (_, [keeping, traffic = {}], pairsOfToday) => {
    for (const { begin, stamp } of pairsOfToday) {
      for (const seed of seeds) {
        const pass = { begins: begin, stamp, ...keeping }
        for (const algorithm of ['fixed-window', null] as const) {
          const { findings, judged } = judge(gate(pass, { seed, ...traffic }), { ...pass, algorithm })
          expect({ begin, stamp, seed, algorithm, findings }).toEqual({ begin, stamp, seed, algorithm, findings: [] })
          expect(judged['limit.requests.remaining']).toBeGreaterThan(0)
        }
      }
    }
  })

  test('when one response takes longer than a thousand others', () => {
    for (const seed of seeds) {
      const seen = gate({ windowMs: 5000, limit: 5 }, { seed })
      const [first, ...rest] = seen
      if (first === undefined) throw new RangeError('no responses')
      expect(judge([...rest, { ...first, endMs: 600_000 }], { windowMs: 5000, limit: 5 }, false, 16).findings).toEqual(
        [],
      )
    }
  })

  test('without a single Date', () => {
    for (const seed of seeds) {
      const seen = gate({ skewMs: -3000 }, { seed }).map(each => withHeaders(each, { date: '' }))
      expect(judge(seen).findings).toEqual([])
    }
  })

  test('on an account whose keys are used alternately', () => {
    for (const seed of seeds) {
      const { findings, judged } = judge(gate({}, { seed, gapMs: 800 }).map(each => ({ ...each, key: each.id % 2 })))
      expect(findings).toEqual([])
      expect(judged['auth.keys-share-limits']).toBeGreaterThan(0)
      expect(judged['retry.after-reset']).toBeGreaterThan(0)
    }
  })

  test('on an account whose keys each have limits of their own, unless its profile says that they share them', () => {
    for (const algorithm of ['fixed-window', null] as const) {
      for (const seed of seeds) {
        const ofKey = (key: number) =>
          gate({}, { seed: 10 * seed + key, gapMs: 800, latencyMs: 60, lost: 0, refused: 0 }).map(each => ({
            ...each,
            key,
          }))
        const seen = renumber([...ofKey(0), ...ofKey(1)]).toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))
        expect(judge(seen, { algorithm }).findings).toEqual([])
        const clauses = judge(seen, { algorithm, scope: 'account' }).findings.map(({ clause }) => clause)
        expect(clauses).toContain('auth.keys-share-limits')
      }
    }
  })

  test('on an account that others also use', () => {
    for (const seed of seeds) {
      const seen = gate({}, { seed, gapMs: 400 })
      const half = seen.filter(({ id }) => id % 2 === 0).map((each, index) => ({ ...each, id: index }))
      expect(judge(renumber(half), {}, true).findings).toEqual([])
    }
  })
})

const byId = (a: Observation, b: Observation) => (a.sentMs ?? 0) - (b.sentMs ?? 0)
const renumber = (observations: readonly Observation[]) => {
  const order = new Map(observations.toSorted(byId).map((each, seq) => [each, seq]))
  return observations.map(each => ({ ...each, id: order.get(each) ?? 0, seq: order.get(each) ?? 0 }))
}
const withHeaders = (each: Observation, headers: Readonly<Record<string, string>>): Observation =>
  each.response === null
    ? each
    : { ...each, response: { ...each.response, headers: { ...each.response.headers, ...headers } } }

describe('a service with one fault fails its clause and no other', () => {
  const faults: Readonly<Record<string, [ClauseId, Fault, Partial<Traffic>?]>> = {
    'accepts one request too many': [
      'limit.requests.enforced',
      { admits: (used, limit) => used <= limit },
      { gapMs: 800 },
    ],
    'accepts everything': ['limit.requests.enforced', { admits: () => true }, { gapMs: 800 }],
    'accepts one request too few': [
      'limit.requests.not-early',
      { admits: (used, limit) => used < limit - 1 },
      { gapMs: 800 },
    ],
    'states one more remaining request': ['limit.requests.remaining', { remaining: left => left + 1 }],
    'states one less remaining request': ['limit.requests.remaining', { remaining: left => Math.max(0, left - 1) }],
    'states that all requests remain': ['limit.requests.remaining', { remaining: (_, limit) => limit }],
    'begins a new window at half time': ['limit.requests.window', { ends: (began, now) => now >= began + 30_000 }],
    'moves its reset with every request': [
      'limit.requests.window',
      { resetMs: (_, now) => Math.ceil(now / 1000) * 1000 + 59_000 },
    ],
    'states the beginning of the window as its reset': ['limit.requests.reset', { resetMs: reset => reset - 65_000 }],
    'states the reset of the next window': ['limit.requests.reset', { resetMs: reset => reset + 65_000 }],
    'states that all tokens remain': ['limit.tokens.remaining', { tokensLeft: (_, limit) => limit }],
  }
  for (const begin of begins) {
    // A window that begins with the minute, and restarts at half time, states the same reset.
    const rows = Object.entries(faults).filter(([name]) => begin !== 'with-minute' || !name.includes('half time'))
    test.each(rows)(`${begin}: %s`, (_, [clause, fault, traffic = {}]) => {
      for (const seed of seeds) {
        const seen = gate({ begins: begin }, { seed, latencyMs: 60, lost: 0, refused: 0, ...traffic }, fault)
        expect({ seed, clauses: judge(seen).findings.map(finding => finding.clause) }).toEqual({
          seed,
          clauses: [clause],
        })
      }
    })
  }

  const unpunctual: Readonly<Record<string, [ClauseId, Fault]>> = {
    'states its reset four seconds early': ['retry.after-reset', { resetMs: reset => reset - 4_000 }],
    'ends its windows two and a half seconds late': ['retry.after-reset', { lasts: 62_500 }],
    'ends its windows one and a half seconds early': ['limit.requests.window', { lasts: 58_500 }],
  }
  test.each(Object.entries(unpunctual))('%s', (_, [clause, fault]) => {
    for (const algorithm of ['fixed-window', null] as const) {
      for (const begin of ['with-request', 'with-second'] as const) {
        for (const seed of seeds) {
          const traffic = { seed, requests: 2_500, gapMs: 600, latencyMs: 60, lost: 0, refused: 0 }
          const seen = gate({ begins: begin }, traffic, fault)
          const { findings } = judge(seen, { algorithm })
          // A reset that comes too early is also in the past in the last responses of its window.
          const others = findings.filter(finding => ![clause, 'limit.requests.reset'].includes(finding.clause))
          expect({ algorithm, begin, seed, others }).toEqual({ algorithm, begin, seed, others: [] })
          expect(findings.map(finding => finding.clause)).toContain(clause)
        }
      }
    }
  })

  test('in milliseconds and in seconds', () => {
    const stamp = 'milliseconds' as const
    for (const [clause, fault, traffic = {}] of Object.values(faults)) {
      for (const seed of seeds) {
        const seen = gate({ stamp }, { seed, latencyMs: 60, lost: 0, refused: 0, ...traffic }, fault)
        expect(judge(seen, { stamp }).findings.map(finding => finding.clause)).toContain(clause)
      }
    }
  })

  test('one request too many is found although responses overlap and arrive out of order', () => {
    for (const seed of seeds) {
      const seen = gate(
        {},
        { seed, gapMs: 400, latencyMs: 3000, lost: 0, refused: 0 },
        { admits: (used, limit) => used <= limit },
      )
      expect(judge(seen).findings.map(({ clause }) => clause)).toContain('limit.requests.enforced')
    }
  })
})

describe('a service with a blatant fault fails, although its algorithm is unknown', () => {
  const faults: Readonly<Record<string, [ClauseId, Fault, Partial<Traffic>?]>> = {
    'accepts everything': ['limit.requests.enforced', { admits: () => true }, { gapMs: 400 }],
    'accepts a quarter of its limit': ['limit.requests.not-early', { admits: used => used < 5 }, { gapMs: 800 }],
    'states that all requests remain': ['limit.requests.remaining', { remaining: (_, limit) => limit }],
    'states the beginning of the window as its reset': ['limit.requests.reset', { resetMs: reset => reset - 65_000 }],
    'states the reset of the next window': ['limit.requests.reset', { resetMs: reset => reset + 65_000 }],
  }
  for (const begin of begins) {
    test.each(Object.entries(faults))(`${begin}: %s`, (_, [clause, fault, traffic = {}]) => {
      for (const seed of seeds) {
        const seen = gate({ begins: begin }, { seed, latencyMs: 60, lost: 0, refused: 0, ...traffic }, fault)
        const clauses = judge(seen, { algorithm: null }).findings.map(finding => finding.clause)
        expect({ seed, clauses }).toEqual({ seed, clauses: expect.arrayContaining([clause]) })
      }
    })
  }
})

describe('a finding states what was found and what was expected', () => {
  const quiet = { seed: 1, latencyMs: 20, lost: 0, refused: 0, gapMs: 800 }
  const reason = (fault: Fault) => judge(gate({ begins: 'with-minute' }, quiet, fault)).findings[0]?.message ?? ''
  test.each<[string, Fault, RegExp]>([
    [
      'remaining requests',
      { remaining: left => left + 1 },
      /^\d+ of 20 requests of chat:ref-large-235b are stated as remaining, so \d+ were used, expected (at least )?\d+( to \d+)?$/,
    ],
    [
      'too many requests',
      { admits: (used, limit) => used <= limit },
      /^21 requests of chat:ref-large-235b were accepted in one window, expected at most 20$/,
    ],
    [
      'an early 429',
      { admits: used => used < 10 },
      /^a 429 came after at most 10 of 20 requests of chat:ref-large-235b were used, expected it only above the limit$/,
    ],
    [
      'a reset in the past',
      { resetMs: reset => reset - 100_000 },
      /^the reset of chat:ref-large-235b is \d+ s ago, expected 0 to 60 s ahead\. By its usage, the window lasted between 59\.\d s and 6\d\.\d s, documented 60 s\.$/,
    ],
    [
      'a reset too far ahead',
      { resetMs: reset => reset + 100_000 },
      /^the reset of chat:ref-large-235b is \d+ s ahead, expected 0 to 60 s ahead\. By its usage, the window lasted between 59\.\d s and 6\d\.\d s, documented 60 s\.$/,
    ],
    [
      'remaining tokens',
      { tokensLeft: (_, limit) => limit },
      /^750000 of 750000 tokens of chat:ref-large-235b are stated as remaining after \d+ were used, expected at most \d+$/,
    ],
  ])('for %s', (_, fault, words) => {
    expect(reason(fault)).toMatch(words)
  })
})

test('a limit that differs from the documented one is judged as stated', () => {
  const seen = gate({ limit: 30 }, { seed: 1, gapMs: 400, refused: 0 })
  expect(judge(seen, { limit: 20 }).findings).toEqual([])
})

test.each([
  ['a service that does not count a list, which has no documented limit', [1000, 1000, 1000], 0],
  ['a service that counts it', [999, 998, 997], 0],
  ['a service that stops counting it', [999, 998, 998], 1],
])('%s', (_, remaining, violations) => {
  const reset = String(startedAtMs / 1000 + 60)
  const request = { kind: 'resource', resource: 'characters', body: null, page: null, limit: null, timestampMs: null }
  const lists = remaining.map((left, index) => {
    const headers = {
      'x-ratelimit-limit-requests': '1000',
      'x-ratelimit-remaining-requests': String(left),
      'x-ratelimit-reset-requests': reset,
    }
    const times = { id: index, dueMs: index * 100, sentMs: index * 100, headersMs: index * 100 + 50 }
    const changes = { ...times, endMs: index * 100 + 50 }
    return observed(request as Observation['request'], responseOf(200, { data: [] }, headers), changes)
  })
  const { findings } = judge(lists)
  expect(findings.map(({ clause, count }) => [clause, count])).toEqual(
    violations === 0 ? [] : [['limit.requests.remaining', violations]],
  )
})

test('the abuse block is not an early 429', () => {
  const seen = gate({}, { seed: 1, refused: 0, lost: 0 }, { admits: used => used < 5 })
  const error = 'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.'
  const blocked = seen.map(each =>
    each.response?.status === 429
      ? { ...each, response: { ...each.response, body: { kind: 'json' as const, value: { error }, digest: null } } }
      : each,
  )
  const brokenOff = seen.map(each =>
    each.response?.status === 429
      ? { ...each, outcome: { kind: 'failed' as const, reason: 'connection-lost' as const, detail: '' } }
      : each,
  )
  expect(judge(seen).findings.map(({ clause }) => clause)).toEqual(['limit.requests.not-early'])
  expect(judge(blocked).findings).toEqual([])
  expect(judge(brokenOff).findings).toEqual([])
})

test('the use of a limit is counted', () => {
  const seen = gate({}, { seed: 1, gapMs: 800, lost: 0, refused: 0 })
  const rejected = seen.filter(({ response }) => response?.status === 429).length
  expect(rejected).toBeGreaterThan(0)
  expect(judge(seen).limits).toEqual([
    {
      caller: 'c0',
      names: ['chat:ref-large-235b'],
      scope: 'chat:ref-large-235b',
      tier: 'default L',
      windowMs: 60_000,
      limit: 20,
      windows: Math.max(1, new Set(seen.map(each => each.response?.headers['x-ratelimit-reset-requests'])).size),
      accepted: 400 - rejected,
      rejected,
      unexpected429: 0,
      decided429: rejected,
      missing429: 0,
      lasted: { minMs: expect.any(Number), maxMs: expect.any(Number) },
    },
  ])
})
