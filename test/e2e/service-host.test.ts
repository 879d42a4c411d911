import { expect, test } from 'vitest'
import { serveForTest, turnpike } from '../support/turnpike.ts'

test('the reference service listens on --host only', async ({ onTestFinished }) => {
  const { target: origin } = await serveForTest(['service', '--host', '127.0.0.2'], onTestFinished)
  expect(origin).toMatch(/^http:\/\/127\.0\.0\.2:\d+\/api\/v1$/)
  expect((await fetch(`${origin}/models`)).status).toBe(200)
  await expect(fetch(`${origin.replace('127.0.0.2', '127.0.0.1')}/models`)).rejects.toThrow()
})

test('--host refuses an address of another machine', async () => {
  const { code, stderr } = await turnpike(['service', '--host', '192.0.2.1', '--port', '0'])
  expect(code).toBe(2)
  expect(stderr).toContain('--host: got "192.0.2.1", expected an address of this machine')
})
