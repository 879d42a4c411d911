import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { documentedContract } from '../../../src/contract/documented.ts'
import { loadProfile, profileJsonSchema, profileValues, recordedContract } from '../../../src/contract/profile.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'

const directory = mkdtempSync(join(tmpdir(), 'turnpike-profile-'))
afterAll(() => rmSync(directory, { recursive: true }))

const file = join(directory, 'p.yaml')

function load(text: string) {
  writeFileSync(file, text)
  return loadProfile(file)
}

/** The mistakes of a profile, without its file name. */
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
  test.each(['', '# nothing\n', '{}', 'null'])('without content is the documented contract: %j', text => {
    expect(load(text)).toEqual(documentedContract)
  })

  test('changes only the values that it sets', () => {
    const contract = load('rpc: { multipliers: { large: 8 } }')
    expect(contract.rpc.multipliers).toEqual({ standard: 1, advanced: 2, large: 8 })
    const sources = { 'rpc.multipliers.large': 'profile' }
    expect({ ...contract, rpc: documentedContract.rpc }).toEqual({ ...documentedContract, sources })
  })

  test('adds to tables such as networks and methods', () => {
    const { rpc } = load(
      'rpc: { networks: { sui-mainnet: { baseCredits: 25, family: evm } }, methods: { evm: { eth_new: large } } }',
    )
    expect(Object.keys(rpc.networks)).toHaveLength(Object.keys(documentedContract.rpc.networks).length + 1)
    expect(rpc.methods.evm).toEqual({ ...documentedContract.rpc.methods.evm, eth_new: 'large' })
  })

  test('removes an entry of a table with null, and prints as one that does', () => {
    const contract = load('wallets: { rails: { solana: null } }\nrpc: { methods: { evm: { eth_call: null } } }')
    expect(Object.keys(contract.wallets.rails)).toEqual(['base'])
    expect(contract.rpc.methods.evm).not.toHaveProperty('eth_call')
    expect(load(JSON.stringify(profileValues(contract))).wallets).toEqual(contract.wallets)
    expect(() => load('wallets: { rails: { none: null } }')).toThrow(/expected object/)
  })

  test('replaces a list as a whole', () => {
    const model = '{ id: own, name: Own, tier: S, maxCompletionTokens: 10, usdPerMillion: null }'
    expect(load(`models: [${model}]`).models.map(({ id }) => id)).toEqual(['own'])
  })

  test('can set a value to null where the contract allows it', () => {
    expect(load('rpc: { singleErrorIsDiscounted: false }').rpc.singleErrorIsDiscounted).toBe(false)
    expect(load('rpc: { singleErrorIsDiscounted: null }').rpc.singleErrorIsDiscounted).toBeNull()
  })

  test('may use anchors', () => {
    const { accounts } = load('accounts: { default: { XS: &x { requestsPerMinute: 1, tokensPerMinute: 2 }, S: *x } }')
    expect(accounts.default.S).toEqual({ requestsPerMinute: 1, tokensPerMinute: 2 })
  })

  test('leaves the documented contract as it was', () => {
    const before = JSON.stringify(documentedContract)
    load('name: other\nlimits: { windowMs: 1000 }')
    expect(JSON.stringify(documentedContract)).toBe(before)
  })
})

describe('a mistake in a profile', () => {
  test.each([
    ['limits: { windowMs: soon }', 'p.yaml:1:21: got "soon", expected number'],
    ['limits: { windowMs: -1 }', 'p.yaml:1:21: got -1, expected Too small: expected number to be >=0'],
    [
      'limits: { requestsReset: unix-second }',
      'p.yaml:1:26: got "unix-second", expected unix-seconds or unix-milliseconds; did you mean "unix-seconds"?',
    ],
    ['rpc: { usdPerCredit: 0.1 }', 'p.yaml:1:22: got 0.1, expected string'],
    [
      'rpc: { usdPerCredit: "1e-7" }',
      'p.yaml:1:22: got "1e-7", expected a decimal in quotes with at most 12 decimals, such as "0.000000625"',
    ],
    [
      'rpc: { usdPerCredit: "0.0000000000001" }',
      'p.yaml:1:22: got "0.0000000000001", expected a decimal in quotes with at most 12 decimals, such as "0.000000625"',
    ],
    [
      'wallets: { topUp: { minimumUsd: "0.0000000000001" } }',
      'p.yaml:1:33: got "0.0000000000001", expected a decimal in quotes with at most 12 decimals, such as "0.000000625"',
    ],
    [
      'auth: { header: content-type }',
      'p.yaml:1:17: got "content-type", expected the name of a header that Turnpike does not write itself',
    ],
    ['auth: { scheme: "a b" }', 'p.yaml:1:17: got "a b", expected a word such as "Bearer", or null'],
    [
      'requestHeaders: { x-tenant: { env: AWS_SECRET_ACCESS_KEY } }',
      'p.yaml:1:36: got "AWS_SECRET_ACCESS_KEY", expected a variable named TURNPIKE_HEADER_<NAME>',
    ],
    [
      'requestHeaders: { x-tenant: sk-proj-4f6a8d2c9e1b70354f6a8d2c }',
      'p.yaml:1:29: got a text that looks like a key, expected a text, or { env: TURNPIKE_HEADER_<NAME> } for a secret in that variable',
    ],
    [
      'requestHeaders: { host: a }',
      'p.yaml:1:19: got "host", expected the name of a header that Turnpike does not write itself',
    ],
    [
      'requestHeaders: { Authorization: { env: TURNPIKE_HEADER_A } }',
      'p.yaml:1:19: got "Authorization", expected another header than that of the key, auth.header',
    ],
    ['requestQuery: { "a b": "1" }', 'p.yaml:1:17: got "a b", expected the name of a parameter'],
    [
      `requestQuery: { version: sk-${'4f7Q'.repeat(8)} }`,
      'p.yaml:1:26: got a text that looks like a key, expected a text, or { env: TURNPIKE_QUERY_<NAME> } for a secret in that variable',
    ],
    [
      'requestQuery: { a: 1 }',
      'p.yaml:1:20: got 1, expected a text, or { env: TURNPIKE_QUERY_<NAME> } for a secret in that variable',
    ],
    [
      'requestQuery: { a: { env: TURNPIKE_HEADER_A } }',
      'p.yaml:1:27: got "TURNPIKE_HEADER_A", expected a variable named TURNPIKE_QUERY_<NAME>',
    ],
    [
      'billing: { balance: { pointer: /left } }',
      'p.yaml:1:32: got "/left", expected a path in balance.path, too, since a pointer is into its body',
    ],
    [
      'billing: { balance: { path: /credits, pointer: left } }',
      'p.yaml:1:48: got "left", expected a JSON pointer such as /data/credits',
    ],
    [
      'billing: { balance: { header: X-Left }, costHeader: x-left }',
      'p.yaml:1:53: got "x-left", expected another header than that of the balance',
    ],
    ['accounts: null', 'p.yaml:1:11: got an empty value, expected object'],
    ['models: [{ id: own }]', 'p.yaml:1:10: got no "name", expected string'],
    ['- a', 'p.yaml:1:1: got a list, expected object'],
    [
      'auth: { noKeys: [401] }',
      'p.yaml:1:9: got "noKeys", expected one of the keys required, noKey, header or scheme; did you mean "noKey"?',
    ],
    [
      'models:\n  - id: own\n    usdPerMillion:\n      inputt: "1"\n',
      'p.yaml:4:7: got "inputt", expected one of the keys input, output, cacheInput or cacheWrite; did you mean "input"?',
    ],
    [
      'limits: { windowMs: 1, windowMs: 2 }',
      'p.yaml:1:24: got a second "windowMs", expected each key once in its mapping',
    ],
    ['__proto__: { name: own }', 'p.yaml:1:1: got "__proto__", expected a name of letters, digits and hyphens'],
  ])('is reported with its line and column: %s', (text, mistake) => {
    expect(mistakesOf(text)).toContain(mistake)
  })

  test.each([
    [
      'nothing-like-it: 1',
      /^p\.yaml:1:1: got "nothing-like-it", expected one of the keys name, headerPrefix, .* or wallets$/,
    ],
    ['constructor: 3', /^p\.yaml:1:1: got "constructor", expected one of the keys /],
    [
      'api-key: sk-very-secret',
      /^p\.yaml:1:1: got the key "api-key", expected no secret in a profile; set TURNPIKE_KEYS/,
    ],
  ])('in a key is reported at the key: %s', (text, mistake) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(mistake)])
  })

  test('after an alias is reported at the anchor', () => {
    expect(mistakesOf('accounts:\n  default: { XS: &x { requestsPerMinute: 0, tokensPerMinute: 2 }, S: *x }')).toEqual([
      'p.yaml:2:42: got 0, expected Too small: expected number to be >0',
    ])
  })

  test('is reported together with all others, in the order of the file', () => {
    expect(mistakesOf('name: own\nrpcc: 1\nlimits:\n  windowMs: a\n  tokenHeaders: b\nnamee: 2')).toEqual([
      expect.stringMatching(/^p\.yaml:2:1: got "rpcc", expected one of the keys .*; did you mean "rpc"\?$/),
      'p.yaml:4:13: got "a", expected number',
      'p.yaml:5:17: got "b", expected boolean',
      expect.stringMatching(/^p\.yaml:6:1: got "namee", expected one of the keys .*; did you mean "name"\?$/),
    ])
  })

  test.each([
    ['a: [1\nb: 2', /^p\.yaml:2:1: got invalid YAML, expected a profile; Flow sequence/],
    ['name: a\n---\nname: b', /^p\.yaml:2:1: got invalid YAML, expected a profile; .*multiple documents/],
    ['name: *nobody', /^p\.yaml:1:7: got invalid YAML, expected a profile; there is no anchor &nobody before it$/],
    [`a: ${'['.repeat(2_000)}`, /got invalid YAML, expected a profile/],
    [`# ${'x'.repeat(1_048_576)}`, /^p\.yaml: got 1048578 bytes, more than 1048576, expected a readable profile/],
  ])('in the YAML syntax is reported in one line, without a crash: %#', (text, mistake) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(mistake)])
  })

  test('that would exhaust the memory is reported instead', () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const items =
        level === 0
          ? '1,1,1,1,1,1,1,1,1'
          : Array(9)
              .fill(`*l${level - 1}`)
              .join(',')
      return `l${level}: &l${level} [${items}]`
    })
    expect(mistakesOf(levels.join('\n'))).toEqual([
      expect.stringMatching(/^p\.yaml:2:\d+: got invalid YAML, .* its aliases expand to more than 50000 nodes$/),
    ])
  })

  test('in its file name is reported', () => {
    const absent = join(directory, 'absent.yaml')
    expect(() => loadProfile(absent)).toThrow(
      /absent\.yaml: got no such file, expected a readable profile file \(YAML\)/,
    )
    expect(() => loadProfile(directory)).toThrow(/got a directory, expected a readable profile/)
  })
})

describe('what HTTP forbids is refused, with its place', () => {
  test.each([
    ['requestTimestampHeader: "x-a\\r\\nx-evil: y"', 'the name of a header'],
    ['requestTimestampHeader: "x-a\\0"', 'the name of a header'],
    ['requestTimestampHeader: "x-é"', 'the name of a header'],
    ['requestTimestampHeader: ""', 'the name of a header'],
    ['headerPrefix: "x-a\\n"', 'the beginning of the name of a header, in lower case'],
    ['headerPrefix: "X-Acme-"', 'the beginning of the name of a header, in lower case'],
  ])('%s', (text, expected) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(/^p\.yaml:1:\d+: got ".*/)])
    expect(mistakesOf(text)[0]).toContain(`expected ${expected}`)
  })

  test.each(['/models x', '/models\\r\\nx-evil: y', 'models', '/models#x', '/модели'])('the path %j', path => {
    expect(mistakesOf(`paths: { models: "${path}" }`)).toEqual([
      expect.stringContaining('expected a path from "/" on, without spaces, line breaks, and #'),
    ])
  })

  test('a pattern of keys that is none', () => {
    expect(mistakesOf('idempotency: { keyPattern: "(" }')[0]).toContain('expected a regular expression')
  })

  test('and usual names are accepted', () => {
    const text =
      'headerPrefix: x-acme_2.\nrequestTimestampHeader: X-Client-Time\npaths: { models: "/v1/models?all=true" }'
    expect(load(text)).toMatchObject({ headerPrefix: 'x-acme_2.', requestTimestampHeader: 'X-Client-Time' })
  })

  test('a number that sums turn into infinity', () => {
    expect(mistakesOf('limits: { windowMs: 1.0e+308 }')).toEqual([
      'p.yaml: got a number beyond 1e290, expected smaller numbers',
    ])
  })
})

describe('a recorded contract', () => {
  const { headLag: _, reorgDepth: __, ...rpc } = documentedContract.rpc
  const { lists: ___, ...older } = documentedContract

  test('of a build that knew fewer keys has the documented values of the others', () => {
    expect(recordedContract({ ...older, rpc: { ...rpc, batchLimit: 7 } })).toEqual({
      ...documentedContract,
      rpc: { ...documentedContract.rpc, batchLimit: 7 },
    })
  })

  test('keeps entries removed that the profile removed, and what nobody knows', () => {
    const networks = Object.fromEntries(Object.entries(documentedContract.rpc.networks).slice(1))
    const recorded = { ...documentedContract, rpc: { ...documentedContract.rpc, networks }, resources: {}, other: 1 }
    expect(recordedContract(recorded)).toEqual(recorded)
  })

  test.each([null, 5, [], 'text'])('that is not a mapping stays as it is: %j', value => {
    expect(recordedContract(value)).toEqual(value)
  })
})

describe('the JSON Schema for editors', () => {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false })
  const schema = profileJsonSchema() as Readonly<Record<string, unknown>>
  const faultsOf = (text: string): readonly string[] => {
    ajv.validate(schema, parse(text) ?? {})
    return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
  const shipped = readdirSync('scenarios/profiles').map(name => `scenarios/profiles/${name}`)

  test('has a place where editors find it', () => {
    expect(schema.$id).toBe('https://unpkg.com/turnpike/scenarios/profile.schema.json')
  })

  test.each([...shipped, 'docs/examples/profile.yaml'])('accepts what Turnpike accepts: %s', name => {
    expect(faultsOf(readFileSync(name, 'utf8'))).toEqual([])
  })

  test('accepts the documented contract, one key of it, and the removal of an entry', () => {
    const { sources: _, ...documented } = documentedContract
    expect(faultsOf(JSON.stringify(documented))).toEqual([])
    expect(faultsOf('limits: { requestsReset: unix-milliseconds }')).toEqual([])
    expect(faultsOf('wallets: { rails: { base: null } }')).toEqual([])
  })

  test.each([
    ['nmae: p', ' must NOT have additional properties'],
    ['limits: { scope: everybody }', '/limits/scope must be equal to one of the allowed values'],
    ['limits: { windowMs: soon }', '/limits/windowMs must be number'],
    ['models: [{ id: m }]', "/models/0 must have required property 'name'"],
  ])('refuses %s', (text, fault) => {
    expect(faultsOf(text)).toContain(fault)
    expect(mistakesOf(text)).not.toEqual([])
  })
})
