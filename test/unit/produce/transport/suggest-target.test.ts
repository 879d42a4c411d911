import { describe, expect, test } from 'vitest'
import { type Refusal, suggestTarget } from '../../../../src/produce/transport/suggest-target.ts'
import type { Exchange } from '../../../../src/produce/transport/transport.ts'

const answered = (status: number, headers: Exchange['headers'] = { 'content-type': 'application/json' }): Exchange => ({
  sentMs: 0,
  headersMs: 1,
  endMs: 2,
  status,
  headers,
  body: Buffer.from(''),
  bytes: 0,
  failure: null,
})

const failed = (reason: 'tls' | 'connection-lost' | 'connect-refused', detail: string): Exchange => ({
  ...answered(0, {}),
  headersMs: null,
  status: null,
  failure: { reason, detail },
})

const refused = (exchange: Exchange): readonly Refusal[] => [{ path: '/models', exchange }]

/** A host that has the list of models at one address only, and the addresses that it was asked at. */
function hostWith(place: string, there: Exchange = answered(200), otherwise: Exchange = answered(404)) {
  const asked: string[] = []
  const ask = async (base: string, path: string) => {
    asked.push(base)
    return `${base}${path}` === `${place}/models` ? there : otherwise
  }
  return { asked, ask }
}

describe('the base path', () => {
  test.for([
    ['http://a.test', 'http://a.test/api/v1'],
    ['http://a.test/api', 'http://a.test/api/v1'],
    ['http://a.test/v2', 'http://a.test/v1'],
    ['http://a.test/gateway', 'http://a.test/gateway/v1'],
    ['http://a.test/api/v1/chat/completions', 'http://a.test/api/v1'],
    ['http://a.test/x/models', 'http://a.test/x'],
    ['http://a.test/api/v1/crypto/rpc/base-mainnet', 'http://a.test/api/v1'],
  ] as const)('of %s', async ([target, place]) => {
    const { ask } = hostWith(place)
    expect(await suggestTarget(target, refused(answered(404)), ask)).toBe(place)
  })

  test('counts as found if a key is wanted there, and not if a page is', async () => {
    const wanted = hostWith('http://a.test/v1', answered(401))
    expect(await suggestTarget('http://a.test', refused(answered(404)), wanted.ask)).toBe('http://a.test/v1')
    const page = hostWith('http://a.test/v1', answered(200, { 'content-type': 'text/html' }))
    expect(await suggestTarget('http://a.test', refused(answered(404)), page.ask)).toBeNull()
  })

  test('is looked for a few times, and never at the same address twice', async () => {
    const { ask, asked } = hostWith('http://a.test/elsewhere')
    expect(await suggestTarget('http://a.test/v1', refused(answered(404)), ask)).toBeNull()
    expect(asked).toEqual([...new Set(asked)])
    expect(asked.length).toBeLessThanOrEqual(7)
    expect(asked).not.toContain('http://a.test/v1')
  })

  test('is not looked for if the target answered otherwise', async () => {
    for (const exchange of [answered(401), answered(500), answered(200), failed('connect-refused', 'ECONNREFUSED')]) {
      const { ask, asked } = hostWith('http://a.test/api/v1')
      expect(await suggestTarget('http://a.test', refused(exchange), ask)).toBeNull()
      expect(asked).toEqual([])
    }
    const { ask, asked } = hostWith('http://a.test/api/v1')
    expect(await suggestTarget('http://a.test', [], ask)).toBeNull()
    expect(asked).toEqual([])
  })
})

describe('a redirect', () => {
  const redirect = (location: string) => refused(answered(301, { location }))
  const { ask, asked } = hostWith('http://b.test')

  test('leads to the base address, without a request to another host', async () => {
    expect(await suggestTarget('http://a.test/v1', redirect('https://b.test/v2/models'), ask)).toBe('https://b.test/v2')
    expect(await suggestTarget('http://a.test/v1', redirect('/v3/models/'), ask)).toBe('http://a.test/v3')
    expect(asked).toEqual([])
  })

  test('to a page of its own suggests nothing', async () => {
    expect(await suggestTarget('http://a.test/v1', redirect('https://b.test/login'), ask)).toBeNull()
    expect(await suggestTarget('http://a.test/v1', redirect('http://['), ask)).toBeNull()
  })
})

describe('the protocol', () => {
  test('https at a port without TLS', async () => {
    const { ask } = hostWith('http://a.test:1/v1', answered(404))
    const refusal = refused(failed('tls', 'EPROTO'))
    expect(await suggestTarget('https://a.test:1/v1', refusal, ask)).toBe('http://a.test:1/v1')
  })

  test('http at a port with TLS, also if its certificate is private', async () => {
    const refusal = refused(failed('connection-lost', 'other side closed'))
    const open = hostWith('https://a.test/v1')
    expect(await suggestTarget('http://a.test/v1', refusal, open.ask)).toBe('https://a.test/v1')
    const own = hostWith('https://a.test/v1', failed('tls', 'DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate'))
    expect(await suggestTarget('http://a.test/v1', refusal, own.ask)).toBe('https://a.test/v1')
  })

  test('a port that speaks neither', async () => {
    const neither = hostWith('none', answered(200), failed('tls', 'EPROTO wrong version number'))
    expect(await suggestTarget('http://a.test', refused(failed('connection-lost', 'reset')), neither.ask)).toBeNull()
  })
})
