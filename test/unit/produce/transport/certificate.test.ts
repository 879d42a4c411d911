import { createServer as createPlainServer } from 'node:net'
import { createServer } from 'node:tls'
import { expect, test } from 'vitest'
import { selfSigned } from '../../../support/self-signed.ts'
import { ok, portOf, sendingTo } from './loopback.ts'

test('an untrusted certificate ends the request before it is sent', async () => {
  let received = 0
  const server = createServer(selfSigned, socket => {
    socket.on('error', () => {})
    socket.on('data', bytes => {
      received += bytes.length
      socket.write(ok('{}'))
    })
  })
  server.on('tlsClientError', () => {})
  const failure = (await sendingTo(`https://127.0.0.1:${await portOf(server)}`)()).failure
  expect(failure?.reason).toBe('tls')
  expect(failure?.detail).toMatch(/^DEPTH_ZERO_SELF_SIGNED_CERT/)
  expect(received).toBe(0)
})

test('a server without TLS is a TLS failure', async () => {
  const port = await portOf(createPlainServer(socket => socket.end('220 smtp.example ready\r\n')))
  expect((await sendingTo(`https://127.0.0.1:${port}`)()).failure?.reason).toBe('tls')
})
