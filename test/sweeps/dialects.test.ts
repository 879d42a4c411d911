import { describe, expect, test } from 'vitest'
import { type Contract, contractSchema, limiterAlgorithms } from '../../src/contract/contract.ts'
import { type DialectName, dialectNames } from '../../src/contract/limit-headers/limit-headers.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import { type Lie, lie } from '../../src/service/lies/lie.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { changeReplies, dropHeaders, hasStatus, setHeader } from '../../src/service/lies/replies.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

const shortWindows = loadProfile('scenarios/profiles/short-windows.yaml')
const scenario = 'scenarios/rate-limit.yaml'

const speaking = (dialect: DialectName, limits: Partial<Contract['limits']> = {}): Contract =>
  contractSchema.parse({ ...shortWindows, limits: { ...shortWindows.limits, dialect, ...limits } })

const pairs = dialectNames.flatMap(dialect => limiterAlgorithms.map(algorithm => ({ dialect, algorithm })))

describe('the honest service is accused of nothing', () => {
  test.each(todays(pairs, 12))('in the dialect $dialect with a $algorithm', async ({ dialect, algorithm }) => {
    // The judges know the algorithm in one run, and not in the other.
    for (const known of [algorithm, null]) {
      const { report } = await virtualRun({
        scenario,
        contract: speaking(dialect, { algorithm: known }),
        serviceContract: speaking(dialect, { algorithm }),
      })
      const findings = report.findings.map(({ clause, message }) => `${clause}: ${message}`)
      expect({ known, findings }).toEqual({ known, findings: [] })
      expect(report.limits.some(({ rejected }) => rejected > 0)).toBe(true)
    }
  })
})

const statesReset: readonly DialectName[] = dialectNames.filter(name => !['litellm', 'azure', 'none'].includes(name))
const statesWait: readonly DialectName[] = ['openai', 'anthropic', 'ietf', 'draft7', 'kong', 'litellm', 'azure']
const statesRemaining: readonly DialectName[] = dialectNames.filter(name => name !== 'none')

/** The document promises no wait, so these are lies in a dialect alone. */
const is429 = hasStatus(429)
const liesOfWaits: readonly Lie[] = [
  lie('no-wait', 'A 429 states no wait.', changeReplies(is429, dropHeaders('retry-after'))),
  lie('wait-too-short', 'A 429 states a second.', changeReplies(is429, setHeader('retry-after', '1'))),
  lie('wait-of-an-hour', 'A 429 states an hour.', changeReplies(is429, setHeader('retry-after', '3600'))),
]

/** Lies with the clause that names them, and the dialects that can tell them. */
const tellable = [
  // Without a reset, an excess is certain above twice the limit alone.
  ['no-request-limit', /^limit\.requests\.enforced$/, statesReset],
  ['sudden-429', /^(limit\.requests\.not-early|retry\.after-reset)$/, dialectNames],
  ['remaining-without-this-one', /^limit\.requests\.remaining$/, statesRemaining],
  ['remaining-never-falls', /^limit\.requests\.remaining$/, statesReset],
  ['reset-too-far', /^limit\.requests\.reset$/, statesReset],
  ['reset-behind', /^limit\.requests\.(reset|headers)$/, statesReset],
  ['no-wait', /^limit\.requests\.headers$/, statesWait],
  ['wait-too-short', /^retry\.after-reset$/, statesWait],
  ['wait-of-an-hour', /^limit\.requests\.reset$/, statesWait],
] as const

const lies = tellable.flatMap(([told, clause, dialects]) => dialects.map(dialect => ({ told, clause, dialect })))

describe('a lie is named', () => {
  test.each(todays(lies, 14))('in the dialect $dialect: $told', async ({ told, clause, dialect }) => {
    const found = liesOfWaits.find(({ name }) => name === told) ?? lieByName(told)
    if (found === undefined) throw new Error(`unknown lie: ${told}`)
    const contract = speaking(dialect, { algorithm: 'fixed-window', scope: 'account' })
    const { report } = await virtualRun({ scenario, contract, lies: [found] })
    expect(report.findings.map(finding => finding.clause)).toContainEqual(expect.stringMatching(clause))
  })
})
