import { expect, test } from 'vitest'
import { type PlainRequest, readRequests } from '../../../src/certificate/read-requests.ts'

const two = Buffer.from('POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n{"a"GET /b HTTP/1.1\r\nhost: x\r\n\r\n')

function read(pieces: readonly Buffer[]) {
  const found: PlainRequest[] = []
  const push = readRequests(request => found.push(request))
  return { taken: pieces.every(push), found }
}

test('requests on one connection are found one after the other, wherever their bytes are cut', () => {
  const expected = [
    { method: 'POST', body: '{"a"' },
    { method: 'GET', body: '' },
  ]
  for (let at = 0; at <= two.length; at++)
    expect(read([two.subarray(0, at), two.subarray(at)])).toEqual({ taken: true, found: expected })
})

test.each([
  ['announces more', 'POST /a HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n'],
  ['never ends its head', 'x'.repeat(1_100_000)],
])('who %s than is taken is not listened to', (_, text) => {
  expect(read([Buffer.from(text)])).toEqual({ taken: false, found: [] })
})
