import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import { buildRpc, failingMethods, rpcParamsOf } from '../../../../src/produce/calls/rpc.ts'
import { bodyOf, bounds, key, requestContext, rpcPlan } from './request-context.ts'

const call = (plan: Partial<typeof rpcPlan> = {}, content = '7', more = {}) =>
  buildRpc({ ...rpcPlan, ...plan }, content, null, key, requestContext(more))

const methodsOf = (plan: Partial<typeof rpcPlan>, calls: number): readonly string[] =>
  Array.from({ length: calls }, (_, id) => call(plan, `${id}`)).flatMap(({ descriptor }) =>
    descriptor.kind === 'rpc' ? descriptor.items.map(({ method }) => method) : [],
  )

describe('a single RPC call', () => {
  test('is one JSON-RPC request', () => {
    expect(bodyOf(call())).toEqual({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
  })

  test('goes to its network as JSON, with the key and the RPC bounds, without an idempotency key', () => {
    const { request } = call({ network: 'solana-mainnet', methods: [['getSlot', 1]] })
    expect(request).toMatchObject({
      method: 'POST',
      path: '/crypto/rpc/solana-mainnet',
      timeouts: bounds.timeouts.rpc,
      maxBodyBytes: bounds.maxBodyBytes,
    })
    expect(request.headers).toEqual({
      'content-type': 'application/json',
      accept: 'application/json',
      authorization: 'Bearer test-key',
    })
  })

  test('fails as often as planned, with a parameter that every method rejects', () => {
    const calls = Array.from({ length: 4_000 }, (_, id) => call({ failing: 0.25 }, `${id}`))
    const failing = calls.filter(({ descriptor }) => descriptor.kind === 'rpc' && descriptor.items[0]?.failing)
    expect(Math.abs(failing.length / 4_000 - 0.25)).toBeLessThan(0.021)
    expect(new Set(failing.map(each => each.request.body))).toEqual(
      new Set(
        ['0', '1', '"r-2"'].map(id => `{"jsonrpc":"2.0","id":${id},"method":"eth_getBalance","params":["invalid"]}`),
      ),
    )
  })
})

describe('a batch', () => {
  test('is an array of the planned size, with unique ids of both types', () => {
    const ids = bodyOf(call({ batchSize: 100 })).map(({ id }: { id: unknown }) => id)
    expect(ids).toHaveLength(100)
    expect(ids.slice(0, 6)).toEqual([0, 1, 'r-2', 3, 4, 'r-5'])
    expect(new Set(ids).size).toBe(100)
  })

  test('of one item is still an array', () => {
    expect(bodyOf(call({ batchSize: 1 }))).toHaveLength(1)
  })

  test('has exactly the planned number of failing items, at varying positions', () => {
    const failingPositions = Array.from({ length: 200 }, (_, id) => {
      const { descriptor } = call({ batchSize: 10, failing: 3 }, `${id}`)
      return descriptor.kind === 'rpc' ? descriptor.items.flatMap(({ failing }, index) => (failing ? [index] : [])) : []
    })
    expect(failingPositions.every(each => each.length === 3)).toBe(true)
    expect(new Set(failingPositions.flat()).size).toBe(10)
  })

  test('can consist of failing items only', () => {
    const body: readonly { readonly params: unknown }[] = bodyOf(call({ batchSize: 4, failing: 4 }))
    expect(body.map(({ params }) => params)).toEqual([['invalid'], ['invalid'], ['invalid'], ['invalid']])
  })

  test('has its ids and methods in the descriptor, in order', () => {
    const batch = call({ batchSize: 20, failing: 2 })
    const sent = bodyOf(batch).map(({ id, method }: { id: unknown; method: string }) => ({ id, method }))
    expect(batch.descriptor).toMatchObject({ kind: 'rpc', network: 'ethereum-mainnet', batch: true, items: sent })
  })
})

test('methods are chosen by their weights', () => {
  const methods = methodsOf(
    {
      methods: [
        ['eth_call', 3],
        ['eth_gasPrice', 1],
      ],
      batchSize: 10,
    },
    1_000,
  )
  const share = methods.filter(method => method === 'eth_call').length / methods.length
  expect(Math.abs(share - 0.75)).toBeLessThan(0.013)
})

test('a body depends only on the seed and the content', () => {
  const body = (content: string, seed: number, runId = 'a') =>
    call({ batchSize: 5 }, content, { seed, runId }).request.body
  expect(body('7', 1)).toBe(body('7', 1, 'another-run'))
  expect(call({ batchSize: 5, methods: [['eth_call', 1]] }, '7').request.body).not.toBe(
    call({ batchSize: 5, methods: [['eth_call', 1]] }, '8').request.body,
  )
})

describe('the parameters of a method', () => {
  const methods = Object.values(documentedContract.rpc.methods).flatMap(family => Object.keys(family))

  test.each(methods)('%s are a JSON array, and never the invalid parameter', method => {
    const params = rpcParamsOf(method, randomStream(1, method))
    expect(JSON.parse(JSON.stringify(params))).toEqual(params)
    expect(params).not.toEqual(['invalid'])
  })

  test('are well-formed: addresses of 20 bytes, hashes of 32, quantities without leading zeros', () => {
    const [address] = rpcParamsOf('eth_getBalance', randomStream(1, 'a'))
    const [hash] = rpcParamsOf('eth_getTransactionReceipt', randomStream(1, 'a'))
    const [block] = rpcParamsOf('eth_getBlockByNumber', randomStream(1, 'a'))
    expect(address).toMatch(/^0x[0-9a-f]{40}$/)
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    expect(block).toMatch(/^0x[1-9a-f][0-9a-f]*$/)
  })

  test('of a log range cover one block, so that no node rejects the range', () => {
    const [filter] = rpcParamsOf('eth_getLogs', randomStream(1, 'a')) as readonly [Record<string, string>]
    expect(filter.fromBlock).toBe(filter.toBlock)
  })
})

test('the failing items of a batch have each price that its methods have', () => {
  const failed = (methods: typeof rpcPlan.methods) => {
    const items = Array.from({ length: 60 }, (_, id) => call({ methods, batchSize: 2, failing: 1 }, `${id}`)).flatMap(
      ({ descriptor }) => (descriptor.kind === 'rpc' ? descriptor.items : []),
    )
    return [...new Set(items.filter(({ failing }) => failing).map(({ method }) => method))].toSorted()
  }
  expect(failed([['eth_blockNumber', 1]])).toEqual(['eth_getBalance'])
  // The parameters of a transaction pool are optional, and one method of a price is enough.
  expect(
    failed([
      ['eth_call', 1],
      ['txpool_content', 1],
      ['debug_traceTransaction', 1],
    ]),
  ).toEqual(['debug_traceTransaction', 'eth_getBalance'])
  expect(
    failed([
      ['trace_block', 1],
      ['trace_replayTransaction', 1],
    ]),
  ).toEqual(['eth_getBalance', 'trace_block', 'trace_replayTransaction'])
})

test.each(Object.entries(failingMethods))('the failing method of %s is on its allow-list', (family, method) => {
  expect(documentedContract.rpc.methods[family as keyof typeof failingMethods & 'evm'][method]).toBe('standard')
})
