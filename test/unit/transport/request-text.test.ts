import { expect, test } from 'vitest'
import { requestText } from '../../../src/transport/request-text.ts'

const base = { host: 'api.test:8080', pathPrefix: '/api/v1' }

test('a request stands on its connection as it is, with what HTTP needs and nothing else', () => {
  const headers = { authorization: 'Bearer k', 'content-type': 'application/json' }
  expect(requestText({ method: 'POST', path: '/x?y=1', headers, body: '{}' }, base).split('\r\n')).toEqual([
    'POST /api/v1/x?y=1 HTTP/1.1',
    'host: api.test:8080',
    'connection: keep-alive',
    'authorization: Bearer k',
    'content-type: application/json',
    'content-length: 2',
    '',
    '{}',
  ])
})

test('the length of a body is that of its bytes, and a request without one has none', () => {
  expect(requestText({ method: 'POST', path: '/', headers: {}, body: '"€"' }, base)).toContain('content-length: 5\r\n')
  expect(requestText({ method: 'GET', path: '/', headers: {}, body: null }, base)).toBe(
    'GET /api/v1/ HTTP/1.1\r\nhost: api.test:8080\r\nconnection: keep-alive\r\n\r\n',
  )
})
