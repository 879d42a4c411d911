import { expect, test } from 'vitest'
import {
  eachBy,
  fieldsBy,
  first,
  keep,
  type MergeRules,
  mapBy,
  mergeAll,
  recordBy,
  sum,
  sumCounts,
} from '../../../src/judge/merge.ts'

type Totals = {
  readonly name: string
  readonly sent: number
  readonly failed: number
  readonly longestMs: number
  readonly cause: string | null
  readonly statuses: Map<number, number>
  readonly times: Map<string, Map<number, number>>
  readonly byStage: Readonly<Record<string, { readonly count: number }>>
}

const rules: MergeRules<Totals> = {
  name: keep,
  ...eachBy(sum, ['sent', 'failed']),
  longestMs: Math.max,
  cause: first,
  statuses: sumCounts,
  times: mapBy(sumCounts, () => new Map<number, number>()),
  byStage: recordBy(fieldsBy<{ readonly count: number }, { readonly count: number }>({ count: sum }), () => ({
    count: 0,
  })),
}

const empty = (): Totals => ({
  ...{ name: 'chat', sent: 0, failed: 0, longestMs: 0, cause: null },
  ...{ statuses: new Map(), times: new Map(), byStage: {} },
})

const part = (over: Partial<Totals>): Totals => ({ ...empty(), ...over })

test('each field merges by its rule, and parts stay as they are', () => {
  const one = part({
    sent: 2,
    longestMs: 7,
    statuses: new Map([[200, 2]]),
    times: new Map([['ttft', new Map([[1, 1]])]]),
  })
  const other = part({
    ...{ sent: 3, failed: 1, longestMs: 5, cause: 'tls', byStage: { steady2: { count: 4 }, steady: { count: 1 } } },
    ...{ statuses: new Map([[200, 1]]), times: new Map([['ttft', new Map([[1, 2]])]]) },
  })
  const before = structuredClone([one, other])
  const merged = mergeAll([one, other], empty, rules)
  expect(merged).toEqual({
    ...{ name: 'chat', sent: 5, failed: 1, longestMs: 7, cause: 'tls' },
    ...{ statuses: new Map([[200, 3]]), times: new Map([['ttft', new Map([[1, 3]])]]) },
    byStage: { steady2: { count: 4 }, steady: { count: 1 } },
  })
  expect([one, other]).toEqual(before)
  expect(mergeAll([], empty, rules)).toEqual(empty())
})

test('a field without a rule does not compile', () => {
  // @ts-expect-error: "failed" has no rule.
  const incomplete: MergeRules<Pick<Totals, 'sent' | 'failed'>> = { sent: sum }
  expect(Object.keys(incomplete)).toEqual(['sent'])
})
