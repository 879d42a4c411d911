import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../src/contract/clauses.ts'
import { fresh, judge, observationsOf, replay, type Use } from './key-story.ts'

describe('a service that breaks a clause is accused of it', () => {
  test.each<[string, ClauseId, string, readonly Use[]]>([
    [
      'a repetition that does not say that it is one',
      'rpc.replay.header',
      'the same key and body were sent again, expected the answer to say that it is a replay',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 10, 20, fresh()],
      ],
    ],
    [
      'a first use that is said to be a replay',
      'rpc.replay.header',
      'the first use of a key is said to be a replay, expected it not to be',
      [['original', 0, 10, replay()]],
    ],
    [
      'a race of which all are replays',
      'rpc.replay.header',
      'all requests with a key are said to be replays, expected one to be the first',
      [
        ['original', 0, 10, replay()],
        ['duplicate', 0, 12, replay()],
      ],
    ],
    [
      'a race that two win',
      'rpc.replay.charge',
      '2 racing requests with one key were each answered as the first, expected one charge',
      [
        ['original', 0, 10, fresh()],
        ['duplicate', 0, 12, fresh()],
        ['duplicate', 0, 12, replay()],
      ],
    ],
    [
      'a replay with another body',
      'rpc.replay.body',
      'a replay has another body than the answer that it repeats, expected the same bytes',
      [
        ['original', 0, 10, fresh('a')],
        ['duplicate', 10, 20, replay('b')],
      ],
    ],
    [
      'replays that differ, though the first answer was never seen whole',
      'rpc.replay.body',
      'a replay has another body than the answer that it repeats, expected the same bytes',
      [
        ['original', 0, 30_000, 504],
        ['duplicate', 30_000, 30_010, replay('a')],
        ['duplicate', 30_010, 30_020, replay('b')],
      ],
    ],
    [
      'a conflict that runs',
      'rpc.replay.conflict',
      'a used key with another body was answered with 200, expected 400',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, fresh('b')],
      ],
    ],
    [
      'a conflict that is refused by another status',
      'rpc.replay.conflict',
      'a used key with another body was answered with 409, expected 400',
      [
        ['original', 0, 10, fresh()],
        ['conflict', 10, 20, 409],
      ],
    ],
    [
      "another user who is given the first one's answer",
      'rpc.replay.per-user',
      "another user's key was answered with a replay, expected it to be new",
      [
        ['original', 0, 10, fresh()],
        ['foreign', 10, 20, replay()],
      ],
    ],
    [
      'another user who is refused as a conflict',
      'rpc.replay.per-user',
      "another user's key was answered with 400, expected it to be new",
      [
        ['original', 0, 10, fresh()],
        ['foreign', 10, 20, 400],
      ],
    ],
  ])('%s', (_, clause, because, uses) => {
    expect(judge(observationsOf(uses)).accused).toEqual([[clause, because]])
  })
})
