import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectAgent, runsIn } from '../../support/mcp-client.ts'

test('turnpike mcp lists its tools, plans, and refuses what it must not do', async ({ onTestFinished }) => {
  const { client, call, folder, strange } = await connectAgent([], onTestFinished)
  const { tools } = await client.listTools()
  const names = ['plan', 'prove', 'run', 'report', 'clauses', 'explain_finding', 'shrink_finding', 'diff']
  expect(tools.map(({ name }) => name)).toEqual(names)
  const sending = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)
  expect(sending.map(({ name }) => name)).toEqual(['run', 'shrink_finding', 'diff'])

  const plan = await call('plan', { scenario: 'short.yaml', budgetUsd: '0.000001' })
  expect(plan.data).toMatchObject({ scenario: 'short', refused: expect.stringContaining('budget: got $0.000001') })
  expect(JSON.parse(plan.text)).toEqual(plan.data)

  symlinkSync('/', join(folder, 'up'))
  const refused = [
    ['run', { scenario: 'short.yaml' }, 'run: got no "budgetUsd", expected the maximum that the run may spend'],
    ['run', { scenario: 'short.yaml', budgetUsd: '0.000001' }, 'budget: got $0.000001, expected at least'],
    [
      'run',
      { scenario: 'short.yaml', budgetUsd: 1, target: 'https://api.example.com/v1' },
      'expected a target on this machine',
    ],
    ['run', { scenario: '../short.yaml', budgetUsd: 1 }, 'expected a path in the working directory'],

    [
      'diff',
      { old: 'http://127.0.0.1:9/v1', new: 'http://127.0.0.1:9/v1', shadow: '../traffic.har', budgetUsd: 1 },
      'shadow: got "../traffic.har", expected a path in the working directory',
    ],
    ['report', { runDirectory: 'up/etc' }, 'expected a path in the working directory'],

    ['pay', {}, 'tool: got "pay", expected a tool: plan, prove, run'],
  ] as const
  for (const [name, given, message] of refused)
    expect([name, given, await call(name, given)]).toEqual([
      name,
      given,
      expect.objectContaining({ isError: true, text: expect.stringContaining(message) }),
    ])
  expect(runsIn(folder)).toEqual([])
  expect(strange).toEqual([])
})
