import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../../src/contract/clauses.ts'
import { attemptsOf } from '../../../../src/judge/audits/audits.ts'
import { observed, singleDescriptor } from '../checks/observed.ts'
import { fresh, judge, observationsOf, replay, type Use } from './key-story.ts'

describe('an honest service passes', () => {
  test.each<[string, readonly Use[], readonly ClauseId[]]>([
    ['a single request', [['original', 0, 10, fresh()]], ['rpc.replay.header']],
    [
      'a replay sent at the instant of its response',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 10, 20, replay()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'a race that the last request wins',
      [
        ['original', 0, 30, replay()],
        ['duplicate', 0, 30, replay()],
        ['duplicate', 0, 20, fresh()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'a race whose losers have to wait',
      [
        ['original', 0, 30, fresh()],
        ['duplicate', 0, 5, 409],
        ['duplicate', 0, 5, 429],
      ],
      ['rpc.replay.header'],
    ],
    [
      'a rejected original, so the repetition is the first',
      [
        ['original', 0, 10, 429],
        ['duplicate', 10, 20, fresh()],
        ['duplicate', 20, 30, replay()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'an original without a response that did run',
      [
        ['original', 0, 30_000, 'lost'],
        ['duplicate', 30_000, 30_010, replay('unseen')],
        ['duplicate', 30_010, 30_020, replay('unseen')],
      ],
      ['rpc.replay.header'],
    ],
    [
      'an original with a gateway error that did run',
      [
        ['original', 0, 30_000, 504],
        ['duplicate', 30_000, 30_010, replay()],
        ['duplicate', 30_010, 30_020, replay()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'an original without a response that never ran',
      [
        ['original', 0, 30_000, 'lost'],
        ['duplicate', 30_000, 30_010, fresh()],
      ],
      ['rpc.replay.header'],
    ],
    [
      'a rejected conflict',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, 400],
      ],
      ['rpc.replay.header', 'rpc.replay.conflict'],
    ],
    [
      'another body for a key without a successful response',
      [
        ['original', 0, 10, 429],
        ['conflict', 10, 20, fresh('b')],
      ],
      [],
    ],
    [
      'another body while the first request is in flight',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 5, 20, fresh('b')],
      ],
      ['rpc.replay.header'],
    ],
    [
      'a conflict above the rate limit, or during an outage',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, 429],
        ['conflict', 20, 30, 500],
      ],
      ['rpc.replay.header'],
    ],
    [
      'another user with the same key',
      [
        ['original', 0, 10, fresh()],
        ['other-caller', 10, 20, fresh('b')],
      ],
      ['rpc.replay.header', 'rpc.replay.per-user'],
    ],
    [
      'another user whose request is as invalid as the first',
      [
        ['original', 0, 10, 400],
        ['other-caller', 10, 20, 400],
      ],
      [],
    ],
    [
      'another user without balance',
      [
        ['original', 0, 10, fresh()],
        ['other-caller', 10, 20, 402],
      ],
      ['rpc.replay.header'],
    ],
  ])('%s', (_, uses, pass) => {
    expect(judge(observationsOf(uses))).toEqual({ failed: [], pass })
  })

  test('an expired key is new', () => {
    const uses = observationsOf([
      ['original', 0, 10, fresh()],
      ['duplicate', 60_005, 60_020, fresh('b')],
    ])
    expect(judge(uses, { ttlMs: 60_000 }).failed).toEqual([])
    expect(judge(uses, { ttlMs: 61_000 }).failed).not.toEqual([])
  })

  test('what concurrent requests get is open, unless the contract states it', () => {
    const uses = observationsOf([
      ['original', 0, 10, fresh()],
      ['duplicate', 0, 12, fresh()],
    ])
    expect(judge(uses, { concurrent: null }).failed).toEqual([])
    expect(judge(uses, { concurrent: 'one-charge' }).failed.map(([clause]) => clause)).toEqual(['rpc.replay.charge'])
  })

  test('with best-effort caching, each concurrent request may be the first', () => {
    const uses = observationsOf([
      ['original', 0, 10, fresh('a')],
      ['duplicate', 0, 12, fresh('b')],
      ['duplicate', 12, 20, fresh('c')],
      ['duplicate', 2000, 2010, replay('b')],
    ])
    expect(judge(uses, { concurrent: 'best-effort' }).failed).toEqual([])
    expect(judge(uses).failed).not.toEqual([])
  })
})

test('groups are judged separately, and only after their last request', () => {
  const uses: Use[] = [
    ['original', 0, 10, fresh()],
    ['duplicate', 90, 95, fresh()],
  ]
  const good: Use[] = [
    ['original', 20, 30, fresh()],
    ['duplicate', 30, 40, replay()],
  ]
  const others = Array.from({ length: 50 }, (_, index) => observationsOf(good, 2 + 2 * index)).flat()
  expect(judge([...observationsOf(uses), ...others]).failed.map(([clause]) => clause)).toEqual(['rpc.replay.header'])
})

describe('a service that violates a clause fails it', () => {
  test.each<[string, ClauseId, string, readonly Use[]]>([
    [
      'a repetition without the replay mark',
      'rpc.replay.header',
      'a response to a repeated key and body is not marked as a replay, expected Idempotent-Replayed: true',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 10, 20, fresh()],
      ],
    ],
    [
      'a first use with the replay mark',
      'rpc.replay.header',
      'the response to the first use of a key is marked as a replay, expected no mark',
      [['original', 0, 10, replay()]],
    ],
    [
      'a race in which all responses are replays',
      'rpc.replay.header',
      'all responses for a key are marked as replays, expected one first response',
      [
        ['original', 0, 10, replay()],
        ['duplicate', 0, 12, replay()],
      ],
    ],
    [
      'a replay with another body',
      'rpc.replay.body',
      'a replay has another body than the response that it repeats, expected the same bytes',
      [
        ['original', 0, 10, fresh('a')],
        ['duplicate', 10, 20, replay('b')],
      ],
    ],
    [
      'replays that differ, although the first response was never received completely',
      'rpc.replay.body',
      'a replay has another body than the response that it repeats, expected the same bytes',
      [
        ['original', 0, 30_000, 504],
        ['duplicate', 30_000, 30_010, replay('a')],
        ['duplicate', 30_010, 30_020, replay('b')],
      ],
    ],
    [
      'an accepted conflict',
      'rpc.replay.conflict',
      'a used key with another body got status 200, expected 400',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, fresh('b')],
      ],
    ],
    [
      'a conflict rejected with another status',
      'rpc.replay.conflict',
      'a used key with another body got status 409, expected 400',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, 409],
      ],
    ],
    [
      'a repeated request that is refused although its response is known',
      'rpc.replay.header',
      'a repeated key and body got status 409, expected a replay',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 10, 20, 409],
      ],
    ],
    [
      'another user who gets the response of the first one',
      'rpc.replay.per-user',
      'a key of another user got a replay, expected it to be new',
      [
        ['original', 0, 10, fresh()],
        ['other-caller', 10, 20, replay()],
      ],
    ],
    [
      'another user who is rejected as a conflict',
      'rpc.replay.per-user',
      'a key of another user got status 400, expected it to be new',
      [
        ['original', 0, 10, fresh()],
        ['other-caller', 10, 20, 400],
      ],
    ],
  ])('%s', (_, clause, message, uses) => {
    expect(judge(observationsOf(uses)).failed).toEqual([[clause, message]])
  })
})

const lives = { ttlMs: 4_000 }

describe('an honest service passes when', () => {
  test('a repeated key gets a replay within its lifetime, and is new after it', () => {
    const within = observationsOf([
      ['original', 0, 10, fresh()],
      ['duplicate', 10, 20, replay()],
      ['late-repeat', 2500, 2510, replay()],
    ])
    expect(judge(within, lives)).toEqual({
      failed: [],
      pass: ['rpc.replay.header', 'rpc.replay.body', 'rpc.replay.expiry.kept'],
    })
    const past = observationsOf([
      ['original', 0, 10, fresh()],
      ['late-repeat', 6000, 6010, fresh('b')],
    ])
    expect(judge(past, lives)).toEqual({ failed: [], pass: ['rpc.replay.header', 'rpc.replay.expiry.ends'] })
  })

  test.each<[string, readonly Use[]]>([
    [
      'at the end of its lifetime',
      [
        ['original', 0, 10, fresh()],
        ['late-repeat', 3995, 4005, fresh('b')],
      ],
    ],
    [
      'soon after its lifetime, before the cache is cleared',
      [
        ['original', 0, 10, fresh()],
        ['late-repeat', 4500, 4510, replay()],
      ],
    ],
    [
      'after a replay that restarted its lifetime',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 2000, 2010, replay()],
        ['late-repeat', 6000, 6010, replay()],
      ],
    ],
    [
      'after a replay that did not restart it',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 3000, 3010, replay()],
        ['late-repeat', 5000, 5010, fresh()],
      ],
    ],
    [
      'after a first request without a response',
      [
        ['original', 0, 35_000, 'lost'],
        ['late-repeat', 41_000, 41_010, replay()],
      ],
    ],
    [
      'after a rejected first request',
      [
        ['original', 0, 10, 429],
        ['late-repeat', 2500, 2510, fresh()],
      ],
    ],
    [
      'and is rejected itself',
      [
        ['original', 0, 10, fresh()],
        ['late-repeat', 2500, 2510, 429],
      ],
    ],
    ['without the first request, which the judges never received', [['late-repeat', 2500, 2510, replay()]]],
  ])('a key is repeated %s', (_, uses) => {
    expect(judge(observationsOf(uses), lives).failed).toEqual([])
  })
})

describe('a lifetime', () => {
  test.each<[string, string, readonly Use[], string]>([
    [
      'that ends early',
      'rpc.replay.expiry.kept',
      [
        ['original', 0, 10, fresh()],
        ['late-repeat', 2510, 2520, fresh()],
      ],
      'the same key and body were sent again after 2.5 s of a lifetime of 4 s, expected a replay',
    ],
    [
      'that does not end',
      'rpc.replay.expiry.ends',
      [
        ['original', 0, 10, fresh()],
        ['late-repeat', 6010, 6020, replay()],
      ],
      'a key got a replay after 6.0 s of a lifetime of 4 s, expected it to be new again',
    ],
  ])('%s is reported', (_, clause, uses, message) => {
    expect(judge(observationsOf(uses), lives).failed).toEqual([[clause, message]])
  })
})

test('a race is judged as a whole, though an arrival before it waited for its signature and was sent after it', () => {
  const late = observed(singleDescriptor, null, { id: 0, dueMs: 10, sentMs: 90, endMs: 95 })
  const race = observationsOf(
    [
      ['original', 30, 45, replay()],
      ['duplicate', 35, 40, fresh()],
    ],
    1,
  ).map(each => ({ ...each, dueMs: 20 }))
  const next = observationsOf([['original', 100, 110, fresh()]], 3).map(each => ({ ...each, dueMs: 100 }))
  expect(judge([late, ...race, ...next])).toEqual({ failed: [], pass: ['rpc.replay.header', 'rpc.replay.body'] })
})

describe('a request that was sent again on a new connection', () => {
  const retried = (uses: readonly Use[]) =>
    observationsOf(uses).flatMap((each, index) => attemptsOf(index === 0 ? { ...each, retried: true } : each))
  const uses: readonly Use[] = [
    ['original', 0, 10, replay()],
    ['duplicate', 10, 20, replay()],
  ]

  test('may get the replay of its first attempt', () => {
    expect(judge(retried(uses)).failed).toEqual([])
  })
  test('is the only one that may: without a second attempt the replay is a violation', () => {
    expect(judge(observationsOf(uses)).failed).not.toEqual([])
  })
})
