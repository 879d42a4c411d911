import { expect, test } from 'vitest'
import { startTurnpike, turnpike } from '../support/turnpike.ts'

test('the reference service listens where it is told to, and nowhere else', async ({ onTestFinished }) => {
  const service = startTurnpike(['service', '--host', '127.0.0.2', '--port', '0'])
  onTestFinished(() => void service.child.kill('SIGKILL'))
  let said = ''
  service.child.stderr?.on('data', bytes => {
    said += bytes
  })
  await service.said('/api/v1')
  const [origin = ''] = /http:\/\/127\.0\.0\.2:\d+\/api\/v1/.exec(said) ?? []
  expect((await fetch(`${origin}/models`)).status).toBe(200)
  await expect(fetch(`${origin.replace('127.0.0.2', '127.0.0.1')}/models`)).rejects.toThrow()
}, 30_000)

test('an address that is not one of this machine is told of by its flag', async () => {
  const { code, stderr } = await turnpike(['service', '--host', '192.0.2.1', '--port', '0'])
  expect(code).toBe(2)
  expect(stderr).toContain('--host: got "192.0.2.1", expected an address of this machine')
}, 30_000)
