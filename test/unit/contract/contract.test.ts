import { describe, expect, test } from 'vitest'
import { auditNames, type Clause, checkNames } from '../../../src/contract/clause.ts'
import { unjudgedClauses } from '../../../src/contract/clauses/not-judged.ts'
import { clauseIds, clauses } from '../../../src/contract/clauses.ts'
import { contractSchema, methodTier } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { probeNames, probeOf } from '../../../src/contract/probes.ts'
import { rpcMethods, unsupportedMethods } from '../../../src/contract/rpc-methods.ts'

const allClauses: readonly Clause[] = clauseIds.map(id => clauses[id])

describe('the documented contract', () => {
  test('matches its own schema exactly', () => {
    expect(contractSchema.parse(documentedContract)).toEqual(documentedContract)
  })

  test('is plain JSON, so it survives a run directory', () => {
    expect(JSON.parse(JSON.stringify(documentedContract))).toEqual(documentedContract)
  })

  test('has the documented limits, in requests and tokens per minute', () => {
    const rows = Object.entries(documentedContract.accounts).flatMap(([account, tiers]) =>
      Object.entries(tiers).map(([tier, limits]) => [account, tier, limits.requestsPerMinute, limits.tokensPerMinute]),
    )
    expect(rows).toEqual([
      ['default', 'XS', 500, 1_000_000],
      ['default', 'S', 75, 750_000],
      ['default', 'M', 50, 750_000],
      ['default', 'L', 20, 500_000],
      ['partner', 'XS', 500, 2_000_000],
      ['partner', 'S', 150, 1_500_000],
      ['partner', 'M', 100, 1_500_000],
      ['partner', 'L', 60, 1_000_000],
    ])
  })

  test('has the documented numbers of the RPC proxy and of idempotency', () => {
    const { rpc, idempotency } = documentedContract
    expect(rpc.multipliers).toEqual({ standard: 1, advanced: 2, large: 4 })
    expect([rpc.batchLimit, rpc.errorItemCredits, rpc.usdPerCredit]).toEqual([100, 5, '0.000000625'])
    expect(idempotency.ttlMs).toBe(86_400_000)
    expect(idempotency.keyPattern).toBe('^[A-Za-z0-9_-]{1,255}$')
  })

  test('has a model for every tier', () => {
    expect([...new Set(documentedContract.models.map(({ tier }) => tier))]).toEqual(['XS', 'S', 'M', 'L'])
  })

  test('has its deprecated model last, so that it is never the default', () => {
    expect(documentedContract.models.findIndex(({ lifecycle }) => lifecycle === 'deprecated')).toBe(
      documentedContract.models.length - 1,
    )
  })

  test('reserves a model for paying users, but not the first of any tier', () => {
    const firsts = ['XS', 'S', 'M', 'L'].map(each => documentedContract.models.find(({ tier }) => tier === each))
    expect(firsts.map(model => model?.payingOnly)).toEqual([false, false, false, false])
    expect(documentedContract.models.some(({ payingOnly }) => payingOnly)).toBe(true)
  })

  test('gives every network a slug, and a family with listed methods', () => {
    for (const [slug, { family }] of Object.entries(documentedContract.rpc.networks)) {
      expect(slug).toMatch(/^[a-z]+-[a-z]+$/)
      expect(Object.keys(documentedContract.rpc.methods[family]).length).toBeGreaterThan(0)
    }
  })
})

describe('the tier of a method', () => {
  test.each([
    ['ethereum-mainnet', 'eth_call', 'standard'],
    ['zksync-mainnet', 'debug_traceTransaction', 'advanced'],
    ['ethereum-mainnet', 'trace_replayTransaction', 'large'],
    ['solana-mainnet', 'getSlot', 'standard'],
    ['solana-mainnet', 'eth_call', null],
    ['ethereum-mainnet', 'getSlot', null],
    ['ethereum-mainnet', 'eth_subscribe', null],
    ['atlantis-mainnet', 'eth_call', null],
  ])('on %s of %s is %s', (network, method, tier) => {
    expect(methodTier(documentedContract, network, method)).toBe(tier)
  })

  test.each(['constructor', 'toString', '__proto__'])('is null for inherited JavaScript properties: %s', name => {
    expect(methodTier(documentedContract, 'ethereum-mainnet', name)).toBeNull()
    expect(methodTier(documentedContract, name, 'eth_call')).toBeNull()
  })
})

describe('the allow-lists', () => {
  const listed = Object.entries(rpcMethods).flatMap(([family, methods]) =>
    Object.keys(methods).map(method => ({ family, method })),
  )
  const unsupported = new Set<string>(Object.values(unsupportedMethods).flat())

  test('have no method that is listed as unsupported', () => {
    expect(listed.filter(({ method }) => unsupported.has(method))).toEqual([])
  })

  test('have no subscription or filter under another name', () => {
    expect(listed.filter(({ method }) => /subscribe|filter(changes|logs)|new\w*filter/i.test(method))).toEqual([])
  })

  test('have each method of a family in one tier only', () => {
    expect(new Set(listed.map(({ family, method }) => `${family}/${method}`)).size).toBe(listed.length)
    expect(listed).toHaveLength(74)
  })
})

describe('the clauses', () => {
  test.each(clauseIds)('%s has a dotted id in kebab case, a section, and a sentence', id => {
    const { section, text } = clauses[id]
    expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+$/)
    expect(section).toMatch(/^\d(\.\d)?$/)
    expect(text).toMatch(/^[A-Za-z].*\.$/)
  })

  test('have different texts', () => {
    expect(new Set(allClauses.map(({ text }) => text)).size).toBe(allClauses.length)
  })

  test.each([...checkNames, ...auditNames])('have at least one for the judge %s', judge => {
    expect(allClauses.filter(({ judges }) => judges.includes(judge))).not.toEqual([])
  })

  test.each(clauseIds)('%s hides known clauses', id => {
    const { hides }: Clause = clauses[id]
    expect(hides?.[1].filter(hidden => !(clauseIds as readonly string[]).includes(hidden)) ?? []).toEqual([])
  })

  test('have known judges, and each judge once', () => {
    const judges: readonly string[] = [...checkNames, ...auditNames]
    for (const clause of allClauses) {
      expect(clause.judges.filter(judge => !judges.includes(judge))).toEqual([])
      expect(new Set(clause.judges).size).toBe(clause.judges.length)
    }
  })
})

test.each(Object.entries(unjudgedClauses))(
  'the unjudged clause %s has a section, a sentence and a reason',
  (_, clause) => {
    expect(clause.section).toMatch(/^\d(\.\d)?$/)
    expect(clause.text).toMatch(/^[A-Za-z].*\.$/)
    expect(clause.reason).toMatch(/^[A-Z].*\.$/)
  },
)

describe('the probes', () => {
  test.each(probeNames)('%s exercises a clause that probes judge, and has an expected status', name => {
    const { clause, promised } = probeOf(name)
    expect((clauses[clause] as Clause).judges).toContain('probe')
    expect(promised({ ...documentedContract, promises: { only: [clause], except: [] } })).not.toEqual([])
  })

  test('exercise every clause that probes judge', () => {
    const judged = clauseIds.filter(id => (clauses[id] as Clause).judges.includes('probe'))
    const names = probeNames.some(name => probeOf(name).names.length > 0) ? ['rpc.unsupported-method.named'] : []
    expect(new Set<string>([...probeNames.map(name => probeOf(name).clause), ...names])).toEqual(new Set(judged))
  })

  test('name only unsupported methods', () => {
    const named = probeNames.flatMap((name): readonly string[] => probeOf(name).names)
    const isSupported = (method: string) =>
      Object.values(documentedContract.rpc.methods).some(methods => Object.hasOwn(methods, method))
    expect(named.filter(isSupported)).toEqual([])
  })

  test('name no method whose name is part of another name in the same batch', () => {
    for (const { names } of probeNames.map(probeOf))
      expect(names.filter(name => names.some(other => other !== name && other.includes(name)))).toEqual([])
  })

  test('try every unsupported method, alone or in a batch', () => {
    const bodies = probeNames.map(name => probeOf(name).request(documentedContract).body ?? '').join('\n')
    const all: readonly string[] = Object.values(unsupportedMethods).flat()
    expect(all.filter(method => !bodies.includes(`"${method}"`))).toEqual([])
  })
})
