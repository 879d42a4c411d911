import { describe, expect, test } from 'vitest'
import { describeValue, hideLikelySecrets, isLikelySecret, UsageError } from '../../../src/lib/usage-error.ts'

describe('a word of a mistake', () => {
  test.each([
    'sk-proj-abcdefgh',
    'ref_default_c0',
    'ghp_16charactersLong',
    'eyJhbGciOiJIUzI1NiJ9',
    'AKIAIOSFODNN7EXAMPLE',
    'a8f5f167f44f4964e6c998dee827110c',
    'VENICE-INFERENCE-KEY-q7W2e9R4t1Y6u3I8',
    'x:8Jk2Lm4Np6Qr8St0',
  ])('%s may be a key', word => {
    expect(isLikelySecret(word)).toBe(true)
    expect(hideLikelySecrets(`got "${word}", in ${word}`)).not.toContain(word)
  })

  test.each([
    'rpcc',
    'exceed-teir',
    'max-completion-tokens',
    'eth_getTransactionByBlockHashAndIndex',
    'llama-3.3-70b-instruct-fp8',
    'anthropic/claude-3.5-sonnet-20241022',
    'http://127.0.0.1:8402/api/v1',
    '2026-11-22T13:00:00.000Z',
    '20261122T130000Z-abc123',
    'p(95) ttft of chat in steady < 400ms',
    '0.0006228',
    'ref-large-70b',
    'sk-1',
  ])('%s is shown', word => {
    expect(hideLikelySecrets(word)).toBe(word)
    expect(describeValue(word)).toBe(JSON.stringify(word))
  })

  test('is not shown if it may be a key, wherever the mistake has it', () => {
    const key = 'sk-proj-abcdefgh'
    expect(describeValue(key)).toBe('a text that looks like a key')
    const { message } = new UsageError({ where: key, got: `a second "${key}"`, expected: 'one', hint: `see ${key}` })
    expect(message).not.toContain('abcdefgh')
    expect(new UsageError({ where: `runs/${key}/plan.json`, got: 'x', expected: 'y' }).message).toContain('plan.json')
  })
})
