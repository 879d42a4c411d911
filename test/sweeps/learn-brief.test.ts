import { describe, expect, test } from 'vitest'
import { scenarioFor } from '../../src/cli/commands/init.ts'
import { type Contract, limiterAlgorithms } from '../../src/contract/contract.ts'
import { type DialectName, dialectNames } from '../../src/contract/limit-headers/limit-headers.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { leftOutOf } from '../../src/learn/first-scenario.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { knownLie } from '../../src/service/lies/lies.ts'
import { foreign, speaking } from '../support/learn-foreign.ts'
import { type Learned, learnFrom } from '../support/learn-from.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

type Target = { readonly dialect: DialectName; readonly limit: number } & Partial<Contract['limits']>

const at = ({ dialect, limit, ...limits }: Target): Contract => speaking(dialect, limits, limit)

/** What a new user sees: a profile that is learned in a hurry, and the first run that follows at once. */
async function firstVerdict(target: Target, lies: readonly Lie[] = []) {
  const contract = at(target)
  const learned = await learnFrom({ contract, lies, over: foreign, isBrief: true })
  const { scenario } = scenarioFor(learned, learned, 'http://127.0.0.1:8402/api/v1')
  // The run comes after what `learn` sent, so the service has counted that already.
  const { report } = await virtualRun({
    scenario: scenario.replace('profile: profile.yaml\n', ''),
    ...{ contract: parseProfile(learned.yaml, 'learned.yaml'), serviceContract: contract, lies },
  })
  return { learned, scenario, report, clauses: [...new Set(report.findings.map(({ clause }) => clause))] }
}

/** Of the lesson and of the load. */
const secondsOf = ({ tookMs }: Learned, scenario: string): number =>
  [...scenario.matchAll(/duration: (\d+)(m?s)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) / (unit === 'ms' ? 1_000 : 1),
    tookMs / 1_000,
  )

const windows = [1_000, 5_000, 10_000, 60_000, 900_000]
const targets = windows.flatMap(windowMs =>
  [5, 12, 60, 300].flatMap(limit =>
    dialectNames.flatMap(dialect => limiterAlgorithms.map(algorithm => ({ dialect, limit, windowMs, algorithm }))),
  ),
)

describe('the first verdict comes within a minute, and is right', () => {
  test.each(todays(targets, 40))(
    'on $limit requests per $windowMs ms in the dialect $dialect with a $algorithm',
    async target => {
      const { learned, scenario, report, clauses } = await firstVerdict(target)
      expect(secondsOf(learned, scenario)).toBeLessThanOrEqual(58)
      expect([clauses, report.verdict], `${report.reasons.join('; ')}\n${scenario}`).toEqual([[], 'pass'])
    },
  )

  test.each([
    ['no-request-limit', 10_000, 'limit.requests.enforced'],
    ['no-request-limit', 60_000, 'limit.requests.enforced'],
    ['total-one-too-many', 60_000, 'chat.usage.sum'],
    ['total-one-too-many', 900_000, 'chat.usage.sum'],
  ])('and names a gateway that has the lie %s, with windows of %i ms', async (name, windowMs, clause) => {
    const found = await firstVerdict({ dialect: 'kong', limit: 12, windowMs }, [knownLie(name)])
    expect(found.clauses, found.report.reasons.join('; ')).toEqual([clause])
    expect(found.report.verdict).toBe('fail')
  })
})

describe('a gateway that states no limit', () => {
  const silent = (limit: number): Target => ({ dialect: 'none', limit, windowMs: 60_000, algorithm: 'fixed-window' })

  test('and refuses nothing has its completions judged', async () => {
    const { learned, scenario, report } = await firstVerdict(silent(100_000))
    expect([leftOutOf(learned), report.verdict]).toEqual([[], 'pass'])
    expect(scenario).toContain('kind: chat')
  })

  test.each([5, 12])('and refuses the request after %i has its list judged, and its limit is left out', async limit => {
    const { learned, scenario, report, clauses } = await firstVerdict(silent(limit))
    expect(secondsOf(learned, scenario)).toBeLessThanOrEqual(58)
    expect([clauses, report.verdict], report.reasons.join('; ')).toEqual([[], 'pass'])
    expect(leftOutOf(learned).slice(-2)).toEqual(['a limit that no response states', 'what a limit refuses now'])
    expect(scenario).not.toContain('kind: chat')
  })
})

describe('a gateway that states no limit, and recovers soon after it refuses', () => {
  test.each([
    [5, 5_000, 'sliding-log'],
    [6, 10_000, 'gcra'],
    [30, 60_000, 'token-bucket'],
  ] as const)('has its completions judged: %i in %i ms with a %s', async (limit, windowMs, algorithm) => {
    const target: Target = { dialect: 'none', limit, windowMs, algorithm }
    const { learned, scenario, report, clauses } = await firstVerdict(target)
    expect(secondsOf(learned, scenario)).toBeLessThanOrEqual(60)
    expect([clauses, report.verdict], `${report.reasons.join('; ')}\n${scenario}`).toEqual([[], 'pass'])
    expect(scenario).toContain('kind: chat')
    const broken = await firstVerdict(target, [knownLie('total-one-too-many')])
    expect(broken.clauses).toEqual(['chat.usage.sum'])
  })
})

describe('a gateway that states no limit, and recovers late', () => {
  test.each([
    [20, 10_000, 'sliding-log', 5],
    [20, 10_000, 'sliding-counter', 3],
    [20, 10_000, 'fixed-window', 5],
    [20, 10_000, 'aligned-window', 5],
    [8, 10_000, 'sliding-log', 1],
    [8, 10_000, 'fixed-window', 1],
    [10, 2_000, 'token-bucket', 7],
    [10, 1_000, 'fixed-window', 7],
    [16, 1_000, 'gcra', 7],
  ] as const)(
    'has completions judged: %i in %i ms with a %s, at least %i',
    async (limit, windowMs, algorithm, least) => {
      const target: Target = { dialect: 'none', limit, windowMs, algorithm }
      const { learned, scenario, report, clauses } = await firstVerdict(target)
      expect(secondsOf(learned, scenario)).toBeLessThanOrEqual(58)
      expect([clauses, report.verdict], `${report.reasons.join('; ')}\n${scenario}`).toEqual([[], 'pass'])
      expect(report.clauses.find(({ id }) => id === 'chat.usage.sum')?.judged).toBeGreaterThanOrEqual(least)
      const broken = await firstVerdict(target, [knownLie('total-one-too-many')])
      expect(broken.clauses).toEqual(['chat.usage.sum'])
    },
  )
})

describe('a gateway that refuses with 503 and states no limit', () => {
  test.each([
    [20, 60_000, 'fixed-window', 'models'],
    [12, 900_000, 'sliding-log', 'models'],
    [12, 6_000, 'token-bucket', 'chat'],
    [20, 20_000, 'token-bucket', 'chat'],
    [20, 10_000, 'sliding-log', 'chat'],
    [10, 1_000, 'fixed-window', 'chat'],
  ] as const)(
    'is not asked for more than it has accepted: %i in %i ms with a %s',
    async (limit, windowMs, algorithm, kind) => {
      const target: Target = { dialect: 'none', limit, windowMs, algorithm, status: 503 }
      const { scenario, report, clauses } = await firstVerdict(target)
      expect([clauses, report.verdict], `${report.reasons.join('; ')}\n${scenario}`).toEqual([[], 'pass'])
      expect(scenario).toContain(`kind: ${kind}`)
    },
  )
})

test('a status that may be that of a limit is said', async () => {
  const target: Target = { dialect: 'none', limit: 5, windowMs: 5_000, algorithm: 'gcra', status: 503 }
  const learned = await learnFrom({ contract: at(target), over: foreign, isBrief: true })
  expect(learned.yaml.replaceAll('\n#   ', ' ')).toMatch(
    /limits\.status: call \d+, POST \/chat\/completions, 503: a limit refused it, or it failed; if a limit did, write limits: \{ status: 503 \}/,
  )
})

describe('what is left out', () => {
  test.each([
    [5_000, 6, []],
    [60_000, 12, ['questions that need more of the limit', 'the waits and the remaining requests of a limit']],
    [60_000, 1_000, []],
    [900_000, 12, ['questions that need more of the limit', 'the edge of a limit of 12 requests']],
    [900_000, 100, ['the edge of a limit of 100 requests']],
  ])('of %s ms and %s requests', async (windowMs, limit, leftOut) => {
    const learned = await learnFrom({
      contract: at({ dialect: 'kong', limit, windowMs }),
      over: foreign,
      isBrief: true,
    })
    expect(leftOutOf(learned)).toEqual(leftOut)
  })
})
