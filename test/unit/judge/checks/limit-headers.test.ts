import { describe, expect, test } from 'vitest'
import { type LimiterAlgorithm, limiterAlgorithms } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import {
  batchBody,
  batchObserved,
  chatDescriptor,
  chatObserved,
  completion,
  failedClauses,
  failsEach,
  judgedCount,
  observed,
  passesEach,
  refused,
  responseOf,
  singleDescriptor,
} from './observed.ts'

const none = {
  'x-ratelimit-limit-requests': undefined,
  'x-ratelimit-remaining-requests': undefined,
  'x-ratelimit-reset-requests': undefined,
}
const badRequest = { kind: 'probe', probe: 'model-missing' } as const
const badKey = { kind: 'probe', probe: 'bad-key' } as const
const limited = { 'x-ratelimit-type': 'user' }
const rpc429 = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1768478460' }
const blocked = { error: 'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s.' }

describe('limit headers', () => {
  passesEach({
    'a batch, which counts as one request': batchObserved(batchBody),
    'a 429 that names its type': refused(chatDescriptor, 429, { error: 'Slow down' }, limited),
    'the abuse block, which is not a rate limit': refused(chatDescriptor, 429, blocked),
    'the abuse block of an RPC caller': refused(singleDescriptor, 429, blocked),
    'the list of limits, whose own limit is not documented': observed(
      { kind: 'rate-limits' },
      responseOf(200, { data: { rateLimits: [{ rateLimits: [] }] } }, { 'x-ratelimit-limit-requests': '500' }),
    ),
    'a partner with the limits of its tier': chatObserved(
      completion,
      { 'x-ratelimit-limit-requests': '150', 'x-ratelimit-limit-tokens': '1500000' },
      { accountTier: 'partner' },
    ),
    'a reset in half seconds': chatObserved(completion, { 'x-ratelimit-reset-tokens': '59.5' }),
    'a reset that is printed as a float': chatObserved(completion, { 'x-ratelimit-reset-tokens': '5.95e+01' }),
    'a 503 without limits': refused(chatDescriptor, 503, { error: 'At capacity' }, none),
    'an anonymous caller, who has no limits': refused({ kind: 'probe', probe: 'bad-key' }, 401, { error: 'No' }, none),
    'a bad request with its limits': refused(badRequest, 400),
    'a bad request with a limit of its own': refused(
      badRequest,
      400,
      { error: 'No' },
      { 'x-ratelimit-limit-requests': '7' },
    ),
    'a media type that was refused before the key was read': refused(
      { kind: 'probe', probe: 'wrong-media-type' },
      415,
      { error: 'No' },
      none,
    ),
    'a path that does not exist': refused({ kind: 'probe', probe: 'unknown-network' }, 404, { error: 'No' }, none),
    'a body that cannot be read': refused({ kind: 'probe', probe: 'rpc-no-json' }, 400, { error: 'No' }, none),
    'a type of limit for an invalid key': refused(
      badKey,
      401,
      { error: 'No' },
      { ...none, 'x-ratelimit-type': 'global' },
    ),
    'an error page of a gateway with a type of its own': refused(
      chatDescriptor,
      502,
      { error: 'No' },
      { 'x-service-version': undefined, 'x-ratelimit-type': 'ip' },
    ),
    'a rejection without token limits': refused(chatDescriptor, 402),
  })

  failsEach({
    'a bad request without limits': [
      'limit.requests.headers',
      'x-ratelimit-limit-requests is nothing, x-ratelimit-remaining-requests is nothing, x-ratelimit-reset-requests is nothing on a 400, expected non-negative numbers',
      refused(badRequest, 400, { error: 'No' }, none),
    ],
    'a rejection for the balance without limits': [
      'limit.requests.headers',
      'x-ratelimit-limit-requests is nothing, x-ratelimit-remaining-requests is nothing, x-ratelimit-reset-requests is nothing on a 402, expected non-negative numbers',
      refused({ kind: 'probe', probe: 'empty-account' }, 402, { error: 'No', code: 'INSUFFICIENT_BALANCE' }, none),
    ],
    'an unknown type of limit for an invalid key': [
      'limit.type',
      'x-ratelimit-type is "ip" on a 401, expected user, api_key, global',
      refused(badKey, 401, { error: 'No' }, { ...none, 'x-ratelimit-type': 'ip' }),
    ],
    'an unknown type of limit on a 503': [
      'limit.type',
      'x-ratelimit-type is "tier" on a 503, expected user, api_key, global',
      refused(chatDescriptor, 503, { error: 'No' }, { 'x-ratelimit-type': 'tier' }),
    ],
    'a response without a limit and its reset': [
      'limit.requests.headers',
      'x-ratelimit-limit-requests is nothing, x-ratelimit-reset-requests is nothing on a 404, expected non-negative numbers',
      refused(chatDescriptor, 404, { error: 'No' }, { ...none, 'x-ratelimit-remaining-requests': '5' }),
    ],
    'a limit with a unit': [
      'limit.requests.headers',
      'x-ratelimit-limit-requests is "75/min" on a 200, expected non-negative numbers',
      chatObserved(completion, { 'x-ratelimit-limit-requests': '75/min' }),
    ],
    'the limit of another tier': [
      'limit.requests.limit',
      'the stated limit of chat:ref-small-24b is 150, expected 75 (default S)',
      chatObserved(completion, { 'x-ratelimit-limit-requests': '150' }),
    ],
    'another limit of the RPC proxy': [
      'limit.requests.limit',
      'the stated limit of rpc is 1000, expected 100 (default)',
      batchObserved(batchBody, { 'x-ratelimit-limit-requests': '1000' }),
    ],
    'a completion without a token reset': [
      'limit.tokens.headers',
      'x-ratelimit-reset-tokens is nothing on a 200, expected non-negative numbers',
      chatObserved(completion, { 'x-ratelimit-reset-tokens': undefined }),
    ],
    'a token limit in thousands': [
      'limit.tokens.limit',
      'the stated limit of chat:ref-small-24b is 750, expected 750000 (default S)',
      chatObserved(completion, { 'x-ratelimit-limit-tokens': '750' }),
    ],
    'a token reset that is a Unix time': [
      'limit.tokens.reset',
      'x-ratelimit-reset-tokens is 1768478460, expected at most 60 s',
      chatObserved(completion, { 'x-ratelimit-reset-tokens': '1768478460' }),
    ],
    'a 429 without a type': [
      'limit.type',
      'x-ratelimit-type is nothing on a 429, expected user, api_key, global',
      refused(chatDescriptor, 429),
    ],
    'an undocumented type': [
      'limit.type',
      'x-ratelimit-type is "account" on a 429, expected user, api_key, global',
      refused(
        singleDescriptor,
        429,
        { error: 'No', customMessage: 'Wait' },
        { ...rpc429, 'x-ratelimit-type': 'account' },
      ),
    ],
  })

  describe('if the profile has no token headers', () => {
    const contract = { ...documentedContract, limits: { ...documentedContract.limits, tokenHeaders: false } }
    passesEach(
      { 'a completion without them': chatObserved(completion, { 'x-ratelimit-limit-tokens': undefined }) },
      contract,
    )
  })

  describe('a token reset more than a window ahead', () => {
    const seen = (seconds: string, remaining: string) =>
      chatObserved(completion, { 'x-ratelimit-reset-tokens': seconds, 'x-ratelimit-remaining-tokens': remaining })
    const failed = (seconds: string, remaining: string, algorithm: LimiterAlgorithm | null) => {
      const limits = { ...documentedContract.limits, algorithm }
      return failedClauses(seen(seconds, remaining), { ...documentedContract, limits })
    }
    const message = (seconds: string, most: number) => ({
      'limit.tokens.reset': `x-ratelimit-reset-tokens is ${seconds}, expected at most ${most} s`,
    })

    test.each([null, 'sliding-counter'] as const)('may come from a counter that is full (%s)', algorithm => {
      expect(failed('118', '0', algorithm)).toEqual({})
      expect(failed('122', '0', algorithm)).toEqual(message('122', 120))
      expect(failed('120.5', '0', algorithm)).toEqual(message('120.5', 120))
      expect(failed('62', '1', algorithm)).toEqual(message('62', 60))
      expect(failed('60.5', '1', algorithm)).toEqual(message('60.5', 60))
    })

    test('may be rounded up, since a response may see what was used after it began', () => {
      expect(failed('61', '1', null)).toEqual({})
      expect(failed('121', '0', null)).toEqual({})
    })

    const others = limiterAlgorithms.filter(algorithm => algorithm !== 'sliding-counter')
    test.each(others)('comes from no %s', algorithm => {
      expect(failed('61', '0', algorithm)).toEqual({})
      expect(failed('62', '0', algorithm)).toEqual(message('62', 60))
    })
  })

  describe('if the profile has a Unix time as token reset', () => {
    const contract = {
      ...documentedContract,
      limits: { ...documentedContract.limits, tokensReset: 'unix-milliseconds' as const },
    }
    passesEach(
      { 'a reset a minute ahead': chatObserved(completion, { 'x-ratelimit-reset-tokens': '1768478460000' }) },
      contract,
    )
  })
})

describe('a wallet', () => {
  const stated = (limit: string, chain?: string) =>
    chatObserved(completion, { 'x-ratelimit-limit-requests': limit, 'x-balance-remaining': '3' }, { chain })

  test('has the limits of an API key', () => {
    expect(failedClauses(stated('75', 'base'))).toEqual({})
    expect(judgedCount('wallet.limits', stated('75', 'base'))).toBeGreaterThan(0)
  })

  test('with other limits violates its own clause, too', () => {
    const message = 'the stated limit of chat:ref-small-24b is 30, expected 75 (default S)'
    expect(failedClauses(stated('30', 'base'))).toEqual({
      'limit.requests.limit': message,
      'wallet.limits': `${message}, as with an API key`,
    })
  })

  test('is no matter of a caller with keys', () => {
    expect(judgedCount('wallet.limits', chatObserved(completion))).toBe(0)
  })
})

describe('in a dialect', () => {
  const kong = { ...documentedContract, limits: { ...documentedContract.limits, dialect: 'kong' as const } }
  const left = { 'ratelimit-limit': '75', 'ratelimit-remaining': '74', 'ratelimit-reset': '60' }
  const documentedTokens = { 'x-ratelimit-limit-tokens': undefined, 'x-ratelimit-remaining-tokens': undefined }
  const messages = (observation: Parameters<typeof failedClauses>[0]) => Object.keys(failedClauses(observation, kong))

  test('a response has the headers of the dialect and needs none of the document', () => {
    expect(messages(chatObserved(completion, { ...none, ...documentedTokens, ...left }))).toEqual([])
    expect(messages(chatObserved(completion, { ...none, ...documentedTokens }))).toEqual(['limit.requests.headers'])
    const inWords = { ...left, 'ratelimit-reset': 'soon' }
    expect(messages(chatObserved(completion, { ...none, ...inWords }))).toEqual(['limit.requests.headers'])
  })

  test('a 429 states its wait, and its type need not be there', () => {
    const slow = (headers: object) =>
      refused(chatDescriptor, 429, { error: 'Slow down' }, { ...none, ...left, ...headers })
    expect(messages(slow({ 'retry-after': '60' }))).toEqual([])
    expect(messages(slow({}))).toEqual(['limit.requests.headers'])
    const bare = { 'ratelimit-limit': undefined, 'ratelimit-remaining': undefined, 'ratelimit-reset': undefined }
    expect(messages(slow({ ...bare, 'retry-after': '60' }))).toEqual([])
    expect(messages(slow(bare))).toEqual(['limit.requests.headers'])
    expect(messages(slow({ 'ratelimit-reset': undefined, 'retry-after': '60' }))).toEqual(['limit.requests.headers'])
    expect(messages(slow({ 'retry-after': 'a minute' }))).toEqual(['limit.requests.headers'])
  })

  test('lists and other refusals need no limit headers', () => {
    expect(messages(refused(chatDescriptor, 404, { error: 'No' }, none))).not.toContain('limit.requests.headers')
    const list = observed(
      { kind: 'rate-limits' },
      responseOf(200, { data: { rateLimits: [{ rateLimits: [] }] } }, none),
    )
    expect(messages(list)).toEqual([])
  })
})
