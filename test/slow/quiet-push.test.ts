import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

/** The address of a receiver with one status for every push. */
async function receiverOf(status: number): Promise<string> {
  const server: Server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end('no such path'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const quietRun = (remote: string, gateway: string) =>
  turnpike([
    ...['run', 'test/e2e/short.yaml', '--quiet', '--out', freshDirectory()],
    ...['--remote-write', remote, '--push-gateway', gateway],
  ])

test('a quiet run warns at its end about samples that were not pushed, and its verdict stays', async () => {
  const rejecting = await receiverOf(404)
  const { code, stderr, stdout } = await quietRun(rejecting, rejecting)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^PASS/)
  const lines = stderr.trim().split('\n')
  expect(lines).toHaveLength(2)
  for (const line of lines) {
    expect(line).toMatch(/^Warning: 0 samples pushed, [\d,]+ lost; \d+ push(es)? failed/)
    expect(line).toContain(`(${rejecting}). First problem: status 404: no such path; what is refused is not sent again`)
  }
})

test('a quiet run prints nothing if all samples were accepted', async () => {
  const accepting = await receiverOf(204)
  const { code, stderr } = await quietRun(accepting, accepting)
  expect([code, stderr]).toEqual([0, ''])
})
