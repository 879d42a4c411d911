import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../../src/contract/clauses.ts'
import { fresh, judge, observationsOf, replay, type Use } from './key-story.ts'

describe('an honest service is never accused', () => {
  test.each<[string, readonly Use[], readonly ClauseId[]]>([
    ['one request, and nothing more', [['original', 0, 10, fresh()]], ['rpc.replay.header']],
    [
      'a replay after its answer, in the very instant',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 10, 20, replay()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'a race that the last one wins',
      [
        ['original', 0, 30, replay()],
        ['duplicate', 0, 30, replay()],
        ['duplicate', 0, 20, fresh()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'a race of which the losers are told to wait',
      [
        ['original', 0, 30, fresh()],
        ['duplicate', 0, 5, 409],
        ['duplicate', 0, 5, 429],
      ],
      ['rpc.replay.header'],
    ],
    [
      'an original that was refused, so that the repetition is the first',
      [
        ['original', 0, 10, 429],
        ['duplicate', 10, 20, fresh()],
        ['duplicate', 20, 30, replay()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'an original without an answer that was done all the same',
      [
        ['original', 0, 30_000, 'lost'],
        ['duplicate', 30_000, 30_010, replay('unseen')],
        ['duplicate', 30_010, 30_020, replay('unseen')],
      ],
      ['rpc.replay.header'],
    ],
    [
      'an original that a gateway gave up and that was done all the same',
      [
        ['original', 0, 30_000, 504],
        ['duplicate', 30_000, 30_010, replay()],
        ['duplicate', 30_010, 30_020, replay()],
      ],
      ['rpc.replay.header', 'rpc.replay.body'],
    ],
    [
      'an original without an answer that was never done',
      [
        ['original', 0, 30_000, 'lost'],
        ['duplicate', 30_000, 30_010, fresh()],
      ],
      ['rpc.replay.header'],
    ],
    [
      'a conflict that is refused',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, 400],
      ],
      ['rpc.replay.header', 'rpc.replay.conflict'],
    ],
    [
      'another body for a key that no answer has used',
      [
        ['original', 0, 10, 429],
        ['conflict', 10, 20, fresh('b')],
      ],
      [],
    ],
    [
      'another body while the first is under way',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 5, 20, fresh('b')],
      ],
      ['rpc.replay.header'],
    ],
    [
      'a conflict that comes too often, or when the service is down',
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
        ['foreign', 10, 20, fresh('b')],
      ],
      ['rpc.replay.header', 'rpc.replay.per-user'],
    ],
    [
      'another user whose request is as wrong as that of the first',
      [
        ['original', 0, 10, 400],
        ['foreign', 10, 20, 400],
      ],
      [],
    ],
    [
      'another user without money',
      [
        ['original', 0, 10, fresh()],
        ['foreign', 10, 20, 402],
      ],
      ['rpc.replay.header'],
    ],
  ])('%s', (_, uses, kept) => {
    expect(judge(observationsOf(uses))).toEqual({ accused: [], kept })
  })

  test('a key that has expired is new', () => {
    const uses = observationsOf([
      ['original', 0, 10, fresh()],
      ['duplicate', 60_005, 60_020, fresh('b')],
    ])
    expect(judge(uses, { ttlMs: 60_000 }).accused).toEqual([])
    expect(judge(uses, { ttlMs: 61_000 }).accused).not.toEqual([])
  })

  test('where caching is best effort, whoever comes at once may be the first again', () => {
    const uses = observationsOf([
      ['original', 0, 10, fresh('a')],
      ['duplicate', 0, 12, fresh('b')],
      ['duplicate', 12, 20, fresh('c')],
      ['duplicate', 2000, 2010, replay('b')],
    ])
    expect(judge(uses, { concurrent: 'best-effort' }).accused).toEqual([])
    expect(judge(uses).accused).not.toEqual([])
  })
})

test('groups are judged apart, and none before its last request has come', () => {
  const uses: Use[] = [
    ['original', 0, 10, fresh()],
    ['duplicate', 90, 95, fresh()],
  ]
  const good: Use[] = [
    ['original', 20, 30, fresh()],
    ['duplicate', 30, 40, replay()],
  ]
  const others = Array.from({ length: 50 }, (_, index) => observationsOf(good, 2 + 2 * index)).flat()
  expect(judge([...observationsOf(uses), ...others]).accused.map(([clause]) => clause)).toEqual(['rpc.replay.header'])
})

describe('a service that breaks a clause is accused of it', () => {
  test.each<[string, ClauseId, string, readonly Use[]]>([
    [
      'a repetition that does not say that it is one',
      'rpc.replay.header',
      'a response to a repeated key and body is not marked as a replay, expected Idempotent-Replayed: true',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 10, 20, fresh()],
      ],
    ],
    [
      'a first use that is said to be a replay',
      'rpc.replay.header',
      'the response to the first use of a key is marked as a replay, expected no mark',
      [['original', 0, 10, replay()]],
    ],
    [
      'a race of which all are replays',
      'rpc.replay.header',
      'all responses for a key are marked as replays, expected one first response',
      [
        ['original', 0, 10, replay()],
        ['duplicate', 0, 12, replay()],
      ],
    ],
    [
      'a race that two win',
      'rpc.replay.charge',
      '2 concurrent requests with one key each got a first response, expected one charge',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 0, 12, fresh()],
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
      'replays that differ, though the first answer was never seen whole',
      'rpc.replay.body',
      'a replay has another body than the response that it repeats, expected the same bytes',
      [
        ['original', 0, 30_000, 504],
        ['duplicate', 30_000, 30_010, replay('a')],
        ['duplicate', 30_010, 30_020, replay('b')],
      ],
    ],
    [
      'a conflict that runs',
      'rpc.replay.conflict',
      'a used key with another body got status 200, expected 400',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, fresh('b')],
      ],
    ],
    [
      'a conflict that is refused by another status',
      'rpc.replay.conflict',
      'a used key with another body got status 409, expected 400',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, 409],
      ],
    ],
    [
      "another user who is given the first one's answer",
      'rpc.replay.per-user',
      "a key of another user got a replay, expected it to be new",
      [
        ['original', 0, 10, fresh()],
        ['foreign', 10, 20, replay()],
      ],
    ],
    [
      'another user who is refused as a conflict',
      'rpc.replay.per-user',
      "a key of another user got status 400, expected it to be new",
      [
        ['original', 0, 10, fresh()],
        ['foreign', 10, 20, 400],
      ],
    ],
  ])('%s', (_, clause, message, uses) => {
    expect(judge(observationsOf(uses)).accused).toEqual([[clause, message]])
  })
})

const lives = { ttlMs: 4_000 }

describe('an honest service is not accused when', () => {
  test('a key that comes again within its lifetime is answered from the cache, and past it is new', () => {
    const within = observationsOf([
      ['original', 0, 10, fresh()],
      ['duplicate', 10, 20, replay()],
      ['again', 2500, 2510, replay()],
    ])
    expect(judge(within, lives)).toEqual({
      accused: [],
      kept: ['rpc.replay.header', 'rpc.replay.body', 'rpc.replay.expiry.kept'],
    })
    const past = observationsOf([
      ['original', 0, 10, fresh()],
      ['again', 6000, 6010, fresh('b')],
    ])
    expect(judge(past, lives)).toEqual({ accused: [], kept: ['rpc.replay.header', 'rpc.replay.expiry.ends'] })
  })

  test.each<[string, readonly Use[]]>([
    [
      'at the end of its lifetime',
      [
        ['original', 0, 10, fresh()],
        ['again', 3995, 4005, fresh('b')],
      ],
    ],
    [
      'soon after its lifetime, when the cache has not been cleared',
      [
        ['original', 0, 10, fresh()],
        ['again', 4500, 4510, replay()],
      ],
    ],
    [
      'after a replay, which began its lifetime anew',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 2000, 2010, replay()],
        ['again', 6000, 6010, replay()],
      ],
    ],
    [
      'after a replay, which did not',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 3000, 3010, replay()],
        ['again', 5000, 5010, fresh()],
      ],
    ],
    [
      'after a first request that nobody answered',
      [
        ['original', 0, 35_000, 'lost'],
        ['again', 41_000, 41_010, replay()],
      ],
    ],
    [
      'after a first request that was refused',
      [
        ['original', 0, 10, 429],
        ['again', 2500, 2510, fresh()],
      ],
    ],
    [
      'and is refused itself',
      [
        ['original', 0, 10, fresh()],
        ['again', 2500, 2510, 429],
      ],
    ],
    ['without the first request, which came too late for the judges', [['again', 2500, 2510, replay()]]],
  ])('a key comes again %s', (_, uses) => {
    expect(judge(observationsOf(uses), lives).accused).toEqual([])
  })
})

describe('a lifetime', () => {
  test.each<[string, string, readonly Use[], string]>([
    [
      'that ends early',
      'rpc.replay.expiry.kept',
      [
        ['original', 0, 10, fresh()],
        ['again', 2510, 2520, fresh()],
      ],
      'the same key and body were sent again after 2.5 s of a lifetime of 4 s, expected a replay',
    ],
    [
      'that does not end',
      'rpc.replay.expiry.ends',
      [
        ['original', 0, 10, fresh()],
        ['again', 6010, 6020, replay()],
      ],
      'a key got a replay after 6.0 s of a lifetime of 4 s, expected it to be new again',
    ],
  ])('%s is told', (_, clause, uses, message) => {
    expect(judge(observationsOf(uses), lives).accused).toEqual([[clause, message]])
  })
})
