import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import type { Report } from '../../src/report/document.ts'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** Lies that hide others, and lies that they may hide. Each is named alone in its setting. */
const groups: readonly (readonly [setting: string, hiding: readonly string[], hidden: readonly string[]])[] = [
  [
    'rate-limit',
    [
      'reset-behind',
      'reset-too-far',
      'reset-as-time-left',
      'reset-in-another-unit',
      'no-limits-on-rpc',
      'limit-with-unit',
    ],
    [
      ...['remaining-never-falls', 'no-request-limit', 'a-tenth-too-many', 'forbidden-above-the-limit'],
      ...['refuses-past-the-reset', 'one-request-too-few', 'log-of-chat-alone'],
    ],
  ],
  [
    'rate-limit with known details',
    ['reset-too-far', 'window-cut-short', 'window-that-slides', 'limit-with-unit'],
    [
      'remaining-never-falls',
      'no-request-limit',
      'one-request-too-many',
      'refuses-past-the-reset',
      'limits-by-key',
      'log-of-chat-alone',
    ],
  ],
  [
    'abuse-block',
    ['block-never', 'block-after-ten', 'block-one-failure-early', 'every-request-counts'],
    [
      ...['block-of-a-minute', 'block-of-ten-seconds', 'block-without-wait', 'block-of-another-length-said'],
      ...['media-types-do-not-count', 'block-by-endpoint'],
    ],
  ],
]

type NamedLie = { readonly name: string; readonly clause: ClauseId; readonly violates: readonly ClauseId[] }

function named(name: string): NamedLie {
  const listed = allLies.find(lie => lie.name === name)
  const lie = lieByName(name)
  if (listed === undefined || lie === undefined) throw new Error(`unknown lie: ${name}`)
  return { name, clause: listed.clause, violates: [listed.clause, ...lie.alsoViolates] }
}

/** How a report accounts for a lie: it names it, or it says that the other one hides it; null: neither. */
function accountOf(lie: NamedLie, other: NamedLie, { clauses, findings }: Report): 'named' | 'masked' | null {
  if (findings.some(({ clause }) => lie.violates.includes(clause))) return 'named'
  const because = clauses.find(({ id }) => id === lie.clause)?.because ?? null
  return because?.clause != null && other.violates.includes(because.clause) ? 'masked' : null
}

const tally = { named: 0, masked: 0 }

/** The violated clause, and those that a reason names as masked: "a, b, c, and 2 more". */
const maskedIn = /violations? of (\S+) \(.* It masks ((?:[a-z0-9-]+\.[a-z0-9.-]*[a-z0-9](?:, (?!and ))?)+)/g

describe.each(groups)('two lies at once in %s', (setting, hiding, hidden) => {
  const found = settings.find(({ name }) => name === setting)
  if (found === undefined) throw new Error(`unknown setting: ${setting}`)
  const runWith = async (...lies: readonly NamedLie[]) =>
    (await virtualRun({ ...found.run, lies: lies.flatMap(({ name }) => lieByName(name) ?? []) })).report

  test.each([...hiding, ...hidden])('%s is named alone', async name => {
    const lie = named(name)
    expect((await runWith(lie)).findings.map(({ clause }) => clause)).toContain(lie.clause)
  })

  test.each(
    todays(
      hiding.flatMap(first => hidden.map(second => [first, second] as const)),
      3,
    ),
  )('%s and %s are both accounted for', async (first, second) => {
    const [a, b] = [named(first), named(second)]
    const report = await runWith(a, b)
    const accounts = [accountOf(a, b, report), accountOf(b, a, report)]
    expect(
      accounts,
      JSON.stringify(report.clauses.filter(({ because }) => because?.kind === 'not-judged')),
    ).not.toContain(null)
    expect(report.verdict).toBe('fail')
    // What a reason names as masked is listed as not judged, or judged in part, because of that violation.
    for (const [, clause, ids = ''] of report.reasons.flatMap(reason => [...reason.matchAll(maskedIn)])) {
      const listed = report.clauses.filter(({ because }) => because?.clause === clause).map(({ id }) => id)
      for (const id of ids.split(', ')) expect(listed).toContain(id)
    }
    for (const account of accounts) if (account !== null) tally[account]++
  })
})

test('some lies were hidden, and most were named', () => {
  expect(tally.masked).toBeGreaterThan(isNightly ? 15 : 3)
  expect(tally.named).toBeGreaterThan(tally.masked)
})
