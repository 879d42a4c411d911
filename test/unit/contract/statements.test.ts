import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { parseProfile } from '../../../src/contract/profile.ts'
import { isAssumed } from '../../../src/contract/sources.ts'
import { parseLimits, parseModels, parseNetworks, withStatements } from '../../../src/contract/statements.ts'
import { statedBase, statedTier } from '../../../src/judge/checks/price-list.ts'

describe('parseLimits', () => {
  const entry = (apiModelId: unknown, ...rateLimits: readonly unknown[]) => ({ apiModelId, rateLimits })
  const limitsIn = (...rateLimits: readonly unknown[]) => {
    const read = parseLimits({ data: { rateLimits } })
    return read === null ? null : Object.fromEntries(read)
  }
  const requests = (amount: unknown) => ({ type: 'RPM', amount })
  const tokens = (amount: unknown) => ({ type: 'TPM', amount })

  test('reads amounts that are texts', () => {
    expect(limitsIn(entry('a', requests('30'), tokens('750000')))).toEqual({ 'chat:a': 30, 'chat:a tokens': 750_000 })
  })

  test('reads the requests and the tokens of each model', () => {
    expect(limitsIn(entry('a', requests(20), tokens(500_000)), entry('b', requests(7.5)))).toEqual({
      'chat:a': 20,
      'chat:a tokens': 500_000,
      'chat:b': 7.5,
    })
  })

  test('ignores unknown limits and fields', () => {
    const daily = { type: 'RPD', amount: 1_000 }
    const more = { ...entry('a', requests(20), daily), note: 'x' }
    expect(limitsIn(more, { rateLimits: [requests(3)] }, entry('video'), null, 'text')).toEqual({ 'chat:a': 20 })
  })

  test.each([
    0,
    -1,
    0.001,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    6_000_001,
    '-20',
    '2e',
    '',
    null,
    undefined,
    {},
    [20],
  ])('ignores a limit of %j', amount => {
    expect(limitsIn(entry('a', requests(amount), tokens(9)))).toEqual({ 'chat:a tokens': 9 })
  })

  test.each([
    null,
    'limits',
    [],
    {},
    { data: null },
    { data: { rateLimits: {} } },
    { data: { rateLimits: [] } },
    { data: { rateLimits: [[], 1, { apiModelId: 'a', rateLimits: 'none' }, { apiModelId: 4, rateLimits: [] }] } },
  ])('finds no limits in %j', body => {
    expect(parseLimits(body)).toBeNull()
  })

  test('knows the entry of the RPC proxy by its path, and no other', () => {
    const read = limitsIn(entry('endpoint:api/v1/crypto/rpc', requests(130)), entry('crypto/rpc-writer', requests(5)))
    expect(read).toEqual({ rpc: 130, 'chat:crypto/rpc-writer': 5 })
  })

  test('reads a list outside of data', () => {
    expect(parseLimits({ rateLimits: [entry('a', requests(1))] })?.get('chat:a')).toBe(1)
  })

  test.each([
    ['members of an entry', { rate_limits: [{ model: 'a', requests_per_minute: 20, tokens_per_minute: '500000' }] }],
    ['members in camel case', { data: [{ modelId: 'a', requestsPerMinute: 20, tokensPerMinute: 500_000 }] }],
    ['an object in an entry', { limits: [{ id: 'a', limits: { rpm: 20, tpm: 500_000, rpd: 7 } }] }],
    ['objects by model', { data: { models: { a: { rpm_limit: 20, tpm_limit: 500_000 } } } }],
  ])('reads %s', (_, body) => {
    expect([...(parseLimits(body) ?? [])]).toEqual([
      ['chat:a', 20],
      ['chat:a tokens', 500_000],
    ])
  })

  test.each(['requests_per_day', 'remaining_requests_per_minute', 'rps', 'tokens', 'requests_per_minute_used'])(
    'reads no limit per minute from %s',
    name => {
      expect(parseLimits({ data: [{ model: 'a', [name]: 20 }] })).toBeNull()
    },
  )

  test('accepts a model with the name __proto__', () => {
    const body = JSON.parse(
      '{"data":{"rateLimits":[{"apiModelId":"__proto__","rateLimits":[{"type":"RPM","amount":5}]}]}}',
    )
    expect([...(parseLimits(body) ?? [])]).toEqual([['chat:__proto__', 5]])
  })
})

describe('parseModels', () => {
  test('reads ids, names, maxima and prices of the public layout', () => {
    const spec = {
      name: 'A',
      maxCompletionTokens: 4096,
      pricing: { input: { usd: 0.15 }, output: { usd: 0.6 }, cache_input: { usd: 0.03 } },
    }
    expect(parseModels({ object: 'list', data: [{ id: 'a', type: 'text', model_spec: spec }] })).toEqual([
      {
        id: 'a',
        name: 'A',
        maxCompletionTokens: 4096,
        usdPerMillion: { input: '0.15', output: '0.6', cacheInput: '0.03', cacheWrite: null },
      },
    ])
  })

  test.each([
    ['a list of objects', [{ id: 'a' }, { id: 'b' }]],
    ['a list of texts', ['a', 'b']],
    ['objects by id', { models: { a: { id: 'a' }, b: {} } }],
    ['models', { models: [{ model: 'a' }, { name: 'b' }] }],
    ['data with doubles and nonsense', { data: [{ id: 'a' }, 7, null, { id: 'a' }, { id: '' }, { id: 'b' }] }],
  ])('reads %s', (_, body) => {
    expect(parseModels(body)?.map(({ id }) => id)).toEqual(['a', 'b'])
  })

  test('leaves out models that are offline or do not chat', () => {
    const data = [
      { id: 'text-embedding-3' },
      { id: 'whisper-1' },
      { id: 'flux', type: 'image' },
      { id: 'gone', model_spec: { offline: true } },
      { id: 'chat' },
    ]
    expect(parseModels({ data })?.map(({ id }) => id)).toEqual(['chat'])
  })

  test.each([null, undefined, 'models', 7, {}, { data: [] }, { data: {} }, { data: [{}] }])(
    'finds none in %j',
    body => {
      expect(parseModels(body)).toBeNull()
    },
  )
})

describe('parseNetworks', () => {
  test.each([
    [{ networks: ['a', 'b', 'a'] }],
    [['a', 'b']],
    [{ networks: { a: { chainId: 1 }, b: {} } }],
    [{ data: [{ slug: 'a' }, { network: 'b' }] }],
    [{ networks: [{ id: 'a' }, null, { name: 'b' }] }],
  ])('reads %j', body => {
    expect(parseNetworks(body)).toEqual(['a', 'b'])
  })

  test.each([null, {}, { networks: [] }, { networks: [1] }, 'a'])('finds none in %j', body => {
    expect(parseNetworks(body)).toBeNull()
  })
})

describe('withStatements', () => {
  const offered = (id: string) => ({ id, name: id, maxCompletionTokens: null, usdPerMillion: null })
  const nothing = { models: null, networks: null, limits: null }

  test('changes nothing if the target states nothing', () => {
    expect(withStatements(documentedContract, nothing, 'default')).toEqual(documentedContract)
  })

  test('what the document does not say about resources is assumed of a target, unless the profile states it', () => {
    const stated = parseProfile('resources: { embeddings: { path: /v2/embeddings } }', 'p.yaml')
    const assumedIn = (contract: Contract, isReference?: boolean) => {
      const after = withStatements(contract, nothing, 'default', isReference)
      return ['path', 'body'].filter(term => isAssumed(after, `resources.embeddings.${term}`))
    }
    expect(assumedIn(documentedContract, false)).toEqual(['path', 'body'])
    expect(assumedIn(stated, false)).toEqual(['body'])
    expect(assumedIn(documentedContract)).toEqual([])
  })

  test('assumes the models of the document if the list of another target is not read, unless a profile states them', () => {
    const of = (contract: Contract) => withStatements(contract, nothing, 'default', false).sources.models
    expect(of(documentedContract)).toBe('default')
    expect(of(parseProfile('models: []', 'p.yaml'))).toBe('profile')
  })

  test('keeps known models that are offered, and adds the others without a price', () => {
    const models = [offered('new'), offered('ref-large-235b')]
    const contract = withStatements(documentedContract, { ...nothing, models }, 'default')
    expect(contract.models.map(({ id, tier }) => [id, tier])).toEqual([
      ['ref-large-235b', 'L'],
      ['new', null],
    ])
    expect(contract.models[0]).toEqual(documentedContract.models.find(({ id }) => id === 'ref-large-235b'))
    expect(contract.sources).toEqual({ models: 'target' })
  })

  test('tells the tier of a new model by its published limits, if they are those of a tier', () => {
    const limits = new Map([
      ['chat:new', 20],
      ['chat:new tokens', 500_000],
      ['chat:odd', 21],
    ])
    const models = [offered('new'), offered('odd')]
    const contract = withStatements(documentedContract, { ...nothing, models, limits }, 'default')
    expect(contract.models.map(({ tier }) => tier)).toEqual(['L', null])
    expect(contract.limits.published).toEqual(Object.fromEntries(limits))
  })

  test('removes networks that are not offered, and does not know the credits of new ones', () => {
    const networks = ['solana-testnet', 'base-mainnet', 'mychain']
    const contract = withStatements(documentedContract, { ...nothing, networks }, 'default')
    expect(contract.rpc.networks).toEqual({
      'base-mainnet': documentedContract.rpc.networks['base-mainnet'],
      'solana-testnet': { baseCredits: null, family: 'solana' },
      mychain: { baseCredits: null, family: 'evm' },
    })
  })
})

describe('a target that is not the reference service', () => {
  const offered = [
    { id: 'ref-nano-3b', name: 'Nano', maxCompletionTokens: null, usdPerMillion: price('7') },
    { id: 'ref-small-24b', name: 'Small', maxCompletionTokens: null, usdPerMillion: null },
  ]
  const statements = { models: offered, networks: ['ethereum-mainnet', 'zksync-mainnet'], limits: null }
  const pricesOf = (contract: Contract) => contract.models.map(({ usdPerMillion }) => usdPerMillion?.input ?? null)

  test('has the prices of its own list, and none of ours', () => {
    const contract = withStatements(documentedContract, statements, 'default', false)
    expect(pricesOf(contract)).toEqual(['7', null])
    expect(statedBase(contract, 'ethereum-mainnet')).toBe(null)
    expect(statedTier(contract, 'ethereum-mainnet', 'eth_call')).toBe(null)
    expect(pricesOf(withStatements(documentedContract, statements, 'default'))).toEqual(['0.15', '0.50'])
  })

  test('has the credits and tiers that a profile states', () => {
    const profile = parseProfile(
      'rpc: { networks: { zksync-mainnet: { baseCredits: 45 } }, methods: { evm: { eth_call: large } } }',
      'profile.yaml',
    )
    const contract = withStatements(profile, statements, 'default', false)
    expect(statedBase(contract, 'ethereum-mainnet')).toBe(null)
    expect(statedBase(contract, 'zksync-mainnet')).toBe(45)
    expect(statedTier(contract, 'zksync-mainnet', 'eth_call')).toBe('large')
    expect(statedTier(contract, 'zksync-mainnet', 'eth_chainId')).toBe(null)
  })
})

function price(usd: string) {
  return { input: usd, output: usd, cacheInput: null, cacheWrite: null }
}
