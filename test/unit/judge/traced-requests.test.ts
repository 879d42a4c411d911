import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { createTraceChoice, tracedRequest } from '../../../src/judge/traced-requests.ts'
import type { Observation } from '../../../src/observation/observation.ts'

/** A complete request for the networks that is sent at `sentMs` and takes `tookMs`. */
const observed = (id: number, sentMs: number, tookMs: number, changes: Partial<Observation> = {}): Observation => ({
  ...{ id, seq: id, stage: 's', call: 'list', caller: 'c0', key: 0, accountTier: 'default' },
  request: { kind: 'networks' },
  dueMs: sentMs - 1,
  sentMs,
  headersMs: sentMs + 1,
  endMs: sentMs + tookMs,
  outcome: { kind: 'answered', status: 200 },
  response: { status: 200, headers: {}, bytes: 2, body: { kind: 'empty' } },
  ...changes,
})

const byId = (id: number) => id
const chosenOf = (choice: ReturnType<typeof createTraceChoice>) =>
  choice.snapshot().last.map(({ id, chosen }) => [id, chosen])

describe('the choice of requests for traces', () => {
  test('takes the slowest and a sample of each call, once the interval is over', () => {
    const choice = createTraceChoice(documentedContract, byId)
    for (let id = 0; id < 20; id++) choice.add(observed(id, 10 * id, id === 7 ? 900 : id === 9 ? 800 : 5), false)
    choice.add(observed(20, 10, 50, { call: 'other' }), false)
    expect(chosenOf(choice)).toEqual([])
    choice.add(observed(21, 6_000, 5), false)
    expect(chosenOf(choice)).toEqual([
      [7, 'slow'],
      [9, 'slow'],
      [0, 'sample'],
      [1, 'sample'],
      [20, 'slow'],
    ])
    choice.end()
    expect(chosenOf(choice).at(-1)).toEqual([21, 'slow'])
    expect(choice.snapshot().count).toBe(6)
  })

  test('leaves out what a finding cites, and what was never sent', () => {
    const choice = createTraceChoice(documentedContract, byId)
    choice.add(observed(1, 0, 5), true)
    choice.add(observed(2, 0, 5, { sentMs: null, endMs: null, outcome: { kind: 'dropped', reason: 'budget' } }), false)
    choice.add(observed(3, 0, 5, { outcome: { kind: 'failed', reason: 'tls', detail: '' }, response: null }), false)
    choice.end()
    expect(chosenOf(choice)).toEqual([[3, 'slow']])
  })

  test('is bounded in each interval, whatever the rate, the calls, and the order of the ends', () => {
    const choice = createTraceChoice(documentedContract, byId)
    for (let id = 0; id < 20_000; id++) choice.add(observed(id, id % 4_000, 5, { call: `call-${id % 40}` }), false)
    choice.end()
    expect(choice.snapshot().count).toBeLessThanOrEqual(16 * 4)
    for (let interval = 1; interval < 100; interval++)
      for (let id = 0; id < 10; id++) choice.add(observed(interval * 10 + id, interval * 5_000, id), false)
    choice.end()
    expect(choice.snapshot().last.length).toBeLessThanOrEqual(256)
    expect(choice.snapshot().count).toBeGreaterThan(256)
  })
})

describe('a request for a trace', () => {
  const why = { chosen: 'finding', clauses: ['chat.cost'] } as const
  const chat: Partial<Observation> = {
    request: {
      ...{ kind: 'chat', model: 'm', modelTier: null, stream: false, promptTokens: 4 },
      ...{ maxCompletionTokens: 16, options: null },
    },
  }
  const json = (value: unknown): Partial<Observation> => ({
    response: { status: 200, headers: {}, bytes: 2, body: { kind: 'json', value, digest: null } },
  })

  test('has the endpoint of the contract, with the names of parameters', () => {
    const { paths, wallets } = documentedContract
    const endpoint = (request: Observation['request']) => {
      const traced = tracedRequest(observed(1, 0, 5, { request }), documentedContract, why)
      return [traced?.method, traced?.route]
    }
    expect(endpoint({ kind: 'networks' })).toEqual(['GET', paths.networks])
    expect(endpoint({ kind: 'rpc', network: 'base-mainnet', batch: false, items: [], replay: null })).toEqual([
      'POST',
      paths.rpc.replace('{network}', 'base-mainnet'),
    ])
    expect(endpoint({ kind: 'wallet-balance', address: '0x1' })).toEqual(['GET', wallets.balancePath])
    expect(endpoint({ kind: 'top-up', step: 'offer', chain: null, address: null, payment: null })).toEqual([
      'POST',
      wallets.topUp.path,
    ])
  })

  test('has what a completion states', () => {
    const usage = { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 }
    const body = json({ model: 'm-2', usage, choices: [{ finish_reason: 'stop' }, 'x', { finish_reason: 7 }] })
    expect(tracedRequest(observed(1, 0, 5, { ...chat, ...body }), documentedContract, why)?.chat).toEqual({
      ...{ model: 'm', maxTokens: 16, isStream: false, responseModel: 'm-2' },
      ...{ inputTokens: 4, outputTokens: 6, finishReasons: ['stop'] },
    })
  })

  test.each([[null], ['x'], [{ usage: 5, choices: {}, model: 3 }], [[]]])('survives a completion that is %j', value => {
    const traced = tracedRequest(observed(1, 0, 5, { ...chat, ...json(value) }), documentedContract, why)
    expect(traced?.chat).toMatchObject({ responseModel: null, inputTokens: null, finishReasons: [] })
  })
})
