import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { documented } from '../../../src/contract/documented.ts'
import { loadProfile } from '../../../src/contract/profile.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'

const directory = mkdtempSync(join(tmpdir(), 'turnpike-profile-'))
afterAll(() => rmSync(directory, { recursive: true }))

const file = join(directory, 'p.yaml')

function load(text: string) {
  writeFileSync(file, text)
  return loadProfile(file)
}

/** What is said about a profile, without the name of its file. */
function mistakesOf(text: string): readonly string[] {
  try {
    load(text)
  } catch (cause) {
    if (cause instanceof UsageError) return cause.message.split('\n').map(line => line.replace(file, 'p.yaml'))
    throw cause
  }
  return expect.fail('there was no mistake')
}

describe('a profile', () => {
  test.each(['', '# nothing\n', '{}', 'null'])('that says nothing is the documented contract: %j', text => {
    expect(load(text)).toEqual(documented)
  })

  test('changes the value that it names and no other', () => {
    const contract = load('rpc: { multipliers: { large: 8 } }')
    expect(contract.rpc.multipliers).toEqual({ standard: 1, advanced: 2, large: 8 })
    expect({ ...contract, rpc: documented.rpc }).toEqual(documented)
  })

  test('adds to tables, as to those of networks and methods', () => {
    const { rpc } = load(
      'rpc: { networks: { sui-mainnet: { baseCredits: 25, family: evm } }, methods: { evm: { eth_new: large } } }',
    )
    expect(Object.keys(rpc.networks)).toHaveLength(Object.keys(documented.rpc.networks).length + 1)
    expect(rpc.methods.evm).toEqual({ ...documented.rpc.methods.evm, eth_new: 'large' })
  })

  test('replaces a list as a whole', () => {
    const model = '{ id: own, name: Own, tier: S, maxCompletionTokens: 10, usdPerMillion: null }'
    expect(load(`models: [${model}]`).models.map(({ id }) => id)).toEqual(['own'])
  })

  test('can leave a value open where the contract can', () => {
    expect(load('rpc: { singleErrorIsDiscounted: false }').rpc.singleErrorIsDiscounted).toBe(false)
    expect(load('rpc: { singleErrorIsDiscounted: null }').rpc.singleErrorIsDiscounted).toBeNull()
  })

  test('may repeat itself by anchors', () => {
    const { accounts } = load('accounts: { default: { XS: &x { requestsPerMinute: 1, tokensPerMinute: 2 }, S: *x } }')
    expect(accounts.default.S).toEqual({ requestsPerMinute: 1, tokensPerMinute: 2 })
  })

  test('leaves the documented contract as it was', () => {
    const before = JSON.stringify(documented)
    load('name: other\nlimits: { windowMs: 1000 }')
    expect(JSON.stringify(documented)).toBe(before)
  })
})

describe('a mistake in a profile', () => {
  test.each([
    ['limits: { windowMs: soon }', 'p.yaml: limits.windowMs: got "soon", expected number'],
    ['limits: { windowMs: -1 }', 'p.yaml: limits.windowMs: got -1, expected Too small: expected number to be >=0'],
    [
      'limits: { requestsReset: never }',
      'p.yaml: limits.requestsReset: got "never", expected unix-seconds or unix-milliseconds',
    ],
    ['rpc: { usdPerCredit: 0.1 }', 'p.yaml: rpc.usdPerCredit: got 0.1, expected string'],
    [
      'rpc: { usdPerCredit: "1e-7" }',
      'p.yaml: rpc.usdPerCredit: got "1e-7", expected a decimal in quotes, such as "0.000000625"',
    ],
    ['accounts: null', 'p.yaml: accounts: got null, expected object'],
    ['models: [{ id: own }]', 'p.yaml: models.0.name: got nothing, expected string'],
    ['- a', 'p.yaml: got ["a"], expected object'],
    [
      'rpc: { batchLimitt: 3 }',
      'p.yaml: rpc.batchLimitt: got 3, expected a key of the contract; did you mean "batchLimit"?',
    ],
    ['nothing-like-it: 1', 'p.yaml: nothing-like-it: got 1, expected a key of the contract'],
    ['__proto__: { name: own }', 'p.yaml: __proto__: got {"name":"own"}, expected a key of the contract'],
    ['constructor: 3', 'p.yaml: constructor: got 3, expected a key of the contract'],
  ])('is told with its key: %s', (text, mistake) => {
    expect(mistakesOf(text)[0]).toBe(mistake)
  })

  test('is told with all the others', () => {
    expect(mistakesOf('rpcc: 1\nnamee: 2\nlimits: { windowMs: a, tokenHeaders: b }')).toEqual([
      'p.yaml: limits.windowMs: got "a", expected number',
      'p.yaml: limits.tokenHeaders: got "b", expected boolean',
      'p.yaml: rpcc: got 1, expected a key of the contract; did you mean "rpc"?',
      'p.yaml: namee: got 2, expected a key of the contract; did you mean "name"?',
    ])
  })

  test.each([
    ['a: [1\nb: 2', /^p\.yaml:2:1: got invalid YAML, expected a profile; Flow sequence/],
    ['name: a\nname: b', /^p\.yaml:2:1: got invalid YAML, expected a profile; Map keys must be unique/],
    ['name: a\n---\nname: b', /^p\.yaml:2:1: got invalid YAML, expected a profile; .*multiple documents/],
    ['name: *nobody', /^p\.yaml: got invalid YAML, expected a profile; Unresolved alias/],
    [`a: ${'['.repeat(2_000)}`, /got invalid YAML, expected a profile/],
  ])('of YAML is told in one line, and is no fault of ours: %#', (text, mistake) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(mistake)])
  })

  test('that would fill the memory is told instead', () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const items =
        level === 0
          ? '1,1,1,1,1,1,1,1,1'
          : Array(9)
              .fill(`*l${level - 1}`)
              .join(',')
      return `l${level}: &l${level} [${items}]`
    })
    expect(mistakesOf(levels.join('\n'))).toEqual([expect.stringContaining('Excessive alias count')])
  })

  test('of its name is told', () => {
    const absent = join(directory, 'absent.yaml')
    expect(() => loadProfile(absent)).toThrow(/absent\.yaml: got ENOENT.*, expected a readable profile \(YAML\)/)
    expect(() => loadProfile(directory)).toThrow(/EISDIR/)
  })
})
