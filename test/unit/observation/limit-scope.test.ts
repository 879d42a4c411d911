import { describe, expect, test } from 'vitest'
import type { AccountTier, Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { probeNames, probeOf } from '../../../src/contract/probes.ts'
import {
  latencyMs,
  latenessMs,
  type Observation,
  type ObservedResponse,
  serviceTimeMs,
  streamOf,
} from '../../../src/observation/observation.ts'
import { applicableLimit, type RequestDescriptor } from '../../../src/observation/requests/request.ts'
import { authenticatedResponse, isReplayed, jsonObject } from '../../../src/observation/response.ts'

const respondWith = (value: unknown, more: Partial<ObservedResponse> = {}): ObservedResponse => ({
  status: 200,
  headers: {},
  bytes: 2,
  body: { kind: 'json', value, digest: null },
  ...more,
})

const observed = (more: Partial<Observation> = {}): Observation => ({
  id: 0,
  seq: 0,
  stage: 's',
  call: 'c',
  caller: 'c0',
  key: 0,
  accountTier: 'default',
  request: { kind: 'models' },
  dueMs: 100,
  sentMs: 103,
  headersMs: 120,
  endMs: 150,
  outcome: { kind: 'answered', status: 200 },
  response: respondWith({}),
  ...more,
})

const chat: RequestDescriptor = {
  kind: 'chat',
  model: 'ref-small-24b',
  modelTier: 'S',
  stream: false,
  promptTokens: 1,
  maxCompletionTokens: 1,
  options: null,
}
const rpc: RequestDescriptor = { kind: 'rpc', network: 'ethereum-mainnet', batch: true, items: [], replay: null }

describe('the times of an observation', () => {
  test('are latency from due, service time from sent, and lateness between the two', () => {
    const observation = observed()
    expect([latencyMs(observation), serviceTimeMs(observation), latenessMs(observation)]).toEqual([50, 47, 3])
  })

  test('are null if the request was never sent', () => {
    const dropped = observed({ sentMs: null, headersMs: null, endMs: null })
    expect([latencyMs(dropped), serviceTimeMs(dropped), latenessMs(dropped)]).toEqual([null, null, null])
  })
})

describe('the applicable limit of a request', () => {
  test('is the limit of its model, by account tier and model tier', () => {
    expect(applicableLimit(observed({ request: chat }), documentedContract)).toEqual({
      name: 'chat:ref-small-24b',
      limiter: 'chat',
      loggedAs: 'ref-small-24b',
      counters: ['chat:ref-small-24b', 'chat:tier S'],
      finest: 'chat:ref-small-24b',
      tier: 'default S',
      requestsPerMinute: 75,
      tokensPerMinute: 750_000,
      stated: { requestsPerMinute: 75, tokensPerMinute: 750_000 },
    })
    expect(applicableLimit(observed({ request: chat, accountTier: 'partner' }), documentedContract)).toMatchObject({
      tier: 'partner S',
      requestsPerMinute: 150,
      tokensPerMinute: 1_500_000,
    })
  })

  test('follows the contract and the tier, whichever was asked for before', () => {
    const { requestsPerMinute } = documentedContract.rpc
    const other: Contract = { ...documentedContract, rpc: { ...documentedContract.rpc, requestsPerMinute: 7 } }
    const stated = [documentedContract, other, documentedContract].map(
      contract => applicableLimit(observed({ request: rpc }), contract)?.stated.requestsPerMinute,
    )
    expect(stated).toEqual([requestsPerMinute, 7, requestsPerMinute])
    const tiers = (['default', 'partner', 'default'] as const).flatMap(accountTier =>
      [chat, { ...chat, modelTier: 'L' as const }].map(
        request => applicableLimit(observed({ request, accountTier }), documentedContract)?.tier,
      ),
    )
    expect(tiers).toEqual(['default S', 'default L', 'partner S', 'partner L', 'default S', 'default L'])
  })

  test('is the limit of the proxy, for single requests and for batches', () => {
    const single: RequestDescriptor = { ...rpc, batch: false }
    const limitOf = (request: RequestDescriptor) => applicableLimit(observed({ request }), documentedContract)
    expect(limitOf(rpc)).toEqual(limitOf(single))
    expect(limitOf(rpc)).toMatchObject({ name: 'rpc', requestsPerMinute: 100 })
  })

  test('may be counted in every scope that the document allows, and in no other that the profile excludes', () => {
    const countersIn = (request: RequestDescriptor, limits: Partial<Contract['limits']>) => {
      const contract = { ...documentedContract, limits: { ...documentedContract.limits, ...limits } }
      const limit = applicableLimit(observed({ request }), contract)
      return { counters: limit?.counters, finest: limit?.finest }
    }
    const model = 'chat:ref-small-24b'
    expect(countersIn(chat, { chatScope: 'tier' })).toEqual({ counters: ['chat:tier S'], finest: 'chat:tier S' })
    expect(countersIn(chat, { chatScope: 'model' })).toEqual({ counters: [model], finest: model })
    const network = 'rpc:ethereum-mainnet'
    expect(countersIn(rpc, {})).toEqual({ counters: ['rpc', network], finest: network })
    expect(countersIn(rpc, { rpcScope: 'all' })).toEqual({ counters: ['rpc'], finest: 'rpc' })
    expect(countersIn(rpc, { rpcScope: 'network' })).toEqual({ counters: [network], finest: network })
    // Which tier a model of an unknown tier is of, only its response can tell.
    const unknown = observed({ request: { ...chat, modelTier: null } })
    const stating = { ...unknown, response: respondWith({}, { headers: { 'x-ratelimit-limit-requests': '75' } }) }
    expect(applicableLimit(unknown, documentedContract)?.counters).toEqual([model, null])
    expect(applicableLimit(stating, documentedContract)?.counters).toEqual([model, 'chat:tier of 75 per minute'])
  })

  test("has no documented number for the list of the caller's limits", () => {
    const scope = applicableLimit(observed({ request: { kind: 'rate-limits' } }), documentedContract)
    expect(scope).toMatchObject({ name: 'control', requestsPerMinute: null, tokensPerMinute: null })
  })

  test('is the limit of the kind of resource, by account tier if there is one', () => {
    const resource = (name: string): RequestDescriptor => ({
      ...{ kind: 'resource', resource: name, body: null },
      ...{ page: null, limit: null, timestampMs: null },
    })
    const numbers = (accountTier: AccountTier) =>
      Object.keys(documentedContract.resources).map(name => {
        const scope = applicableLimit(observed({ request: resource(name), accountTier }), documentedContract)
        return `${scope?.name} ${scope?.requestsPerMinute}`
      })
    const unlimited = ['control null', 'control null', 'control null']
    expect(numbers('default')).toEqual([
      ...['embedding 500', 'image 20', 'audio 60', 'video-queue 40', 'video-retrieve 120'],
      ...unlimited,
    ])
    expect(numbers('partner')).toEqual([
      ...['embedding 500', 'image 60', 'audio 120', 'video-queue null', 'video-retrieve null'],
      ...unlimited,
    ])
  })

  test.each(['models', 'networks'] as const)('is unknown for the list of %s, and null for a wallet', kind => {
    const list = observed({ request: { kind } })
    expect(applicableLimit(list, documentedContract)).toMatchObject({ name: 'control', requestsPerMinute: null })
    expect(applicableLimit({ ...list, chain: 'base' }, documentedContract)).toBeNull()
  })

  test.each(probeNames)('of probe %s is the limit in its table', probe => {
    const scope = applicableLimit(observed({ request: { kind: 'probe', probe } }), documentedContract)
    const names = {
      chat: `chat:${documentedContract.models[0]?.id}`,
      rpc: 'rpc',
      embedding: 'embedding',
      control: 'control',
    }
    const { draws } = probeOf(probe)
    expect(scope?.name ?? null).toBe(draws === null ? null : names[draws])
  })
})

describe('an authenticated response', () => {
  test.each([200, 400, 402, 429])('has status %i, if the request has a key', status => {
    const response = respondWith({}, { status })
    expect(authenticatedResponse(observed({ request: rpc, response }))).toBe(response)
  })

  test.each([401, 500, 503, 504])('never has status %i', status => {
    expect(authenticatedResponse(observed({ request: rpc, response: respondWith({}, { status }) }))).toBeNull()
  })

  const offer = { kind: 'top-up', step: 'offer', chain: 'base', address: '0x1', payment: null } as const
  test.each([{ kind: 'models' }, { kind: 'networks' }, { kind: 'probe', probe: 'bad-key' }, offer] as const)(
    'is not a response to %j, which needs no key',
    request => {
      expect(authenticatedResponse(observed({ request }))).toBeNull()
    },
  )

  test('is null without a response', () => {
    expect(authenticatedResponse(observed({ request: rpc, response: null }))).toBeNull()
  })
})

describe('the JSON object of a response', () => {
  test.each([[[]], [null], ['text'], [3]])('is null for %j', value => {
    expect(jsonObject(respondWith(value))).toBeNull()
  })

  test('is its body, if that is an object', () => {
    expect(jsonObject(respondWith({ a: 1 }))).toEqual({ a: 1 })
    expect(jsonObject(respondWith({}, { body: { kind: 'text', head: '{}', digest: null } }))).toBeNull()
    expect(jsonObject(null)).toBeNull()
  })
})

test('only the exact value true marks a response as a replay', () => {
  const marked = (response: ObservedResponse | null) => isReplayed({ response }, documentedContract)
  const replayed = (value: string) => marked(respondWith({}, { headers: { 'idempotent-replayed': value } }))
  expect([replayed('true'), replayed('false'), replayed(''), marked(respondWith({})), marked(null)]).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
})

test('a response without a stream has no stream record', () => {
  expect(streamOf(observed())).toBeNull()
  expect(streamOf(observed({ response: null }))).toBeNull()
})
