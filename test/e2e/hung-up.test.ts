import { expect, test } from 'vitest'
import { startTurnpike } from '../support/turnpike.ts'

test('a reader that closes the pipe immediately does not change the exit code', async () => {
  const { child, ended } = startTurnpike(['clauses'])
  child.stdout?.destroy()
  const { code, stderr } = await ended
  expect(stderr).toBe('')
  expect(code).toBe(0)
})
