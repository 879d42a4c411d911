import { expect, test } from 'vitest'
import { startTurnpike } from '../support/turnpike.ts'

test('a reader who hangs up at once changes neither what is done nor the exit code', async () => {
  const { child } = startTurnpike(['clauses'])
  let said = ''
  child.stderr?.on('data', bytes => {
    said += bytes
  })
  child.stdout?.destroy()
  const code = await new Promise(resolve => child.once('close', resolve))
  expect(said).toBe('')
  expect(code).toBe(0)
}, 30_000)
