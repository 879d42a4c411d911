import { describe, expect, test } from 'vitest'
import { clauseIds } from '../../src/contract/clauses.ts'
import { type Judged, judge, shortTimes, type Trial } from './judged.ts'
import { lies } from './service/lies.ts'

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

const unnamedIn = (judged: Judged, group: typeof lies) =>
  group.filter(({ clauses }) => !clauses.some(clause => judged.clauses.includes(clause))).map(({ name }) => name)

/**
 * The service runs in this process, beside others. When it stalls, all requests of a burst are in flight at once, and
 * responses that state wrong resets do not tell which of them came first. One of three runs is enough.
 */
async function judgeUntilNamed(trial: Trial & { readonly lies: typeof lies }): Promise<Judged> {
  for (let attempt = 1; ; attempt++) {
    const judged = await judge(trial)
    if (unnamedIn(judged, trial.lies).length === 0 || attempt === 3) return judged
  }
}

describe.concurrent('each lie is named', () => {
  test.each([...groups, ...alone].map(group => [group.map(({ name }) => name).join(', '), group] as const))(
    '%s',
    async (_, group) => {
      const run = group[0]?.takesWindows
        ? ({ scenario: 'test/honest/windows.yaml', settings: shortTimes } as const)
        : ({ scenario: 'test/honest/everyday.yaml' } as const)
      const judged = await judgeUntilNamed({ ...run, changes: {}, profile: 'prices', lies: group })
      expect(unnamedIn(judged, group), judged.findings.join('\n') || judged.stdout).toEqual([])
      expect(judged.code).toBe(1)
    },
  )
})
