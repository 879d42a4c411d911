import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { probeNames, probeOf } from '../../../../src/contract/probes.ts'
import type { Call } from '../../../../src/plan/plan.ts'
import { createArrivalSource } from '../../../../src/produce/arrivals/arrivals.ts'
import { buildRequest } from '../../../../src/produce/calls/kinds.ts'
import { calls, planFor, stageOf, steady } from '../arrivals/plans.ts'
import { bodyOf, bounds, key, requestContext } from './request-context.ts'

/** Everything that a run under this seed would send, in order. */
function wire(seed: number, perSecond = 20): readonly string[] {
  const mix = Object.keys(calls).map(name => [name, 1] as const)
  const arrivals = createArrivalSource(planFor(4, seed)).open(stageOf(steady(perSecond, mix)))
  return [...arrivals].flatMap(({ id, call, steps }) =>
    steps.map(step => {
      const plan = calls[call]
      if (plan === undefined) throw new RangeError(call)
      return JSON.stringify(buildRequest(plan, { firstId: id, step }, key, requestContext({ seed })).request)
    }),
  )
}

describe('the requests on the wire', () => {
  test('have the same bytes for the same seed, and others for another seed', () => {
    expect(wire(5)).toEqual(wire(5))
    const other = new Set(wire(6))
    const bodies = wire(5).filter(request => request.includes('prompt') || request.includes('messages'))
    expect(bodies.filter(request => other.has(request))).toEqual([])
  })

  test('are the same at another rate, at other times', () => {
    expect(wire(5, 40).slice(0, wire(5, 20).length)).toEqual(wire(5, 20))
  })
})

describe('a list', () => {
  const list = (kind: 'models' | 'networks' | 'rate-limits') =>
    buildRequest({ kind }, { firstId: 0, step: 'only' }, key, requestContext()).request

  test.each([
    ['models', '/models'],
    ['networks', '/crypto/rpc/networks'],
    ['rate-limits', '/api_keys/rate_limits'],
  ] as const)('of %s is fetched from %s', (kind, path) => {
    expect(list(kind)).toMatchObject({ method: 'GET', path, body: null, timeouts: bounds.timeouts.control })
  })

  test.each(['models', 'networks', 'rate-limits'] as const)('of %s has the key of its caller', kind => {
    expect(list(kind).headers).toEqual({ accept: 'application/json', authorization: 'Bearer test-key' })
  })

  test.each(['models', 'networks'] as const)('of %s has no sign-in of a wallet', kind => {
    const position = { firstId: 0, step: 'only', wallet: { chain: 'base', address: '0x1' } } as const
    const { request } = buildRequest({ kind }, position, { 'sign-in-with-x': 'signed' }, requestContext())
    expect(request.headers).toEqual({ accept: 'application/json' })
  })
})

describe('a probe', () => {
  const probe = (name: string, more = {}) =>
    buildRequest({ kind: 'probe', probe: name }, { firstId: 0, step: 'only' }, key, requestContext(more))

  test.each(probeNames)('%s is built and described', name => {
    const race = probeOf(name).copies === undefined ? {} : { race: 0 }
    expect(probe(name).descriptor).toEqual({ kind: 'probe', probe: name, ...race })
  })

  test('bad-key sends an unknown key', () => {
    expect(probe('bad-key').request.headers.authorization).toBe('Bearer not-a-key')
  })

  test('wrong-media-type sends a valid chat as text', () => {
    const call = probe('wrong-media-type')
    expect(call.request.headers).toMatchObject({ 'content-type': 'text/plain', authorization: 'Bearer test-key' })
    expect(bodyOf(call).messages).toEqual([{ role: 'user', content: 'hello' }])
  })

  test('unsupported-methods-in-batch has a supported method, and all methods that the error must name', () => {
    const methods = bodyOf(probe('unsupported-methods-in-batch')).map(({ method }: { method: string }) => method)
    const { names } = probeOf('unsupported-methods-in-batch')
    expect(methods).toEqual(['eth_blockNumber', ...names])
  })

  test('batch-too-long exceeds any limit by one item', () => {
    const contract = { ...documentedContract, rpc: { ...documentedContract.rpc, batchLimit: 20 } }
    expect(bodyOf(probe('batch-too-long'))).toHaveLength(101)
    expect(bodyOf(probe('batch-too-long', { contract }))).toHaveLength(21)
  })

  test('of the RPC proxy goes to an EVM network of the contract', () => {
    const networks = {
      'solana-mainnet': { baseCredits: 30, family: 'solana' },
      'base-mainnet': { baseCredits: 20, family: 'evm' },
    } as const
    const contract = { ...documentedContract, rpc: { ...documentedContract.rpc, networks } }
    expect(probe('batch-too-long', { contract }).request.path).toBe('/crypto/rpc/base-mainnet')
  })

  test('of a single method sends a method that is on no allow-list', () => {
    const singles = probeNames.filter(name => name.endsWith('-method'))
    const listed = Object.values(documentedContract.rpc.methods).flatMap(family => Object.keys(family))
    expect(singles.map(name => listed.includes(bodyOf(probe(name)).method))).toEqual(singles.map(() => false))
    expect(singles.length).toBeGreaterThan(2)
  })
})

describe('a resource', () => {
  type Plan = Extract<Call, { kind: 'resource' }>
  const plan = {
    kind: 'resource',
    resource: 'embeddings',
    draws: 'embedding',
    body: {},
    page: null,
    limit: null,
  } as const
  const resource = (changes: Partial<Plan>, firstId = 3, more = {}) =>
    buildRequest({ ...plan, ...changes }, { firstId, step: 'only' }, key, requestContext(more))

  test('is requested as in the contract', () => {
    const { descriptor, request } = resource({})
    expect(request).toMatchObject({ method: 'POST', path: '/embeddings' })
    expect(request.headers).toMatchObject({ ...key, 'content-type': 'application/json' })
    expect(JSON.parse(request.body ?? '')).toEqual({ model: 'ref-embed', input: 'hello' })
    expect(descriptor).toMatchObject({ kind: 'resource', resource: 'embeddings', page: null, limit: null })
  })

  test('has the fields of the call, which override the contract', () => {
    const { descriptor, request } = resource({ body: { input: ['a'] } })
    expect(JSON.parse(request.body ?? '')).toEqual({ model: 'ref-embed', input: ['a'] })
    expect(descriptor).toMatchObject({ body: { model: 'ref-embed', input: ['a'] } })
  })

  test('that is a list has no body, and has its page in the query', () => {
    const list = { resource: 'characters', draws: null, page: 2, limit: 3 }
    const { request } = resource(list)
    expect(request).toMatchObject({ method: 'GET', path: '/characters?page=2&limit=3', body: null })
    expect(request.headers['content-type']).toBeUndefined()
  })

  test('has a different timestamp in each request, which is in the descriptor', () => {
    const times = [3, 4].map(id => resource({}, id))
    const sent = times.map(({ request }) => request.headers['x-service-request-timestamp-ms'])
    expect(sent).toEqual(
      times.map(({ descriptor }) => (descriptor.kind === 'resource' ? String(descriptor.timestampMs) : null)),
    )
    expect(sent[0]).not.toBe(sent[1])
  })

  test('has no timestamp if the profile has no header for it', () => {
    const contract = { ...documentedContract, requestTimestampHeader: null }
    const { descriptor, request } = resource({}, 3, { contract })
    expect(descriptor).toMatchObject({ timestampMs: null })
    expect(Object.keys(request.headers).some(name => name.includes('timestamp'))).toBe(false)
  })
})
