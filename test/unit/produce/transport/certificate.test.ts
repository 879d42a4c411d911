import { createServer as createPlainServer } from 'node:net'
import { createServer } from 'node:tls'
import { expect, test } from 'vitest'
import { ok, portOf, sendingTo } from './loopback.ts'

// A self-signed certificate for localhost that no client trusts.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6vu6mp1I+Qb/NdMJ
xBwF+yqslyg9cYlxLeG6uhe0o36hRANCAAQbaUr1YDUnFwEQLklp5E7Z2XIPqEsi
9VQhcGBpFW0AY44iYBJzm5enUZr8ENQ6If9ChL6ZMP0EU/D+tEPUT0C5
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUa0t5He/geMQwzndIVW1lQHidEPswCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAyMDIzM1oYDzIxMjYxMDI4
MDIwMjMzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQbaUr1YDUnFwEQLklp5E7Z2XIPqEsi9VQhcGBpFW0AY44iYBJzm5en
UZr8ENQ6If9ChL6ZMP0EU/D+tEPUT0C5o28wbTAdBgNVHQ4EFgQUBNUHGlUsg8Mn
X0mkyPyF/do6jLAwHwYDVR0jBBgwFoAUBNUHGlUsg8MnX0mkyPyF/do6jLAwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgK+8FicdVYUyKDk2xh/I8Grmu4wc81CZxhKguNnom5nMCIQCl
Kgw2ZtLdCjL+qXywErjjdWjtVpSGZXVB0R+yPK4WUA==
-----END CERTIFICATE-----`

test('an untrusted certificate ends the request before it is sent', async () => {
  let received = 0
  const server = createServer({ key, cert }, socket => {
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
