import { describe, expect, test } from 'vitest'
import { compareNumbers, missingTimes } from '../../../src/diff/compare-numbers.ts'
import { compareClauses, compareLimits } from '../../../src/diff/compare-promises.ts'
import { cellsPerOctave, type Slice, type Slices, timeBuckets } from '../../../src/judge/metrics/slices.ts'
import { randomStream } from '../../../src/lib/random.ts'
import { inTurns } from '../../../src/produce/transport/in-turns.ts'
import type { Exchange } from '../../../src/produce/transport/transport.ts'
import { manualClock } from '../../../src/prove/manual-clock.ts'
import type { Report } from '../../../src/report/document.ts'
import { logNormal } from '../../../src/service/capacity.ts'
import { passingReport } from '../report/fixtures.ts'

/** Twenty slices of a call, each with this many values around a median. `common` is what both sides share in a slice. */
function slicesOf(each: number, medianMs: number, seed: number, common: (slice: number) => number = () => 1): Slices {
  const random = randomStream(seed, 'times')
  const slices = Array.from({ length: 20 }, (_, index): Slice => {
    const counts = new Map<number, number>()
    for (let value = 0; value < each; value++) {
      const bucket = timeBuckets.bucketOf(1000 * common(index) * logNormal(random, medianMs, 0.2))
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
    }
    const sums = { failed: 0, dropped: 0, refused: 0, faulty: 0, claimedCredits: String(20 * each), claimedUsd: '0' }
    const times = { ttft: [...counts].toSorted(([a], [b]) => a - b) }
    return { ...{ index, activeMs: 1_000, sent: each, answered: each, succeeded: each, good: each }, ...sums, times }
  })
  return { schema: 1, cellsPerOctave, calls: [{ call: 'chat', stage: 'steady', slices }] }
}

const numbersOf = (old: Slices, fresh: Slices, margins = {}) => {
  const side = (slices: Slices) => ({ report: passingReport, slices })
  return compareNumbers(side(old), side(fresh), margins)
}
const ttftOf = (...args: Parameters<typeof numbersOf>) =>
  numbersOf(...args).find(({ measure, call }) => measure === 'ttft' && call === null)

describe('a time', () => {
  test('is within its margin, beyond it, or uncertain, and then states how many requests would decide', () => {
    expect(ttftOf(slicesOf(50, 100, 1), slicesOf(50, 100, 2))).toMatchObject({
      verdict: 'no-worse',
      moreRequests: null,
    })
    expect(ttftOf(slicesOf(50, 100, 1), slicesOf(50, 115, 2))).toMatchObject({ verdict: 'worse', values: 2_000 })
    expect(ttftOf(slicesOf(50, 115, 1), slicesOf(50, 100, 2))?.verdict).toBe('better')
    // A slowdown within the margin is allowed, however certain it is.
    expect(ttftOf(slicesOf(400, 100, 1), slicesOf(400, 104, 2))?.verdict).toBe('no-worse')
    const some = Array.from({ length: 40 }, (_, seed) =>
      ttftOf(slicesOf(4, 100, 100 + seed), slicesOf(4, 100, 200 + seed), { ttft: 0.02 }),
    )
    // One that looks as equal as it is.
    const few = some.find(found => found?.verdict === 'cannot-tell' && Math.abs(found.change.value) < 0.004)
    expect(few).toBeDefined()
    const more = few?.moreRequests ?? 0
    const each = Math.ceil((160 + more) / 40)
    const verdicts = Array.from({ length: 20 }, (_, seed) =>
      ttftOf(slicesOf(each, 100, 10 + seed), slicesOf(each, 100, 50 + seed), { ttft: 0.02 }),
    )
    expect(verdicts.filter(found => found?.verdict === 'no-worse').length).toBeGreaterThanOrEqual(14)
  })

  test('is compared slice by slice, so that what both sides share does not count', () => {
    const waves = (slice: number) => 1 + 0.5 * Math.sin(slice)
    const [calm, wavy] = [() => 1, waves].map(common =>
      ttftOf(slicesOf(50, 100, 1, common), slicesOf(50, 100, 2, common)),
    )
    const widthOf = (number: typeof calm) => (number?.change.high ?? 1) - (number?.change.low ?? 0)
    expect(widthOf(wavy)).toBeCloseTo(widthOf(calm), 2)
  })

  test('of too few slices is not compared', () => {
    const [cell] = slicesOf(50, 100, 1).calls
    const short: Slices = {
      schema: 1,
      cellsPerOctave,
      calls: cell ? [{ ...cell, slices: cell.slices.slice(0, 3) }] : [],
    }
    expect(numbersOf(short, short)).toEqual([])
    const missing = missingTimes([], { ttft: 0.05, cost: 0.01, 'p95.tpot': 0.05 })
    expect([missing, missingTimes([], {})]).toEqual([['ttft', 'p95.tpot'], []])
  })
})

describe('a percentile with a margin', () => {
  const margins = { 'p95.ttft': 0.05 } as const
  const p95Of = (old: Slices, fresh: Slices) =>
    numbersOf(old, fresh, margins).find(({ measure, call }) => measure === 'p95.ttft' && call === null)
  const seeds = Array.from({ length: 10 }, (_, index) => index + 1)

  test('is worse if NEW takes 10 % longer, and within the margin if both are equal', () => {
    const slower = seeds.map(seed => p95Of(slicesOf(150, 100, seed), slicesOf(150, 110, 900 + seed)))
    expect(slower.filter(found => found?.verdict === 'worse').length).toBeGreaterThanOrEqual(9)
    const equal = seeds.map(seed => p95Of(slicesOf(150, 100, seed), slicesOf(150, 100, 900 + seed)))
    expect(equal.filter(found => found?.verdict === 'no-worse').length).toBeGreaterThanOrEqual(7)
    expect(equal.filter(found => found?.verdict === 'worse')).toEqual([])
    // The 95th percentile of a log-normal time with a sigma of 0.2 is 1.39 times its median.
    expect(equal[0]).toMatchObject({ isRequired: true, old: expect.closeTo(139, -1), values: 6_000 })
  })

  test('is uncertain with few requests, whatever they show', () => {
    const [old, fresh] = [slicesOf(2, 100, 1), slicesOf(2, 100, 2)]
    expect(p95Of(old, fresh)).toMatchObject({ verdict: 'cannot-tell', moreRequests: expect.any(Number) })
  })

  test('shows a slow tail that the mean hides', () => {
    // Of twenty slices, each has a tenth of its requests from a slow worker.
    const mixed = (seed: number, slowMs: number): Slices => {
      const [most, tail] = [slicesOf(135, 100, seed), slicesOf(15, slowMs, seed + 50)]
      const slices = (most.calls[0]?.slices ?? []).map((slice, index) => {
        const slow = tail.calls[0]?.slices[index]?.times.ttft ?? []
        const counts = new Map(slice.times.ttft)
        for (const [bucket, count] of slow) counts.set(bucket, (counts.get(bucket) ?? 0) + count)
        return { ...slice, times: { ttft: [...counts].toSorted(([a], [b]) => a - b) } }
      })
      return { ...most, calls: [{ call: 'chat', stage: 'steady', slices }] }
    }
    const numbers = numbersOf(mixed(1, 100), mixed(2, 150), margins).filter(({ call }) => call === null)
    expect(numbers.map(({ measure, verdict }) => [measure, verdict])).toEqual([
      ['ttft', 'no-worse'],
      ['p95.ttft', 'worse'],
    ])
  })
})

test('a measure with a margin of its own is waited for', () => {
  const [old, fresh] = [slicesOf(50, 100, 1), slicesOf(50, 100, 2)]
  const waited = (margins: Parameters<typeof compareNumbers>[2]) =>
    numbersOf(old, fresh, margins).flatMap(({ measure, call, isRequired }) => (isRequired ? [[measure, call]] : []))
  expect(waited({})).toEqual([['ttft', null]])
  expect(waited({ credits: 0.02 })).toEqual([
    ['ttft', null],
    ['credits', 'chat'],
  ])
})

test('a credit more for each call is worse', () => {
  const slices = slicesOf(50, 100, 1)
  const dearer = JSON.parse(JSON.stringify(slices).replaceAll('"1000"', '"1050"')) as Slices
  const credits = numbersOf(slices, dearer).find(({ measure }) => measure === 'credits')
  expect(credits).toMatchObject({ old: 20, new: 21, verdict: 'worse', change: { value: expect.closeTo(0.05) } })
})

const withClause = (
  judged: number,
  violated: number,
  because: Report['clauses'][number]['because'] = null,
): Report => ({
  ...passingReport,
  clauses: [{ id: 'rpc.batch.error-price', section: '5', judged, violated, verdict: 'pass', because, measured: null }],
  findings:
    violated === 0
      ? []
      : [
          {
            ...{
              clause: 'rpc.batch.error-price',
              section: '5',
              text: 'A sentence.',
              judge: 'rpc-credits',
              count: violated,
            },
            ...{ message: 'a message', examples: [] },
          },
        ],
})

test.each([
  ['only NEW', withClause(9, 0), withClause(9, 1), 'worse'],
  ['only OLD', withClause(9, 1), withClause(9, 0), 'better'],
  ['both', withClause(99, 20), withClause(99, 30), 'same'],
  ['NEW much more often', withClause(99, 20), withClause(99, 60), 'worse'],
  ['NEW, where OLD had no occasion', withClause(0, 0), withClause(9, 1), 'worse'],
  [
    'NEW, where OLD could not be judged',
    withClause(0, 0, { kind: 'not-judged', text: 'another clause hides it', clause: null }),
    withClause(9, 1),
    'cannot-tell',
  ],
] as const)('a clause that is violated by %s', (_, old, fresh, verdict) => {
  expect(compareClauses(old, fresh).map(clause => [clause.name, clause.verdict])).toEqual([
    ['rpc.batch.error-price', verdict],
  ])
})

test('a lower limit is worse', () => {
  const limit = { ...{ caller: 'c0', scope: 'rpc', names: [], tier: 'default', windowMs: 60_000, windows: 1 } }
  const counts = { accepted: 9, rejected: 0, unexpected429: 0, decided429: 0, missing429: 0, lasted: null }
  const stating = (value: number): Report => ({ ...passingReport, limits: [{ ...limit, ...counts, limit: value }] })
  expect(compareLimits(stating(20), stating(20))).toEqual([])
  expect(compareLimits(stating(20), stating(15))).toMatchObject([{ old: 20, new: 15, verdict: 'worse' }])
  expect(compareLimits(stating(15), stating(20))).toMatchObject([{ verdict: 'better' }])
})

test('the side that is first changes: A, B, B, A', async () => {
  const clock = manualClock()
  const sent: string[] = []
  const sides = [0, 1].map(side =>
    inTurns(
      async () => {
        sent.push('AB'[side] ?? '')
        return {} as Exchange
      },
      clock,
      { side: side as 0 | 1, turnMs: 100, lagMs: 1 },
    ),
  )
  const { signal } = new AbortController()
  for (let turn = 0; turn < 8; turn++) {
    await clock.advanceTo(turn * 100 + 50)
    const both = Promise.all(sides.map(send => send({} as never, signal)))
    await clock.run(both)
  }
  expect(sent.join('')).toBe('ABBABAABABBABAAB')
})
