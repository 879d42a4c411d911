import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { credentials, loadCallers } from '../../../src/callers/callers.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import type { CallersPlan } from '../../../src/plan/plan.ts'

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
  readonly runId?: string
  readonly keysEach?: number
  readonly tier?: CallersPlan['accountTier']
}

const load = (
  count: number,
  { environment, keysFile, loopback = false, runId = 'run-1', tier = 'default', keysEach = 1 }: Given,
) =>
  loadCallers(
    {
      names: Array.from({ length: count }, (_, index) => `c${index}`),
      keysEach,
      accountTier: tier,
      shared: false,
      keysFile: keysFile ?? null,
    },
    { environment, loopback, runId },
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
    ['lines as Windows ends them', 'k1\r\nk2\r\nk3\r\n'],
    ['lines as old Macs ended them', 'k1\rk2\rk3'],
    ['both, and blanks around them', ' k1 ,\tk2\n\n  k3  ,, \n'],
    ['a byte order mark before them', '\ufeffk1\nk2\nk3'],
  ])('are separated by %s, in the environment as in a file', (_, text) => {
    expect(keysOf(3, { environment: text })).toEqual(['k1', 'k2', 'k3'])
    expect(keysOf(3, { keysFile: fileOf(text) })).toEqual(['k1', 'k2', 'k3'])
  })

  test('go to the callers in their order, and those that are left over to nobody', () => {
    expect(load(2, { environment: 'k1,k2,k3' })).toEqual([
      { name: 'c0', keys: ['k1'] },
      { name: 'c1', keys: ['k2'] },
    ])
  })

  test('of the file that the scenario names come before those of the environment', () => {
    expect(keysOf(1, { keysFile: fileOf('from-file'), environment: 'from-environment' })).toEqual(['from-file'])
  })

  test('that were given are used on this machine, too', () => {
    expect(keysOf(1, { environment: 'k1', loopback: true })).toEqual(['k1'])
  })

  test('become a bearer token', () => {
    expect(credentials({ name: 'c0', keys: ['k1', 'k2'] }, 0)).toEqual({ authorization: 'Bearer k1' })
    expect(credentials({ name: 'c0', keys: ['k1', 'k2'] }, 3)).toEqual({ authorization: 'Bearer k2' })
  })
})

describe('several keys of one account', () => {
  test('stand next to each other, and go to one caller', () => {
    expect(load(2, { environment: 'k1 k2, k3\tk4', keysEach: 2 })).toEqual([
      { name: 'c0', keys: ['k1', 'k2'] },
      { name: 'c1', keys: ['k3', 'k4'] },
    ])
  })

  test('that are left over are used by nobody', () => {
    expect(keysOf(2, { environment: 'k1 k2,k3' })).toEqual(['k1', 'k3'])
  })

  test('that are too few are a mistake', () => {
    expect(mistakesOf(2, { environment: 'k1 k2,k3', keysEach: 2 })).toBe(
      'TURNPIKE_KEYS: got 1 of account 2, expected 2 keys of each account, separated by spaces',
    )
  })

  test('are of one account of the reference service', () => {
    expect(keysOf(1, { loopback: true, keysEach: 2 })).toEqual(['ref_default_run1-c0', 'ref_default_run1-c0_2'])
  })
})

describe('without keys', () => {
  test('the callers of a target on this machine have accounts of the reference service, of this run alone', () => {
    expect(keysOf(2, { loopback: true, runId: '20260115T120000Z-a1b2c3', tier: 'partner' })).toEqual([
      'ref_partner_20260115T120000Za1b2c3-c0',
      'ref_partner_20260115T120000Za1b2c3-c1',
    ])
    const [one] = keysOf(1, { loopback: true, runId: 'run-1' })
    const [other] = keysOf(1, { loopback: true, runId: 'run-2' })
    expect(one).not.toBe(other)
  })

  test.each(['', '  \n '])('an environment of %j is as good as none', environment => {
    expect(keysOf(1, { environment, loopback: true })).toEqual(['ref_default_run1-c0'])
  })

  test('any other target is refused, with the name of the variable that is missing', () => {
    expect(mistakesOf(3, {})).toBe('TURNPIKE_KEYS: got nothing, expected 3 keys, one a line or separated by commas')
  })

  test('in the file that the scenario names, a target is refused even on this machine', () => {
    const keysFile = fileOf('\n\n')
    const mistake = `${keysFile}: got 0 keys, expected 2, one for each caller of the scenario`
    expect(mistakesOf(2, { keysFile, loopback: true })).toBe(mistake)
  })
})

describe('a mistake in the keys', () => {
  test('is told when they are too few', () => {
    const mistake = 'TURNPIKE_KEYS: got 2 keys, expected 3, one for each caller of the scenario'
    expect(mistakesOf(3, { environment: 'k1,k2' })).toBe(mistake)
  })

  test('is told when one comes twice, even among those left over', () => {
    expect(mistakesOf(1, { environment: 'k1,k2,k2' })).toBe(
      'TURNPIKE_KEYS: got a key twice, expected one key for each caller',
    )
  })

  test.each([
    ['a letter beyond ASCII', 'k1,sécret'],
    ['a control character', 'k1,se\u0007cret'],
    ['a delete', 'k1,se\u007fcret'],
  ])('is told, with its place, when %s cannot stand in a header', (_, environment) => {
    const mistake = 'TURNPIKE_KEYS: got a special character in key 2, expected a plain key'
    expect(mistakesOf(2, { environment })).toBe(mistake)
  })

  test('is told with the others', () => {
    expect(mistakesOf(9, { environment: 'aé,c,c' }).split('\n')).toHaveLength(3)
  })

  test('is told when the file cannot be read', () => {
    const keysFile = join(directory, 'absent.txt')
    expect(mistakesOf(1, { keysFile })).toBe(`${keysFile}: got ENOENT, expected a readable file of keys`)
    expect(mistakesOf(1, { keysFile: directory })).toContain('EISDIR')
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
