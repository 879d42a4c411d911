import { describe, expect, test } from 'vitest'
import {
  assertNoSecret,
  environmentSecrets,
  hidden,
  hiddenIn,
  hideSecrets,
  maskWrites,
  weakSecretsNote,
} from '../../../src/cli/secrets.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'

const key = 'sk-Abc123xyz-of-the-secrets-test'

test('the secrets of the environment are its keys and credentials, and the password of a pair', () => {
  const environment = {
    TURNPIKE_KEYS: 'k-1 k-2,k-3\nk-4',
    TURNPIKE_FREE_USER_KEY: 'free',
    TURNPIKE_ZERO_BALANCE_KEY: 'zero',
    TURNPIKE_OTHER_KEY: 'other',
    TURNPIKE_REMOTE_WRITE_CREDENTIALS: 'me:hush',
    TURNPIKE_PUSH_GATEWAY_CREDENTIALS: 't0ken',
    TURNPIKE_WALLET_KEY: '0xabc',
    TURNPIKE_VERSION: 'no secret',
    TURNPIKE_KEYSTONE: 'no secret',
    HOME: '/root',
    TURNPIKE_EMPTY_KEY: undefined,
  }
  expect(environmentSecrets(environment)).toEqual([
    ...['k-1', 'k-2', 'k-3', 'k-4', 'free', 'zero', 'other', 'me:hush', 'hush', 't0ken', '0xabc'],
  ])
})

describe('what this process prints', () => {
  hideSecrets(['test', key])

  test('has no strong secret, and its own words', () => {
    expect(hidden(`a test of ${encodeURIComponent(key)}`)).toBe('a test of ***')
    const plain = { a: [1, null], b: 'test' }
    expect(hiddenIn(plain)).toBe(plain)
    expect(hiddenIn({ a: [1, null, key], [key]: 1 })).toEqual({ a: [1, null, '***'], '***': 1 })
  })

  test('is masked in texts and bytes of a stream, and other bytes are the same', () => {
    const written: unknown[] = []
    const stream = { write: (data: unknown) => written.push(data) > 0 }
    maskWrites(stream as Parameters<typeof maskWrites>[0])
    const bytes = Uint8Array.of(0, 255, 128)
    for (const data of [`x ${key}\n`, Buffer.from(`y ${key}`), bytes]) stream.write(data)
    expect(written).toEqual(['x ***\n', 'y ***', bytes])
  })

  test('a file with a secret is a mistake, which is not quoted', () => {
    const check = (content: unknown) => () => assertNoSecret('my.yaml', content, 'scenario')
    expect(check({ calls: { test: 1 } })).not.toThrow()
    expect(check({ calls: { a: key } })).toThrow(UsageError)
    expect(check({ calls: { a: key } })).toThrow(/^my\.yaml: got a secret of this run(?!.*sk-Abc)/)
  })
})

test('weak keys are noted', () => {
  expect(weakSecretsNote([key])).toBeNull()
  expect(weakSecretsNote([key, 'test', 'test'])).toMatch(/^Warning: 1 key is short/)
  expect(weakSecretsNote(['a', 'test'])).toMatch(/2 keys are/)
})
