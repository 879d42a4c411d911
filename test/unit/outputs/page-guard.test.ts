import { describe, expect, test } from 'vitest'
import { isFromThisMachine, mayAct, namesThisServer, type PageRequest } from '../../../src/outputs/page-guard.ts'

const near: PageRequest = {
  host: '127.0.0.1:8400',
  origin: 'http://127.0.0.1:8400',
  site: 'same-origin',
  authorization: undefined,
  peer: '127.0.0.1',
}
const far: PageRequest = {
  ...near,
  host: '192.0.2.7:8400',
  origin: 'http://192.0.2.7:8400',
  peer: '192.0.2.9',
}

describe('the name of a server', () => {
  test.each(['127.0.0.1:8400', 'localhost:8400', 'LOCALHOST:9', '[::1]:8400', '127.0.0.1'])(
    '%s is its name at the loopback interface',
    host => {
      expect(namesThisServer({ host }, '127.0.0.1')).toBe(true)
    },
  )

  test.each([
    undefined,
    '',
    'evil.example:8400',
    '127.0.0.1.evil.example:8400',
    'localhost.evil.example',
    '192.0.2.7:8400',
    'evil.example@127.0.0.1:8400',
    '127.0.0.1:8400/..',
    '127.0.0.1:8400#x',
  ])('%s is not: a name that leads here may be of another site', host => {
    expect(namesThisServer({ host }, '127.0.0.1')).toBe(false)
  })

  test('at all interfaces it has any address, and the name that --ui gives, and no other', () => {
    expect(namesThisServer({ host: '192.0.2.7:8400' }, '0.0.0.0')).toBe(true)
    expect(namesThisServer({ host: '[2001:db8::1]:8400' }, '::')).toBe(true)
    expect(namesThisServer({ host: 'Bench.example:8400' }, 'bench.example')).toBe(true)
    expect(namesThisServer({ host: 'evil.example:8400' }, 'bench.example')).toBe(false)
    expect(namesThisServer({ host: 'evil.example:8400' }, '0.0.0.0')).toBe(false)
  })
})

describe('who may end a run', () => {
  test('the page at this machine, over either family of addresses', () => {
    expect(mayAct(near, null)).toBe(true)
    expect(mayAct({ ...near, peer: '::ffff:127.0.0.1' }, null)).toBe(true)
    expect(mayAct({ ...near, host: '[::1]:8400', origin: 'http://[::1]:8400', peer: '::1' }, null)).toBe(true)
    expect(mayAct({ ...near, site: undefined }, null)).toBe(true)
  })

  test.each([
    ['a page of another site', { origin: 'http://evil.example' }],
    ['a page of another server of this machine', { origin: 'http://127.0.0.1:9999' }],
    ['a sandboxed page', { origin: 'null' }],
    ['a request that no browser sends', { origin: undefined }],
    ['a request from another site by its own words', { site: 'cross-site' }],
  ] as const)('not %s', (_, changes) => {
    expect(mayAct({ ...near, ...changes }, null)).toBe(false)
    expect(mayAct({ ...near, ...changes, authorization: 'Bearer token-1' }, 'token-1')).toBe(false)
  })

  test('another machine only with the token of the environment', () => {
    expect(mayAct(far, null)).toBe(false)
    expect(mayAct(far, 'token-1')).toBe(false)
    expect(mayAct({ ...far, authorization: 'Bearer token-2' }, 'token-1')).toBe(false)
    expect(mayAct({ ...far, authorization: 'Bearer null' }, null)).toBe(false)
    expect(mayAct({ ...far, authorization: 'Bearer token-1' }, 'token-1')).toBe(true)
  })

  test('a proxy on this machine is not this machine', () => {
    expect(isFromThisMachine({ host: 'public.example', peer: '127.0.0.1' })).toBe(false)
    expect(isFromThisMachine({ host: '127.0.0.1:8400', peer: '192.0.2.9' })).toBe(false)
    expect(isFromThisMachine({ host: '127.0.0.1:8400', peer: undefined })).toBe(false)
  })
})
