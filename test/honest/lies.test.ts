import { describe, expect, test } from 'vitest'
import { clauseIds } from '../../src/contract/clauses.ts'
import { type Judged, judge, shortTimes } from './judged.ts'
import { type Lie, lies } from './service/lies.ts'

/** Three lies of unrelated sections at a time. Those that need windows to end change the same times, so each is alone. */
const short = lies.filter(({ takesWindows }) => takesWindows !== true)
const stride = Math.ceil(short.length / 3)
// A lie about errors also changes what other lies look for, so those of §7 come last.
const groups = Array.from({ length: stride }, (_, first) =>
  short.filter((_lie, index) => index % stride === first).toSorted((a, b) => (a.section < b.section ? -1 : 1)),
)
const alone = lies.filter(({ takesWindows }) => takesWindows === true).map(lie => [lie])

test('there are at least thirty lies, and each breaks known clauses', () => {
  expect(lies.length).toBeGreaterThanOrEqual(30)
  const known: ReadonlySet<string> = new Set(clauseIds)
  expect(lies.flatMap(({ clauses }) => clauses.filter(clause => !known.has(clause)))).toEqual([])
})

/** Completions state their cost only if a service wants to. */
const hiddenFee: Lie = {
  name: 'hidden-fee-of-chat',
  section: '2.4',
  does: 'takes a thousandth of a cent more for a completion',
  clauses: ['billing.conservation'],
  change: (reply, { account, path }) => {
    if (path === '/chat/completions' && account !== null && reply.status === 200) account.usd -= 10_000
    return reply
  },
}

test.each(['always', 'never'] as const)(
  'a completion that is charged above its price is named if costs are stated %s',
  async costMember => {
    const run = {
      changes: { costMember },
      scenario: 'scenarios/billing.yaml',
      profile: 'none',
      asWritten: true,
    } as const
    expect((await judge({ ...run, lies: [hiddenFee] })).clauses).toContain('billing.conservation')
  },
)

const unnamedIn = (judged: Judged, group: typeof lies) =>
  group.filter(({ clauses }) => !clauses.some(clause => judged.clauses.includes(clause))).map(({ name }) => name)

describe('each lie is named', () => {
  test.each([...groups, ...alone].map(group => [group.map(({ name }) => name).join(', '), group] as const))(
    '%s',
    async (_, group) => {
      const run = group[0]?.takesWindows
        ? ({ scenario: 'test/honest/windows.yaml', settings: shortTimes } as const)
        : ({ scenario: 'test/honest/everyday.yaml' } as const)
      const judged = await judge({ ...run, changes: {}, profile: 'prices', lies: group })
      expect(unnamedIn(judged, group), judged.findings.join('\n') || judged.text).toEqual([])
      expect(judged.verdict).toBe('fail')
    },
  )
})
