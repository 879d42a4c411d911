import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { assertNoSecret, createSecrets, environmentSecrets, weakSecretsNote } from '../../../src/library/secrets.ts'

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

test('the secret of a parameter is hidden as it is sent, and as a server reads it', () => {
  expect(environmentSecrets({ TURNPIKE_QUERY_CODE: '4f6a8d2c9e1b%2B7035' })).toEqual(
    expect.arrayContaining(['4f6a8d2c9e1b%2B7035', '4f6a8d2c9e1b+7035']),
  )
})

describe('the secrets of a run', () => {
  const secrets = createSecrets(['test', key])

  test('are hidden in its texts and its data only', () => {
    expect(secrets.text(`a test of ${key}`)).toBe('a test of ***')
    expect(secrets.json({ a: key })).toEqual({ a: '***' })
    const other = createSecrets()
    expect(other.text(key)).toBe(key)
    other.hide([key])
    expect(other.text(key)).toBe('***')
  })

  test('a file with a secret is a mistake, which is not quoted', () => {
    const check = (content: unknown) => () => assertNoSecret(secrets, 'my.yaml', content, 'scenario')
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
