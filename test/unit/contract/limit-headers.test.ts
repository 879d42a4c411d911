import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { furtherLimitsOf } from '../../../src/contract/limit-headers/further-limits.ts'
import {
  type DialectName,
  dialectNames,
  limitHeadersOf,
  readStatement,
  statedWait,
  statesWait,
} from '../../../src/contract/limit-headers/limit-headers.ts'
import { parseProfile } from '../../../src/contract/profile.ts'
import { statedFurther, statedRequests, statedTokens } from '../../../src/observation/limit-scope.ts'

const contractOf = (limits: string) => parseProfile(`limits: ${limits}`, 'p.yaml')
const speaking = (dialect: DialectName) => contractOf(`{ dialect: ${dialect} }`)

describe('a dialect says where limits are stated', () => {
  const atMs = Date.parse('2026-08-01T12:00:30Z')
  const examples: Readonly<Record<Exclude<DialectName, 'none'>, Readonly<Record<string, string>>>> = {
    openai: {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
    },
    anthropic: {
      'anthropic-ratelimit-requests-limit': '60',
      'anthropic-ratelimit-requests-remaining': '59',
      'anthropic-ratelimit-requests-reset': '2026-08-01T12:00:30Z',
    },
    ietf: { 'ratelimit-policy': '"default";q=60;w=60', ratelimit: '"default";r=59;t=1' },
    draft7: { ratelimit: 'limit=60, remaining=59, reset=1' },
    envoy: { 'x-ratelimit-limit': '60, 60;w=60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '1' },
    kong: { 'ratelimit-limit': '60', 'ratelimit-remaining': '59', 'ratelimit-reset': '1' },
    litellm: { 'x-ratelimit-api_key-limit-requests': '60', 'x-ratelimit-api_key-remaining-requests': '59' },
    github: { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': String(atMs / 1000) },
    openrouter: { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': String(atMs) },
    azure: { 'x-ratelimit-remaining-requests': '59' },
  }
  const absent: Readonly<Partial<Record<DialectName, object>>> = {
    litellm: { reset: null },
    azure: { limit: null, reset: null },
  }

  test.each(Object.entries(examples))('%s', (name, headers) => {
    const contract = speaking(name as DialectName)
    const { requests } = limitHeadersOf(contract.limits)
    const reset = statesWait(requests) ? 1_000 : atMs
    expect(statedRequests(headers, contract)).toEqual({
      limit: 60,
      remaining: 59,
      reset,
      ...absent[name as DialectName],
    })
  })

  test('none states nothing, and no wait', () => {
    const contract = speaking('none')
    expect(statedRequests(examples.openai, contract)).toEqual({ limit: null, remaining: null, reset: null })
    expect(statedWait(limitHeadersOf(contract.limits), { 'retry-after': '1' })).toBeNull()
  })

  test('tokens have headers of their own', () => {
    const headers = { 'anthropic-ratelimit-tokens-remaining': '7', 'x-ratelimit-remaining-tokens': '8' }
    const remaining = (name: DialectName) => statedTokens(headers, speaking(name)).remaining
    expect(dialectNames.map(name => [name, remaining(name)])).toEqual([
      ['openai', 8],
      ['anthropic', 7],
      ['ietf', null],
      ['draft7', null],
      ['envoy', null],
      ['kong', null],
      ['litellm', null],
      ['github', null],
      ['openrouter', null],
      ['azure', 8],
      ['none', null],
    ])
  })

  test('without one, the headers are those of the document', () => {
    const headers = { 'x-ratelimit-reset-requests': '1785585600', 'x-ratelimit-reset-tokens': '60' }
    expect(statedRequests(headers, documentedContract).reset).toBe(1_785_585_600_000)
    expect(statedTokens(headers, documentedContract).reset).toBe(60_000)
    expect(limitHeadersOf(documentedContract.limits)).toMatchObject({ isDocumented: true, retryAfter: 'none' })
  })
})

describe('each form is read as it is, and nothing else', () => {
  const read = (form: string, text: string, key = '') => {
    const at = `{ header: X-Own, form: ${form}${key && `, member: ${key}`} }`
    const name = ['number', 'list', 'field-number'].includes(form) ? 'requests-limit' : 'requests-reset'
    const { requests } = limitHeadersOf(contractOf(`{ dialect: none, headers: { ${name}: ${at} } }`).limits)
    return readStatement(requests.limit ?? requests.reset, { 'x-own': text })
  }

  test.each([
    ['number', '60', 60],
    ['number', '60;w=1', null],
    ['list', '10, 10;w=60', 10],
    ['list', '10;w=60', 10],
    ['list', 'ten, 10', null],
    ['seconds', '12.5', 12_500],
    ['seconds', '-1', null],
    ['seconds', '1s', null],
    ['duration', '6m0s', 360_000],
    ['duration', '1h2m3s', 3_723_000],
    ['duration', '120ms', 120],
    ['duration', '2m59.56s', 179_560],
    ['duration', '0s', 0],
    ['duration', '', null],
    ['duration', '60', null],
    ['duration', '1s1m', null],
    ['unix-seconds', '1785585600', 1_785_585_600_000],
    ['unix-milliseconds', '1785585600000', 1_785_585_600_000],
    ['date-time', '2026-08-01T12:00:00Z', Date.parse('2026-08-01T12:00:00Z')],
    ['date-time', '2026-08-01T14:00:00.5+02:00', Date.parse('2026-08-01T12:00:00.5Z')],
    ['date-time', '2026-08-01', null],
    ['date-time', '2026-13-01T12:00:00Z', null],
  ])('%s: %s', (form, text, expected) => {
    expect(read(form, text)).toBe(expected)
  })

  test.each([
    ['field-number', '"default";r=50;t=30', 'r', 50],
    ['field-number', '"default";r=50;t=30', 'q', null],
    ['field-number', 'limit=100, remaining=50, reset=30', 'remaining', 50],
    ['field-number', '"burst";q=100;w=60, "day";q=1000;w=86400', 'q', 100],
    ['field-seconds', '"default"; r=50; t=30', 't', 30_000],
    ['field-seconds', 'limit=100, remaining=50, reset=soon', 'reset', null],
  ])('%s: %s at %s', (form, text, key, expected) => {
    expect(read(form, text, key)).toBe(expected)
  })
})

test.each([
  ['seconds', { 'retry-after': '12' }, 12_000],
  ['seconds', { 'retry-after': 'Sat, 01 Aug 2026 12:00:30 GMT' }, null],
  ['ms', { 'retry-after-ms': '120' }, 120],
  ['ms', { 'retry-after': '12' }, null],
  ['http-date', { 'retry-after': 'Sat, 01 Aug 2026 12:00:30 GMT', date: 'Sat, 01 Aug 2026 12:00:00 GMT' }, 30_000],
  ['http-date', { 'retry-after': '12', date: 'Sat, 01 Aug 2026 12:00:00 GMT' }, null],
  ['none', { 'retry-after': '12' }, null],
] as const)('a wait in %s: %j', (form, headers, expected) => {
  expect(statedWait(limitHeadersOf(contractOf(`{ retryAfter: ${form} }`).limits), headers)).toBe(expected)
})

test('a profile states single headers over those of its dialect, in any case, and null for none', () => {
  const contract = contractOf(
    '{ dialect: github, headers: { requests-limit: { header: X-Quota, form: number }, requests-reset: null } }',
  )
  const headers = { 'x-quota': '9', 'x-ratelimit-limit': '8', 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '6' }
  expect(statedRequests(headers, contract)).toEqual({ limit: 9, remaining: 7, reset: null })
})

describe('a mistake is reported with its place and what is there', () => {
  const mistakes = (limits: string): readonly string[] => {
    try {
      contractOf(limits)
      return []
    } catch (error) {
      return String(error instanceof Error ? error.message : error).split('\n')
    }
  }

  test.each([
    ['{ dialect: opneai }', /p\.yaml:1:20: got "opneai", expected openai, .* or none; did you mean "openai"\?/],
    [
      '{ headers: { requests-limit: { header: x-own, form: duration } } }',
      /p\.yaml:1:61: got "duration", expected a form of the statement requests-limit: number, list, field-number/,
    ],
    [
      '{ headers: { requests-reset: { header: x-own, form: number } } }',
      /p\.yaml:1:61: got "number", expected a form of the statement requests-reset: seconds, field-seconds, duration/,
    ],
    [
      '{ headers: { requests-limit: { header: RateLimit, form: field-number } } }',
      /p\.yaml:1:38: got a mapping, expected a member, because the form is field-number/,
    ],
    [
      '{ headers: { requests-limit: { header: x-own, form: number, member: r } } }',
      /p\.yaml:1:77: got "r", expected no member, because the form is number/,
    ],
    [
      '{ dialect: github, headers: { tokens-limit: { header: X-RateLimit-Limit, form: number } } }',
      /p\.yaml:1:63: got "X-RateLimit-Limit", expected a header of its own: requests-limit and tokens-limit are both in x-ratelimit-limit/,
    ],
    [
      '{ dialect: none, headers: { requests-limit: { header: a, form: number }, requests-remaining: { header: A, form: number } } }',
      /p\.yaml:1:112: got "A", expected a header of its own/,
    ],
    [
      '{ headers: { request-limit: { header: a, form: number } } }',
      /p\.yaml:1:22: got "request-limit", expected one of the keys requests-limit, .*did you mean "requests-limit"/,
    ],
    [
      '{ further: { burst: { counts: seconds, amount: 1 } } }',
      /got "seconds", expected requests, tokens, input-tokens/,
    ],
    [
      '{ dialect: anthropic, further: { a: { counts: input-tokens, amount: 1 }, b: { counts: input-tokens, amount: 2 } } }',
      /expected a header of its own: a is in anthropic-ratelimit-input-tokens-limit, too/,
    ],
    [
      '{ further: { a: { counts: requests, amount: 1, headers: { reset: { header: x, form: number } } } } }',
      /expected a form of the statement reset: seconds/,
    ],
    [
      '{ further: { compute: { counts: requests, amount: 1, units: { eth_call: 26 } } } }',
      /p\.yaml:1:69: got a mapping, expected also the units of default, for every other method/,
    ],
    [
      '{ further: { compute: { counts: requests, amount: 1, units: { eth_call: few, default: 1 } } } }',
      /p\.yaml:1:81: got "few", expected /,
    ],
    [
      '{ further: { compute: { counts: tokens, amount: 1, units: { default: 1 } } } }',
      /p\.yaml:1:67: got a mapping, expected no units where tokens count/,
    ],
    ['{ retryAfter: minutes }', /got "minutes", expected seconds, http-date, ms or none/],
  ])('%s', (limits, mistake) => {
    expect(mistakes(limits).join('\n')).toMatch(mistake)
  })

  test('two statements may share a structured field', () => {
    expect(mistakes('{ dialect: ietf }')).toEqual([])
    const own = '{ header: RateLimit, form: field-number, member: q }'
    expect(mistakes(`{ dialect: ietf, headers: { requests-limit: ${own} } }`)).toEqual([])
  })
})

describe('of several policies in one header, that of the window counts', () => {
  const stated = (dialect: DialectName, headers: Readonly<Record<string, string>>, windowMs = 3_600_000) =>
    statedRequests(headers, contractOf(`{ dialect: ${dialect}, windowMs: ${windowMs} }`))

  test.each([
    ['100, 10;w=60, 100;w=3600', { limit: 100, remaining: 7, reset: 9_000 }],
    // The first number is that of the policy that applies.
    ['10, 10;w=60, 100;w=3600', { limit: 100, remaining: null, reset: null }],
    ['100, 100;w=3600', { limit: 100, remaining: 7, reset: 9_000 }],
  ])('%s', (limit, expected) => {
    const headers = { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '9' }
    expect(stated('envoy', headers)).toEqual(expected)
  })

  test.each([
    ['"hour";r=50;t=30', { limit: 100, remaining: 50, reset: 30_000 }],
    ['"burst";r=2;t=1, "hour";r=50;t=30', { limit: 100, remaining: 50, reset: 30_000 }],
    ['"burst";r=2;t=1', { limit: 100, remaining: null, reset: null }],
    ['"burst";r=0;t=1, "hour";r=50;t=30', { limit: 100, remaining: null, reset: null }],
  ])('%s', (ratelimit, expected) => {
    const headers = { 'ratelimit-policy': '"burst";q=10;w=1, "hour";q=100;w=3600', ratelimit }
    expect(stated('ietf', headers)).toEqual(expected)
  })

  test('without a policy of the window, the first one counts', () => {
    const headers = { 'ratelimit-policy': '"burst";q=10;w=1, "hour";q=100;w=3600', ratelimit: '"burst";r=2;t=1' }
    expect(stated('ietf', headers, 60_000)).toEqual({ limit: 10, remaining: 2, reset: 1_000 })
  })
})

describe('a further limit', () => {
  const stated = (limits: string, headers: Readonly<Record<string, string>>) =>
    furtherLimitsOf(contractOf(limits).limits).map(limit => statedFurther(headers, limit))

  test('has the headers of its kind of tokens in the dialect of Anthropic', () => {
    const headers = {
      'anthropic-ratelimit-input-tokens-limit': '40000',
      'anthropic-ratelimit-input-tokens-remaining': '39000',
      'anthropic-ratelimit-input-tokens-reset': '2026-08-01T12:00:30Z',
      'anthropic-ratelimit-tokens-remaining': '1',
    }
    const limit = '{ dialect: anthropic, further: { input: { counts: input-tokens, amount: 40000 } } }'
    expect(stated(limit, headers)).toEqual([
      { limit: 40_000, remaining: 39_000, reset: Date.parse('2026-08-01T12:00:30Z') },
    ])
    expect(stated(limit.replace('anthropic', 'kong'), headers)).toEqual([{ limit: null, remaining: null, reset: null }])
  })

  test('is the policy of its name in a structured field', () => {
    const limit = '{ dialect: ietf, further: { burst: { counts: requests, amount: 10, windowMs: 1000 } } }'
    const policy = { 'ratelimit-policy': '"burst";q=10;w=1, "daily";q=1000;w=86400' }
    const both = { ...policy, ratelimit: '"daily";r=990;t=86000, "burst";r=9;t=1' }
    expect(stated(limit, both)).toEqual([{ limit: 10, remaining: 9, reset: 1_000 }])
    const other = { ...policy, ratelimit: '"daily";r=990;t=86000' }
    expect(stated(limit, other)).toEqual([{ limit: 10, remaining: null, reset: null }])
  })
})

test('a policy that counts something else is not that of requests', () => {
  const contract = speaking('ietf')
  const ietf = (policy: string, ratelimit: string) =>
    statedRequests({ 'ratelimit-policy': policy, ratelimit }, contract)
  const requests = '"default";q=100;w=60'
  const tokens = '"tokens";q=10000;w=60;qu="tokens"'
  const all = { limit: 100, remaining: 99, reset: 30_000 }
  expect(ietf(`${tokens}, ${requests}`, '"tokens";r=9000;t=20, "default";r=99;t=30')).toEqual(all)
  expect(ietf(`${requests};qu="requests", ${tokens}`, '"default";r=99;t=30')).toEqual(all)
  // The tightest policy is the one of tokens, so that of requests is not stated.
  expect(ietf(`${requests}, ${tokens}`, '"tokens";r=0;t=20')).toEqual({ limit: 100, remaining: null, reset: null })
  expect(ietf(tokens, '"tokens";r=0;t=20')).toEqual({ limit: null, remaining: null, reset: null })
  expect(ietf('"a,b;c";q=5;w=1, "default";q=100;w=60', '"a,b;c";r=4;t=1, "default";r=99;t=30')).toEqual(all)
})
