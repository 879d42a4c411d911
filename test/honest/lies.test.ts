import { describe, expect, test } from 'vitest'
import { clauseIds } from '../../src/contract/clauses.ts'
import { judge } from './judged.ts'
import { lies } from './service/lies.ts'

/** Three lies of unrelated sections at a time. */
const stride = Math.ceil(lies.length / 3)
const groups = Array.from({ length: stride }, (_, first) => lies.filter((_lie, index) => index % stride === first))

test('there are at least thirty lies, and each breaks known clauses', () => {
  expect(lies.length).toBeGreaterThanOrEqual(30)
  const known: ReadonlySet<string> = new Set(clauseIds)
  expect(lies.flatMap(({ clauses }) => clauses.filter(clause => !known.has(clause)))).toEqual([])
})

describe.concurrent('each lie is named', () => {
  test.each(groups.map(group => [group.map(({ name }) => name).join(', '), group] as const))('%s', async (_, group) => {
    const judged = await judge({ changes: {}, scenario: 'test/honest/everyday.yaml', profile: 'prices', lies: group })
    const unnamed = group.filter(({ clauses }) => !clauses.some(clause => judged.clauses.includes(clause)))
    expect(
      unnamed.map(({ name }) => name),
      judged.findings.join('\n'),
    ).toEqual([])
    expect(judged.code).toBe(1)
  })
})
