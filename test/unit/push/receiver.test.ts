import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { postTo, receiverAt } from '../../../src/push/receiver.ts'
import { undiciTransport } from '../../../src/transport/undici.ts'
import { portOf } from '../transport/loopback.ts'

const at = (address: string, credentials?: string) => receiverAt('--remote-write', address, 'TURNPIKE_X', credentials)

function mistakeOf(address: string, credentials?: string): string {
  try {
    at(address, credentials)
  } catch (cause) {
    if (cause instanceof UsageError) return cause.message
    throw cause
  }
  return ''
}

describe('the address of a receiver', () => {
  test.each([
    ['with a password', 'http://me:hush-93@127.0.0.1:9090', /--remote-write: got an address with a user.*TURNPIKE_X/],
    ['with a user', 'http://hush-93@127.0.0.1:9090', /with a user or a password/],
    ['with a query', 'http://127.0.0.1:9090/write?token=hush-93', /with a \? or a #/],
    ['with a fragment', 'http://127.0.0.1:9090/write#hush-93', /with a \? or a #/],
    ['without a scheme', 'hush-93:9090', /no address of http/],
    ['that is none', 'hush-93', /no address of http/],
    ['of another scheme', 'ftp://hush-93', /no address of http/],
    ['that is empty', '', /no address of http/],
  ])('%s is refused, and not shown', (_, address, words) => {
    const said = mistakeOf(address)
    expect(said).toMatch(words)
    expect(said).not.toContain('hush-93')
  })

  test('credentials that cannot stand in a header are refused, and not shown', () => {
    const said = mistakeOf('http://127.0.0.1:9090', 'hush-93\n')
    expect(said).toMatch(/^TURNPIKE_X: got a space or a special character/)
    expect(said).not.toContain('hush-93')
  })

  test.each([
    [undefined, null],
    ['', null],
    ['t0ken', 'Bearer t0ken'],
    ['me:hush', 'Basic bWU6aHVzaA=='],
  ])('credentials %s are %s', (credentials, authorization) => {
    expect(at('https://example.com/api/v1/push', credentials)).toMatchObject({
      address: 'https://example.com/api/v1/push',
      authorization,
    })
  })
})

async function receiving(answer: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void) {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', part => parts.push(part)).on('end', () => answer(request, response, Buffer.concat(parts)))
  })
  const origin = `http://127.0.0.1:${await portOf(server)}`
  const clock = systemClock()
  const { send, close } = undiciTransport({ baseUrl: origin, clock, maxConnections: 1 })
  onTestFinished(close)
  return (path: string, credentials?: string) =>
    postTo(
      { receiver: at(`${origin}${path}`, credentials), send, clock },
      { method: 'PUT', headers: { 'x-kind': 'k' } },
    )
}
const never = new AbortController().signal

describe('a request to a receiver', () => {
  test('is sent whole, to the path, with the credentials', async () => {
    let seen: unknown
    const post = await receiving(({ method, url, headers }, response, body) => {
      seen = [method, url, headers['x-kind'], headers.authorization, [...body]]
      response.writeHead(204).end()
    })
    const bytes = Uint8Array.of(0, 255, 10, 128)
    expect(await post('/api/v1/write', 't0ken')(bytes, never)).toEqual({ kind: 'accepted' })
    expect(seen).toEqual(['PUT', '/api/v1/write', 'k', 'Bearer t0ken', [0, 255, 10, 128]])
  })

  test('does not follow a redirect, which would take the credentials elsewhere', async () => {
    const paths: unknown[] = []
    const post = await receiving(({ url }, response) => {
      paths.push(url)
      response.writeHead(308, { location: '/elsewhere' }).end()
    })
    expect(await post('/write', 't0ken')(Uint8Array.of(1), never)).toMatchObject({ kind: 'refused' })
    expect(paths).toEqual(['/write'])
  })

  test.each([['t0ken'], ['me:hush-93']])('is not quoted from who repeats its credentials (%s)', async credentials => {
    const post = await receiving(({ headers }, response) => {
      response.writeHead(403).end(`nobody has ${headers.authorization}`)
    })
    expect(await post('/', credentials)(Uint8Array.of(1), never)).toEqual({ kind: 'refused', because: 'status 403' })
  })

  test('to nobody may be sent again', async () => {
    const clock = systemClock()
    const { send, close } = undiciTransport({ baseUrl: 'http://127.0.0.1:9', clock, maxConnections: 1 })
    onTestFinished(close)
    const post = postTo({ receiver: at('http://127.0.0.1:9/'), send, clock }, { method: 'POST', headers: {} })
    expect(await post(Uint8Array.of(1), never)).toMatchObject({
      kind: 'later',
      because: expect.stringMatching(/^connect-refused/),
    })
  })
})
