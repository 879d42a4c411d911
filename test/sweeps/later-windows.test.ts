import { expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { header, plus } from '../../src/service/lies/replies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const shortWindows = loadProfile('scenarios/profiles/short-windows.yaml')
const contract = {
  ...shortWindows,
  limits: { ...shortWindows.limits, algorithm: 'fixed-window', scope: 'account' },
} as const

test.each([
  ['one-request-too-many-later', 'limit.requests.enforced'],
  ['one-request-too-few-later', 'limit.requests.not-early'],
])('rate-limit finds that %s, for completions and for JSON-RPC', async (name, clause) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error(`unknown lie: ${name}`)
  const { report } = await virtualRun({ scenario: 'scenarios/rate-limit.yaml', contract, lies: [lie] })
  const messages = report.findings.flatMap(found =>
    found.clause === clause ? found.examples.map(({ message }) => message) : [],
  )
  for (const limit of [/chat:/, /\brpc\b/]) expect(messages.join('\n')).toMatch(limit)
})

/** A lie: each reset is announced a number of seconds before the end of its window. */
const early = (seconds: number): Lie => ({
  name: 'early',
  ...header('The request reset is too early.', 'x-ratelimit-reset-requests', plus(-seconds)),
})

test.each([
  ['windows of a minute', documentedContract],
  ['windows of seconds', shortWindows],
])('rate-limit finds a reset that is announced two or three seconds early, in %s', async (_, announced) => {
  const scenario = 'scenarios/rate-limit.yaml'
  for (const seconds of [2.5, 3]) {
    const { report } = await virtualRun({ scenario, contract: announced, lies: [early(seconds)] })
    expect(report.findings.map(({ clause }) => clause)).toContain('retry.after-reset')
  }
  const { report } = await virtualRun({ scenario, contract: announced })
  expect(report).toMatchObject({ verdict: 'pass', findings: [] })
})
