import { expect, test } from 'vitest'
import { listenMistake } from '../../../src/outputs/http-server.ts'

test.each([
  ['EADDRINUSE', '--port: got port 80, which another program uses, expected a free port, or 0 for any free one'],
  ['EACCES', '--port: got port 80, which only an administrator may use, expected a free port, or 0 for any free one'],
  ['EMFILE', '--port: got port 80 (EMFILE), expected a free port, or 0 for any free one'],
  ['ENOTFOUND', '--host: got "here", expected an address of this machine'],
  ['EADDRNOTAVAIL', '--host: got "here", expected an address of this machine'],
])('%s is explained with the number of the port, or the host', (code, message) => {
  const address = { host: 'here', port: 80, hostFlag: '--host', portFlag: '--port' }
  expect(listenMistake(Object.assign(new Error('listen'), { code }), address).message).toBe(message)
})
