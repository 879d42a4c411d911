import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../src/contract/clauses.ts'
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
