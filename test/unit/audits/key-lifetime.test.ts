import { describe, expect, test } from 'vitest'
import { fresh, judge, observationsOf, replay, type Use } from './key-story.ts'

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
      'the same key and body came again after 2.5 s of a lifetime of 4 s, expected a replay',
    ],
    [
      'that does not end',
      'rpc.replay.expiry.ends',
      [
        ['original', 0, 10, fresh()],
        ['again', 6010, 6020, replay()],
      ],
      'a key was answered with a replay after 6.0 s of a lifetime of 4 s, expected it to be new again',
    ],
  ])('%s is told', (_, clause, uses, because) => {
    expect(judge(observationsOf(uses), lives).accused).toEqual([[clause, because]])
  })
})
