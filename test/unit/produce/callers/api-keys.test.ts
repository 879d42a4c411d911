import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isLoopback } from '../../../../src/lib/loopback.ts'
import { UsageError } from '../../../../src/lib/usage-error.ts'
import type { CallersPlan, Plan } from '../../../../src/plan/plan.ts'
import {
  assertMaySendKeys,
  loadCallers,
  loadKeys,
  loadSpecialKeys,
  plainTextWarning,
} from '../../../../src/produce/callers/api-keys.ts'
import { aPlan } from '../../judge/metrics/fixtures.ts'

const directory = mkdtempSync(join(tmpdir(), 'turnpike-keys-'))
afterAll(() => rmSync(directory, { recursive: true }))

let files = 0
function fileOf(text: string): string {
  const file = join(directory, `keys-${files++}.txt`)
  writeFileSync(file, text)
  return file
}

type Given = {
  readonly environment?: string
  readonly keysFile?: string
  readonly loopback?: boolean
  readonly areOptional?: boolean
  readonly runId?: string
  readonly keysEach?: number
  readonly tier?: CallersPlan['accountTier']
}

const load = (
  count: number,
  {
    environment,
    keysFile,
    loopback = false,
    areOptional = false,
    runId = 'run-1',
    tier = 'default',
    keysEach = 1,
  }: Given,
) =>
  loadCallers(
    {
      names: Array.from({ length: count }, (_, index) => `c${index}`),
      keysEach,
      wallets: null,
      accountTier: tier,
      shared: false,
      keysFile: keysFile ?? null,
    },
    { environment, loopback, areOptional, runId },
  )

const keysOf = (count: number, given: Given) => load(count, given).flatMap(({ keys }) => keys)

function mistakesOf(count: number, given: Given): string {
  try {
    load(count, given)
  } catch (cause) {
    if (cause instanceof UsageError) return cause.message
    throw cause
  }
  return expect.fail('there was no mistake')
}

describe('keys', () => {
  test.each([
    ['commas', 'k1,k2,k3'],
    ['lines', 'k1\nk2\nk3'],
    ['lines with CRLF', 'k1\r\nk2\r\nk3\r\n'],
    ['lines with CR', 'k1\rk2\rk3'],
    ['lines and commas, with spaces', ' k1 ,\tk2\n\n  k3  ,, \n'],
    ['a byte order mark at the start', '\ufeffk1\nk2\nk3'],
  ])('are separated by %s, in the environment as in a file', (_, text) => {
    expect(keysOf(3, { environment: text })).toEqual(['k1', 'k2', 'k3'])
    expect(keysOf(3, { keysFile: fileOf(text) })).toEqual(['k1', 'k2', 'k3'])
  })

  test('go to the callers in order, and surplus keys are unused', () => {
    expect(load(2, { environment: 'k1,k2,k3' })).toEqual([
      { kind: 'key', name: 'c0', keys: ['k1'] },
      { kind: 'key', name: 'c1', keys: ['k2'] },
    ])
  })

  test('from the key file take precedence over the environment', () => {
    expect(keysOf(1, { keysFile: fileOf('from-file'), environment: 'from-environment' })).toEqual(['from-file'])
  })

  test('are used even if the target is on this machine', () => {
    expect(keysOf(1, { environment: 'k1', loopback: true })).toEqual(['k1'])
  })
})

describe('several keys of one account', () => {
  test('are on one line, and go to one caller', () => {
    expect(load(2, { environment: 'k1 k2, k3\tk4', keysEach: 2 })).toEqual([
      { kind: 'key', name: 'c0', keys: ['k1', 'k2'] },
      { kind: 'key', name: 'c1', keys: ['k3', 'k4'] },
    ])
  })

  test('that are surplus are unused', () => {
    expect(keysOf(2, { environment: 'k1 k2,k3' })).toEqual(['k1', 'k3'])
  })

  test('are a mistake if there are too few', () => {
    expect(mistakesOf(2, { environment: 'k1 k2,k3', keysEach: 2 })).toBe(
      'TURNPIKE_KEYS: got 1 of account 2, expected 2 keys of each account, separated by spaces',
    )
  })

  test('belong to one account of the reference service', () => {
    expect(keysOf(1, { loopback: true, keysEach: 2 })).toEqual(['ref_default_run1-c0', 'ref_default_run1-c0_2'])
  })
})

describe('without keys', () => {
  test('callers of a target on this machine get new accounts of the reference service', () => {
    expect(keysOf(2, { loopback: true, runId: '20260115T120000Z-a1b2c3', tier: 'partner' })).toEqual([
      'ref_partner_20260115T120000Za1b2c3-c0',
      'ref_partner_20260115T120000Za1b2c3-c1',
    ])
    const [one] = keysOf(1, { loopback: true, runId: 'run-1' })
    const [other] = keysOf(1, { loopback: true, runId: 'run-2' })
    expect(one).not.toBe(other)
  })

  test.each(['', '  \n '])('an environment of %j counts as empty', environment => {
    expect(keysOf(1, { environment, loopback: true })).toEqual(['ref_default_run1-c0'])
  })

  test.each([true, false])('callers have none where keys are optional (on this machine: %s)', loopback => {
    expect(load(2, { loopback, areOptional: true })).toEqual([
      { kind: 'key', name: 'c0', keys: [] },
      { kind: 'key', name: 'c1', keys: [] },
    ])
    expect(keysOf(1, { loopback, areOptional: true, environment: 'k1' })).toEqual(['k1'])
  })

  test('any other target is an error that names the missing variable', () => {
    expect(mistakesOf(3, {})).toBe('TURNPIKE_KEYS: got nothing, expected 3 keys, one per line or separated by commas')
  })

  test('an empty key file is an error even for a target on this machine', () => {
    const keysFile = fileOf('\n\n')
    const mistake = `${keysFile}: got 0 keys, expected 2, one for each caller of the scenario; `
    expect(mistakesOf(2, { keysFile, loopback: true })).toContain(mistake)
  })
})

describe('a mistake in the keys', () => {
  test('is reported if there are too few', () => {
    const mistake = 'TURNPIKE_KEYS: got 2 keys, expected 3, one for each caller of the scenario; '
    expect(mistakesOf(3, { environment: 'k1,k2' })).toContain(mistake)
  })

  test('is reported if a key is repeated, even a surplus one', () => {
    expect(mistakesOf(1, { environment: 'k1,k2,k2' })).toBe(
      'TURNPIKE_KEYS: got a key twice, expected one key for each caller',
    )
  })

  test.each([
    ['a character outside ASCII', 'k1,sécret'],
    ['a character outside ASCII', 'k1,se\u200bcret'],
    ['a character outside ASCII', 'k1\nse\ufeffcret'],
    ['a control character', 'k1,se\u0007cret'],
    ['a control character', 'k1,se\u007fcret'],
    ['a quotation mark', `k1,'secret'`],
    ['a quotation mark', 'k1,"secret"'],
    ['a backslash', 'k1,sec\\nret'],
    ['the word Bearer or Authorization', 'k1,Bearer secret'],
    ['the word Bearer or Authorization', 'k1,Authorization: Bearer secret'],
    ['the name of a variable', 'k1\nexport TURNPIKE_KEYS=secret'],
    ['a placeholder', 'k1,<secret>'],
    ['a placeholder', 'k1,$SECRET'],
    ['a bracket', 'k1,["secret"]'],
    ['a comment', 'k1\n# secret'],
    ['more than 8192 characters', `k1,${'secret1'.repeat(1_200)}`],
  ])('is told, with its place: %s in %j', (what, environment) => {
    const rest = `got ${what} in key 2, expected each key as it was issued, one per line or separated by commas`
    expect(mistakesOf(2, { environment })).toBe(`TURNPIKE_KEYS: ${rest}`)
    const keysFile = fileOf(environment)
    expect(mistakesOf(2, { keysFile })).toBe(`${keysFile}: ${rest}`)
  })

  test('is reported with all others', () => {
    expect(mistakesOf(9, { environment: 'a,c,c' }).split('\n')).toHaveLength(2)
  })

  test.each([
    ['sk-secret-1,sk-sec\nret-2', 2],
    ['sk-sec\rret', 1],
    ['ref_default_ann\nbob', 1],
    ['acme_sec\nret', 1],
  ])('is reported if a line break cuts a key: %j', (environment, count) => {
    const cut = environment.split(/[,\n\r]/).length - 1
    expect(mistakesOf(count, { environment })).toBe(
      `TURNPIKE_KEYS: got key ${cut + 1} without the prefix of key ${cut}, expected each key as it was issued, one per line or separated by commas; is there a line break in key ${cut}?`,
    )
  })

  test.each([
    ['keys of any kind, one for each caller', 'sk-one,two', 2],
    ['surplus keys of one issuer', 'sk-one,sk-two,sk-three', 1],
    ['surplus keys without a prefix', '1f9Za,k2,77', 1],
    ['surplus keys with names', 'ann-1,bob-2,christine-3', 1],
    ['quotes, brackets and signs inside, or at the end', 'a"b\'c,d[e]f>g<h&i>"', 2],
    ['Base64', 'QUJD+/==,REVG==', 2],
    ['a number and a bar', '12|abcDEF', 1],
  ])('is not seen in %s', (_, environment, count) => {
    expect(keysOf(count, { environment })).toEqual(environment.split(',').slice(0, count))
  })

  test('is reported if the file cannot be read', () => {
    const keysFile = join(directory, 'absent.txt')
    expect(mistakesOf(1, { keysFile })).toBe(`${keysFile}: got no such file, expected a readable file of keys`)
    expect(mistakesOf(1, { keysFile: directory })).toContain('got a directory')
  })

  test.each([
    ['sk-secret-1,sk-secret-1', 1],
    ['sk-secret-1', 2],
    ['sk-secrét-1', 1],
    ['sk-secret-1\u0000,sk-secret-1\u0000', 5],
  ])('never shows a key: %j', (environment, count) => {
    expect(mistakesOf(count, { environment })).not.toContain('secret')
    expect(mistakesOf(count, { keysFile: fileOf(environment) })).not.toContain('secret')
  })
})

describe('keys of special accounts', () => {
  const plan: CallersPlan = {
    names: ['c0'],
    keysEach: 1,
    wallets: null,
    accountTier: 'partner',
    shared: false,
    keysFile: null,
  }
  const source = { environment: undefined, loopback: true, areOptional: false, runId: 'run-1' }
  const none = { 'free-user': null, 'zero-balance': null }

  test('are used if they are given', () => {
    const given = { 'free-user': ' k1 ', 'zero-balance': 'k2' }
    expect(loadSpecialKeys(given, plan, { ...source, loopback: false })).toEqual({
      'free-user': 'k1',
      'zero-balance': 'k2',
    })
  })

  test('of a reference service are new accounts of this run', () => {
    expect(loadSpecialKeys({}, plan, source)).toEqual({
      'free-user': 'ref_free-user_run1',
      'zero-balance': 'ref_zero-balance_run1',
    })
  })

  test('of any other service are null unless they are given', () => {
    expect(loadSpecialKeys({}, plan, { ...source, loopback: false })).toEqual(none)
    expect(loadSpecialKeys({}, plan, { ...source, environment: 'k1' })).toEqual(none)
    expect(loadSpecialKeys({}, { ...plan, keysFile: 'keys.txt' }, source)).toEqual(none)
  })

  test('are a mistake if they are invalid in a header, and are not shown', () => {
    expect(() => loadSpecialKeys({ 'zero-balance': 'se cret' }, plan, source)).toThrow('TURNPIKE_ZERO_BALANCE_KEY')
    expect(() => loadSpecialKeys({ 'zero-balance': 'se cret' }, plan, source)).not.toThrow('cret')
  })
})

describe('the keys of a run', () => {
  const { callers } = aPlan()
  const remote = aPlan({ target: 'https://api.example.com', callers })
  const keysAt = (target: string | null, required = true) =>
    loadKeys({ ...remote, target }, { auth: { required } }, 'run-1')

  beforeEach(() => {
    vi.stubEnv('TURNPIKE_KEYS', 'k1')
    vi.stubEnv('TURNPIKE_FREE_USER_KEY', 'k2')
    vi.stubEnv('TURNPIKE_ZERO_BALANCE_KEY', undefined)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  test.each(['https://api.example.com', 'http://127.0.0.1:8402'])('against %s come from the environment', target => {
    expect(keysAt(target)).toEqual({
      given: ['k1'],
      callers: [{ kind: 'key', name: 'c0', keys: ['k1'] }],
      specialKeys: { 'free-user': 'k2', 'zero-balance': null },
      areInvented: false,
    })
  })

  test('are all hidden that a caller uses, and of the others a hundred', () => {
    const keys = Array.from({ length: 3_000 }, (_, index) => `key-${index}`)
    vi.stubEnv('TURNPIKE_KEYS', keys.join(','))
    const hiddenOf = (names: readonly string[]) =>
      loadKeys({ ...remote, callers: { ...callers, names } }, { auth: { required: true } }, 'run').given
    expect(hiddenOf(['c0'])).toEqual(keys.slice(0, 101))
    expect(hiddenOf(keys.slice(0, 2_500))).toEqual(keys.slice(0, 2_600))
  })

  test('against its own reference service are accounts of that service', () => {
    expect(keysAt(null)).toEqual({
      given: [],
      callers: [{ kind: 'key', name: 'c0', keys: ['ref_default_run1-c0'] }],
      specialKeys: { 'free-user': 'ref_free-user_run1', 'zero-balance': 'ref_zero-balance_run1' },
      areInvented: false,
    })
  })

  test('are optional against a reference service on this machine', () => {
    vi.stubEnv('TURNPIKE_KEYS', undefined)
    const callers = [{ kind: 'key', name: 'c0', keys: ['ref_default_run1-c0'] }]
    expect(keysAt('http://localhost:8402')).toMatchObject({ callers, areInvented: true })
    expect(() => keysAt('https://api.example.com')).toThrow('TURNPIKE_KEYS')
  })
})

describe('a target on this machine', () => {
  test.each([
    'http://127.0.0.1:8402/api/v1',
    'https://127.0.0.1',
    'http://127.1.2.3',
    'http://127.255.255.254:1',
    'http://[::1]:8402',
    'http://[0:0:0:0:0:0:0:1]',
    'http://localhost:3000',
    'http://LOCALHOST',
    'http://127.1',
    'http://2130706433',
  ])('is %s', target => {
    expect(isLoopback(target)).toBe(true)
  })

  test.each([
    'http://127.0.0.1.evil.com',
    'http://localhost.evil.com',
    'http://evil.com/127.0.0.1',
    'http://127.0.0.1@evil.com',
    'http://evil.com?127.0.0.1',
    'http://evil.com#localhost',
    'http://0.0.0.0:8402',
    'http://[::]',
    'http://128.0.0.1',
    'http://10.0.0.1',
    'http://192.168.1.2',
    'http://169.254.169.254',
    'http://[fe80::1]',
    'http://[::ffff:10.0.0.1]',
    'http://localhosts',
    'http://my-localhost',
    'http://127-0-0-1.example',
    'https://api.example.com/api/v1',
  ])('is not %s', target => {
    expect(isLoopback(target)).toBe(false)
  })
})

describe('keys for the target of a scenario', () => {
  const planAt = (target: string | null) => ({ target, scenario: 's' }) as Plan

  test.each(['https://evil.example/api/v1', 'http://localhost.evil.com', 'http://0.0.0.0:1', 'http://10.0.0.1'])(
    'are not sent to %s unless the command line names it',
    target => {
      expect(() => assertMaySendKeys(planAt(target), null)).toThrow(`to allow it, add --target ${target}`)
      expect(() => assertMaySendKeys(planAt(target), target)).not.toThrow()
    },
  )

  test.each([null, 'http://localhost:1', 'http://127.1.2.3', 'http://[::ffff:127.0.0.1]:80', 'http://2130706433'])(
    'may be sent to %s',
    target => {
      expect(() => assertMaySendKeys(planAt(target), null)).not.toThrow()
    },
  )

  test('are announced where they cross a network unencrypted', () => {
    expect(plainTextWarning(planAt('http://10.0.0.1:8000/v1'))).toMatch(
      /^Keys are sent to 10\.0\.0\.1:8000 unencrypted/,
    )
    for (const target of [null, 'https://10.0.0.1', 'http://127.0.0.1:8000'])
      expect(plainTextWarning(planAt(target))).toBeNull()
  })
})
