import { describe, expect, test } from 'vitest'
import { type Contract, type LimiterAlgorithm, limiterAlgorithms } from '../../src/contract/contract.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { firstScenario } from '../../src/learn/first-scenario.ts'
import { foreign, learnForeign, speaking } from '../support/learn-foreign.ts'
import { learnFrom } from '../support/learn-from.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** A service whose every model has this many requests in a window, and that states nothing. */
function silent(algorithm: LimiterAlgorithm, windowMs: number, amount = 12): Contract {
  const contract = speaking('none', { algorithm, windowMs })
  const perMinute = { requestsPerMinute: amount, tokensPerMinute: 1_000_000 }
  const ofAll = { XS: perMinute, S: perMinute, M: perMinute, L: perMinute }
  return { ...contract, accounts: { default: ofAll, partner: ofAll } }
}

const learned = new Map<string, ReturnType<typeof learnForeign>>()
function learnSilent(algorithm: LimiterAlgorithm, windowMs: number) {
  const key = `${algorithm} ${windowMs}`
  const lesson = learned.get(key) ?? learnForeign('none', [], { algorithm, windowMs })
  learned.set(key, lesson)
  return lesson
}

async function found(algorithm: LimiterAlgorithm, windowMs: number, amount?: number) {
  const lesson = await learnSilent(algorithm, windowMs)
  const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
  const { report } = await virtualRun({
    scenario: scenario.replace('profile: profile.yaml\n', ''),
    ...{ contract: parseProfile(lesson.yaml, 'learned.yaml'), serviceContract: silent(algorithm, windowMs, amount) },
  })
  return { report, clauses: [...new Set(report.findings.map(({ clause }) => clause))] }
}

const counted = [
  ['fixed-window', 60_000],
  ['fixed-window', 10_000],
  ['sliding-log', 60_000],
  ['token-bucket', 60_000],
  ['gcra', 60_000],
] as const

describe('a gateway that states no limit', () => {
  test.each(counted)('has its %s of %i ms counted', async (algorithm, windowMs) => {
    const { contract, differences, replies } = await learnSilent(algorithm, windowMs)
    expect(contract.limits.dialect).toBe('none')
    expect(contract.limits.further.requests).toMatchObject({ counts: 'requests', amount: 12, windowMs })
    expect(differences.filter(each => !each.startsWith('missing'))).toEqual([])
    expect(replies.length).toBeLessThanOrEqual(120)
  })

  test.each(limiterAlgorithms.flatMap(each => [10_000, 60_000].map(windowMs => [each, windowMs] as const)))(
    'is accused of nothing if it is honest: %s of %i ms',
    async (algorithm, windowMs) => {
      const { report, clauses } = await found(algorithm, windowMs)
      expect(clauses, JSON.stringify(report.findings.map(({ message }) => message))).toEqual([])
    },
  )

  test.each(counted)('and refuses at 70 %, or never, is named: %s of %i ms', async (algorithm, windowMs) => {
    expect((await found(algorithm, windowMs, 8)).clauses).toEqual(['limit.requests.not-early'])
    expect((await found(algorithm, windowMs, 100_000)).clauses).toEqual(['limit.requests.enforced'])
  })

  test.each(counted.slice(0, 2))('and accepts a tenth more is named: %s of %i ms', async (algorithm, windowMs) => {
    expect((await found(algorithm, windowMs, 14)).clauses).toEqual(['limit.requests.enforced'])
  })
})

test('a limit that few calls do not reach is left to the user, with the line of a profile that states it', async () => {
  const { yaml } = await learnFrom({ contract: silent('fixed-window', 60_000, 30), over: foreign })
  const text = yaml.replaceAll(/\n#\s+/g, ' ')
  expect(text).toContain('and 13 requests in a row are accepted; to state it, write if there is a limit,')
  const line = /\{ further: .*? \} \} \}/.exec(text)?.[0] ?? ''
  const stated = line.replace('<name>', 'requests').replace('<number>', '30').replace('<milliseconds>', '60000')
  const { limits } = parseProfile(`limits: ${stated}`, 'written by hand')
  expect(limits.further.requests).toMatchObject({ counts: 'requests', amount: 30, windowMs: 60_000 })
})
