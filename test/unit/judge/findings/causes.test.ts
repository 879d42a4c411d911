import { describe, expect, test } from 'vitest'
import { type Causes, causeOf, createCauses, shownIds } from '../../../../src/judge/findings/causes.ts'

const shown = (causes: Causes) =>
  causes.examples().map(({ message, count, requestIds }) => [message, count, requestIds])

describe('two messages have the same cause', () => {
  test.each([
    ['amounts', 'got 40 credits for 1 item, expected 25', 'got 45.5 credits for 2 items, expected 30.5', false],
    ['amounts of the same items', 'got 40 credits, expected 25', 'got 1,045.5 credits, expected 30', true],
    ['ids', 'cf-ray 8f3a2b-AMS identifies two requests', 'cf-ray a27-FRA identifies two requests', true],
    ['dates', 'date is "Mon, 02 Jan 2026", expected GMT', 'date is "Tue, 03 Jan 2026", expected GMT', true],
    ['long texts', `id is "${'ab cd '.repeat(9)}"`, `id is "${'ef gh '.repeat(9)}"`, true],
    ['names', 'content-type is "text/plain"', 'content-type is "text/html"', false],
    ['statuses', 'a request got status 200, 0.1 s after', 'a request got status 404, 0.1 s after', false],
    ['times with the same status', 'got status 200, 0.1 s after', 'got status 200, 12.5 s after', true],
    ['statuses of a body', 'the body of a 404 has no error', 'the body of a 429 has no error', false],
    ['sentences', 'no date', 'no year', false],
  ])('%s', (_, one, other, isSame) => {
    expect(causeOf(one) === causeOf(other)).toBe(isSame)
  })
})

test('each cause has its first violation as the example, and the count of all', () => {
  const causes = createCauses()
  for (const id of [5, 3, 4]) causes.add(`got ${id} credits`, [id])
  causes.add('got no credits', [1])
  expect(shown(causes)).toEqual([
    ['got no credits', 1, [1]],
    ['got 3 credits', 3, [3]],
  ])
})

const words = Array.from(
  { length: 40 },
  (_, index) => `cause ${String.fromCharCode(97 + (index % 26))}${'x'.repeat(index)}`,
)

test.each([2, 3, 7])('%s workers give the same causes, counts and examples as one', workers => {
  const violations = Array.from({ length: 500 }, (_, id) => [words[(id * 17) % words.length] ?? '', id] as const)
  const one = createCauses()
  for (const [message, id] of violations) one.add(message, [id])
  const merged = createCauses()
  for (let worker = workers - 1; worker >= 0; worker--) {
    const part = createCauses()
    for (const [message, id] of violations.toReversed()) if (id % workers === worker) part.add(message, [id])
    merged.merge(part.snapshot())
  }
  expect(merged.examples()).toEqual(one.examples())
  expect(one.examples()).toHaveLength(5)
  expect(one.examples().map(({ count }) => count)).toEqual([13, 13, 13, 13, 13])
})

test('any number of causes takes a bounded number of counts and examples', () => {
  const causes = createCauses()
  const letters = (id: number) => [...String(id)].map(digit => 'abcdefghij'[Number(digit)]).join('')
  for (let id = 10_000; id > 0; id--) causes.add(`cause ${letters(id)}`, [id])
  expect(causes.snapshot().counts.size).toBeLessThanOrEqual(70)
  expect(causes.examples().map(({ requestIds, count }) => [requestIds, count])).toEqual(
    [1, 2, 3, 4, 5].map(id => [[id], 1]),
  )
})

test('the last request decides, unless the judge names others', () => {
  const causes = createCauses()
  causes.add('a pair', [1, 2])
  causes.add('a race', [3, 4, 5], [3, 5])
  expect(causes.examples().map(({ decidedBy }) => decidedBy)).toEqual([[2], [3, 5]])
})

test('of too many requests, those that decide and the latest others stay', () => {
  const causes = createCauses()
  const requestIds = Array.from({ length: 3_000 }, (_, id) => id)
  causes.add('a long story', requestIds, [7])
  const [example] = causes.examples()
  expect(example?.requestIds).toHaveLength(1_000)
  expect(example?.requestIds.slice(0, 2)).toEqual([7, 2_001])
  expect(example?.omitted).toBe(2_000)
})

test('a report shows first the requests that decide, then the latest that led to it, in order', () => {
  expect(shownIds({ requestIds: [1, 2, 3, 4], decidedBy: [3] })).toEqual([3, 1, 2, 4])
  const requestIds = Array.from({ length: 100 }, (_, id) => id)
  const ids = shownIds({ requestIds, decidedBy: [50, 99] })
  expect(ids).toHaveLength(24)
  expect(ids.slice(0, 3)).toEqual([50, 99, 77])
  expect(ids.at(-1)).toBe(98)
})
