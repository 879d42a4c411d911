import { describe, expect, test } from 'vitest'
import type { Contract, LimiterAlgorithm } from '../../../../../src/contract/contract.ts'
import type { DialectName } from '../../../../../src/contract/limit-headers/limit-headers.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { chatDescriptor, observed, responseOf, startedAtMs } from '../../checks/observed.ts'
import { judge } from './judge-limits.ts'

type Call = { readonly atMs: number; readonly status?: number } & Readonly<Record<string, number | string>>

/** One response with the headers of a dialect alone. */
function call(id: number, { atMs, status = 200, ...headers }: Call): Observation {
  const request = { ...chatDescriptor, model: 'ref-large-235b', modelTier: 'L' as const }
  const none = Object.fromEntries(
    ['limit', 'remaining', 'reset'].flatMap(part => [
      [`x-ratelimit-${part}-requests`, undefined],
      [`x-ratelimit-${part}-tokens`, undefined],
    ]),
  )
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const date = new Date(startedAtMs + atMs).toUTCString()
  const response = responseOf(status, status === 200 ? {} : { error: 'Slow down' }, { ...none, date, ...texts })
  return observed(request, response, { id, dueMs: atMs, sentMs: atMs, headersMs: atMs + 5, endMs: atMs + 6 })
}

const kong = (left: number, reset: number) => ({
  'ratelimit-limit': 3,
  'ratelimit-remaining': left,
  'ratelimit-reset': reset,
})

function found(
  calls: readonly Call[],
  dialect: DialectName = 'kong',
  algorithm: LimiterAlgorithm | null = 'fixed-window',
  further: Contract['limits']['further'] = {},
) {
  const observations = calls.map((each, index) => call(index + 1, each))
  const limits = {
    dialect,
    further,
    chatScope: 'model',
    judgedBy: 'target',
    published: { 'chat:ref-large-235b': 3 },
  } as const
  return judge(observations, { limit: 3, published: false, algorithm, scope: 'account', limits })
}

const full = [
  { atMs: 0, ...kong(2, 60) },
  { atMs: 1_000, ...kong(1, 59) },
  { atMs: 2_000, ...kong(0, 58) },
]

describe('a limit that states the seconds until its reset', () => {
  const honest = [
    ...full,
    { atMs: 3_000, status: 429, ...kong(0, 57), 'retry-after': 57 },
    { atMs: 30_000, status: 429, ...kong(0, 30), 'retry-after': 30 },
    { atMs: 61_000, ...kong(2, 60) },
  ]

  test.each(['fixed-window', 'sliding-log', null] as const)('is accused of nothing as %s', algorithm => {
    expect(found(honest, 'kong', algorithm).findings).toEqual([])
  })

  test.each([
    ['retry.after-reset', 'a wait that is too short', { atMs: 3_000, status: 429, ...kong(0, 57), 'retry-after': 5 }],
    ['limit.requests.reset', 'a wait of hours', { atMs: 3_000, status: 429, ...kong(0, 57), 'retry-after': 50_400 }],
    ['limit.requests.reset', 'a wait past the reset', { atMs: 40_000, status: 429, ...kong(0, 20), 'retry-after': 60 }],
    ['limit.requests.reset', 'a reset of hours', { atMs: 3_000, status: 429, ...kong(0, 5_000), 'retry-after': 57 }],
    ['limit.requests.remaining', 'one remaining too many', { atMs: 3_000, ...kong(2, 57) }],
  ])('is accused of %s: %s', (clause, _, lie) => {
    expect(found([...full, lie]).findings.map(finding => finding.clause)).toContain(clause)
  })

  test.each(['fixed-window', null] as const)('is accused of a wait of 0 s that is not enough, as %s', algorithm => {
    const refused = { atMs: 3_000, status: 429, ...kong(0, 57), 'retry-after': 0 }
    const again = [6_000, 10_000].map(atMs => ({ ...refused, atMs, ...kong(0, 60 - atMs / 1_000) }))
    const { findings } = found([...full, refused, ...again], 'kong', algorithm)
    expect(findings.map(({ clause }) => clause)).toContain('retry.after-reset')
  })

  test('is accused if a request after the wait is refused', () => {
    const refused = { atMs: 3_000, status: 429, ...kong(0, 57), 'retry-after': 10 }
    const again = { atMs: 20_000, status: 429, ...kong(0, 40), 'retry-after': 40 }
    const { findings } = found([...full, refused, again], 'kong', 'token-bucket')
    expect(findings.map(({ clause }) => clause)).toContain('retry.after-reset')
  })

  test('is accused of a wait that is not needed', () => {
    const refused = { atMs: 3_000, status: 429, 'retry-after': 60 }
    const accepted = { atMs: 21_000 }
    const { findings } = found([{ atMs: 0 }, refused, accepted], 'litellm', null)
    expect(findings.map(({ clause, message }) => [clause, message])).toEqual([
      ['limit.requests.reset', expect.stringContaining('accepted 42 s before the end of the wait of 60 s')],
    ])
  })
})

describe('a 429 without tokens, after responses that state how many are left', () => {
  const litellm = (tokens: number) => ({
    'x-ratelimit-api_key-limit-requests': 3,
    'x-ratelimit-api_key-remaining-requests': 2,
    'x-ratelimit-api_key-limit-tokens': 100_000,
    'x-ratelimit-api_key-remaining-tokens': tokens,
  })
  const accused = (tokens: number, ...waits: readonly number[]) => {
    const refused = waits.map((seconds, index) => ({
      atMs: 3_000 + index * 30_000,
      status: 429,
      'retry-after': seconds,
    }))
    const calls = [{ atMs: 0, ...litellm(tokens) }, ...refused, { atMs: 61_500, ...litellm(tokens) }]
    return found(calls, 'litellm', null).findings.map(({ clause }) => clause)
  }

  test('is for requests if tokens cannot have run out, so its wait is judged', () => {
    expect(accused(90_000, 60, 60)).toEqual(['limit.requests.reset'])
    expect(accused(90_000, 57, 27)).toEqual([])
  })
  test('may be for tokens if few are left', () => expect(accused(500, 60, 60)).toEqual([]))
})

test('says why windows are open although the algorithm is known', () => {
  const { because } = found(full)
  expect(JSON.stringify(because['limit.requests.window'])).toContain('how long until a reset, or none')
})

test('in the dialect none, a limit is judged by what it accepts and refuses', () => {
  const calls = Array.from({ length: 12 }, (_, index) => ({ atMs: index * 10 }))
  expect(found(calls, 'none', null).findings.map(({ clause }) => clause)).toContain('limit.requests.enforced')
  const honest = [...calls.slice(0, 3), { atMs: 50, status: 429 }, { atMs: 61_000 }]
  expect(found(honest, 'none', null).findings).toEqual([])
  const early = [...calls.slice(0, 1), { atMs: 50, status: 429 }]
  expect(found(early, 'none', null).judged['limit.requests.not-early']).not.toBe(1)
})

describe('several policies in one header', () => {
  const policies = '"minute";q=3;w=60, "hour";q=5;w=3600'
  const minute = (left: number, reset: number) => `"minute";r=${left};t=${reset}`
  const hour = (left: number, reset: number) => `"hour";r=${left};t=${reset}`
  const at = (seconds: number, ratelimit: string, status = 200, wait?: number): Call => ({
    ...{ atMs: seconds * 1_000, status, 'ratelimit-policy': policies, ratelimit },
    ...(wait !== undefined && { 'retry-after': wait }),
  })
  const firstMinute = [at(0, minute(2, 60)), at(1, minute(1, 59)), at(2, minute(0, 58)), at(3, minute(0, 57), 429, 57)]
  const secondMinute = [at(61, hour(1, 3539)), at(62, hour(0, 3538))]

  test('an honest service is accused of nothing, also where the tighter policy refuses', () => {
    const calls = [...firstMinute, ...secondMinute, at(63, hour(0, 3537), 429, 3537)]
    expect(found(calls, 'ietf').findings).toEqual([])
  })

  test('all policies may be stated, in any order', () => {
    const both = [at(0, `${hour(4, 3600)}, ${minute(2, 60)}`), at(1, `${hour(3, 3599)}, ${minute(1, 59)}`)]
    expect(found(both, 'ietf').findings).toEqual([])
  })

  test('the wait of a refusal by the policy of the window is judged', () => {
    const lie = at(4, `${hour(2, 3596)}, ${minute(0, 56)}`, 429, 5)
    expect(found([...firstMinute, lie], 'ietf').findings.map(({ clause }) => clause)).toContain('retry.after-reset')
  })

  test('a policy that never refuses is named, whatever the other one states', () => {
    const calls = [...firstMinute.slice(0, 3), ...[3, 4, 5, 6, 7, 8, 9].map(second => at(second, hour(2, 3590)))]
    expect(found(calls, 'ietf', null).findings.map(({ clause }) => clause)).toContain('limit.requests.enforced')
  })

  describe('of which the profile promises both', () => {
    const hourly = {
      counts: 'requests',
      amount: 5,
      windowMs: 3_600_000,
      algorithm: 'fixed-window',
      unused: null,
    } as const
    const accused = (calls: readonly Call[]) =>
      found(calls, 'ietf', 'fixed-window', { hour: { ...hourly, headers: {}, units: null } }).findings.map(
        ({ clause, message }) => `${clause}: ${message}`,
      )
    const both = (second: number, left: number, leftOfHour: number, status = 200) =>
      at(
        second,
        `${hour(leftOfHour, 3600 - second)}, ${minute(left, second < 60 ? 60 - second : 121 - second)}`,
        status,
      )
    const firstThree = [both(0, 2, 4), both(1, 1, 3), both(2, 0, 2)]

    test('an honest service is accused of nothing', () => {
      const calls = [...firstThree, both(3, 0, 2, 429), both(61, 2, 1), both(62, 1, 0), both(63, 1, 0, 429)]
      expect(accused(calls)).toEqual([])
    })

    test('each is judged by its own', () => {
      const stuck = [both(0, 2, 5), both(1, 1, 5), both(2, 0, 5)]
      expect(accused(stuck)[0]).toContain(
        'limit.requests.remaining: 5 of 5 requests of chat:ref-large-235b (hour) are stated as remaining, so 0 were used',
      )
      expect(accused([both(0, 2, 4), both(1, 1, 0)])[0]).toContain('limit.requests.remaining: 0 of 5 requests')
      const unlimited = [61, 62, 63].map(second => both(second, 63 - second, 0))
      expect(accused([...firstThree, both(61, 2, 1), both(62, 1, 0), both(122, 2, 0), ...unlimited])[0]).toContain(
        'limit.requests.enforced: 6 of 5 requests of chat:ref-large-235b (hour)',
      )
    })
  })
})
