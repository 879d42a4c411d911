import { describe, expect, test } from 'vitest'
import { parseProfile } from '../../../src/contract/profile.ts'
import { firstScenario } from '../../../src/learn/first-scenario.ts'
import { lie } from '../../../src/service/lies/lie.ts'
import { knownLie } from '../../../src/service/lies/lies.ts'
import { changeReplies, hasStatus, setHeader } from '../../../src/service/lies/replies.ts'
import { foreign, learnForeign, speaking } from '../../support/learn-foreign.ts'
import { learnFrom } from '../../support/learn-from.ts'
import { virtualRun } from '../../support/virtual-run.ts'

describe('the first scenario of a gateway that states its limits', () => {
  const on = (status: number, name: string, value: string) => [
    lie('changed', 'Changed.', changeReplies(hasStatus(status), setHeader(name, value))),
  ]
  test.each([
    ['passes one that is honest', [], []],
    ['names one whose every 429 states one second', on(429, 'retry-after', '1'), ['retry.after-reset']],
    [
      'names one whose remaining requests never fall',
      on(200, 'x-ratelimit-remaining-requests', '11'),
      ['limit.requests.remaining'],
    ],
  ])('%s', async (_, lies, found) => {
    const { yaml } = await learnForeign('kong', lies)
    const lesson = await learnForeign('kong')
    const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
    const { report } = await virtualRun({
      ...{ scenario: scenario.replace('profile: profile.yaml\n', ''), lies },
      ...{ contract: parseProfile(yaml, 'learned.yaml'), serviceContract: speaking('kong') },
    })
    expect([...new Set(report.findings.map(({ clause }) => clause))], report.reasons.join('; ')).toEqual(found)
    expect(report.verdict).toBe(found.length === 0 ? 'pass' : 'fail')
  })

  test.each([
    ['github', 'one-request-too-many', 'limit.requests.enforced'],
    ['anthropic', 'one-request-too-many', 'limit.requests.enforced'],
    ['github', 'one-request-too-few', 'limit.requests.not-early'],
    ['kong', 'one-request-too-few', 'limit.requests.not-early'],
  ] as const)('with windows of 13 s in %s names %s', async (dialect, name, clause) => {
    const limits = { windowMs: 13_000 }
    const lesson = await learnForeign(dialect, [], limits)
    expect(Math.abs(lesson.contract.limits.windowMs - 13_000)).toBeLessThanOrEqual(1_000)
    const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
    for (const lies of [[], [knownLie(name)]]) {
      const { report } = await virtualRun({
        ...{ scenario: scenario.replace('profile: profile.yaml\n', ''), lies },
        ...{ contract: parseProfile(lesson.yaml, 'learned.yaml'), serviceContract: speaking(dialect, limits) },
      })
      expect([...new Set(report.findings.map(finding => finding.clause))]).toEqual(lies.length === 0 ? [] : [clause])
      // Nothing that is sent once is refused, since the limit is left for it.
      expect(report.clauses.find(({ id }) => id === 'twin.tokens')?.judged).toBeGreaterThan(0)
    }
  })

  test.each([
    [60, false],
    [30, true],
  ])('with %i requests per minute, it waits for a window: %s', async (requestsPerMinute, waits) => {
    const lesson = await learnFrom({ contract: speaking('kong', {}, requestsPerMinute), over: foreign })
    const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
    expect(scenario.includes('name: wait')).toBe(waits)
  })
})
