import { expect, test } from 'vitest'
import { serveForTest, turnpike } from '../../support/turnpike.ts'

test('callers that share an account make a run inconclusive', async ({ onTestFinished }) => {
  const { target } = await serveForTest(['service'], onTestFinished)
  const run = ['run', 'test/e2e/short.yaml', '--target', target]
  const shared = await turnpike(run, { TURNPIKE_KEYS: 'ref_default_ada,ref_default_bob,ref_default_ada_2' })
  expect(shared.stdout).toContain('c0 and c2 seem to share')
  expect(shared.code).toBe(3)
  const own = await turnpike(run, { TURNPIKE_KEYS: 'ref_default_cem,ref_default_dea,ref_default_eli' })
  expect(own.code).toBe(0)
})
