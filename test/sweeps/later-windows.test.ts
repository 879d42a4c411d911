import { expect, test } from 'vitest'
import { loadProfile } from '../../src/contract/profile.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
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
