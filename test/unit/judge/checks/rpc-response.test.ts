import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import {
  batchBody,
  batchDescriptor,
  batchObserved,
  failedClauses,
  failsEach,
  failure,
  judgedCount,
  observed,
  passesEach,
  refused,
  responseOf,
  result,
  rpcHeaders,
  singleDescriptor,
  singleObserved,
} from './observed.ts'

const failing = { ...singleDescriptor, items: [{ id: 1, method: 'eth_getBalance', failing: true }] }
const conflict = { ...batchDescriptor, replay: { group: 4, role: 'conflict' as const, concurrent: false } }
const repeated = { ...batchDescriptor, replay: { group: 4, role: 'late-repeat' as const, concurrent: false } }
const firstUse = { ...batchDescriptor, replay: { group: 4, role: 'original' as const, concurrent: false } }
const others = [1, 2, 3].map(id => ({ id, method: 'eth_call', failing: false }))
const ofFour = (body: unknown, credits: string) => {
  const cost = (Number(credits) * 0.000000625).toFixed(12)
  const headers = { ...rpcHeaders, 'x-service-rpc-credits': credits, 'x-service-rpc-cost-usd': cost }
  const items = [...others, { id: 'r-3', method: 'eth_getBalance', failing: true }]
  return observed({ ...batchDescriptor, items }, responseOf(200, body, headers))
}
const fullBatch = {
  ...batchDescriptor,
  items: Array.from({ length: 100 }, (_, id) => ({ id, method: 'eth_call', failing: false })),
}
const upstream = { error: 'Upstream request failed' }

describe('RPC responses', () => {
  passesEach({
    'a result': singleObserved(result(1)),
    'a null result': singleObserved(result(1, null)),
    'a result next to a null error': singleObserved({ ...result(1), error: null }),
    'a failing call with status 200': observed(
      failing,
      responseOf(200, failure(1), {
        ...rpcHeaders,
        'x-service-rpc-credits': '5',
        'x-service-rpc-cost-usd': '0.00000313',
      }),
    ),
    'an error next to a null result': batchObserved([result(1), result(2), { ...failure('r-3'), result: null }]),
    'an error with an unknown code, and data': batchObserved([
      result(1),
      result(2),
      { jsonrpc: '2.0', id: 'r-3', error: { code: 3, message: 'execution reverted', data: '0x' } },
    ]),
    'the responses of a batch in another order': batchObserved([...batchBody].reverse()),
    'a media type with a charset': singleObserved(result(1), { 'content-type': 'application/json;charset=UTF-8' }),
    // The first request may have been lost, so that another body was the first one.
    'a repeated failing batch that conflicts with its key': refused(repeated, 400),
    'a failing batch above the rate limit': refused(
      batchDescriptor,
      429,
      { error: 'No', customMessage: 'Wait' },
      { 'x-ratelimit-type': 'user', 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' },
    ),
    'a failing batch that the balance does not cover': refused(batchDescriptor, 402),
    'a failing batch whose upstream could not be reached': refused(batchDescriptor, 500, upstream),
    'a failing batch that a gateway could not forward': observed(
      batchDescriptor,
      responseOf(502, '<html>', { 'x-service-version': undefined }),
    ),
    'one failing item among others that a node rejects': ofFour(
      [result(1), failure(2), failure(3), failure('r-3')],
      '35',
    ),
    'a full batch above the rate limit': refused(
      fullBatch,
      429,
      { error: 'No', customMessage: 'Wait' },
      { 'x-ratelimit-type': 'user', 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' },
    ),
    'a full batch that the balance does not cover': refused(fullBatch, 402),
    'a full batch whose upstream could not be reached': refused(fullBatch, 500, upstream),
    'a batch that is one item shorter, rejected for another reason': refused(
      { ...fullBatch, items: fullBatch.items.slice(1) },
      400,
    ),
    'a conflict, which another judge covers': refused(conflict, 400, { error: 'Used' }),
  })

  failsEach({
    'a response as text': [
      'rpc.content-type',
      'content-type is "text/plain", expected application/json',
      singleObserved(result(1), { 'content-type': 'text/plain' }),
    ],
    'no request id': [
      'rpc.request-id',
      'x-request-id is nothing, expected an id',
      singleObserved(result(1), { 'x-request-id': undefined }),
    ],
    'another version of JSON-RPC': [
      'rpc.response',
      'a response is {"jsonrpc":"1.0","id":1,"result":"0x1"}: jsonrpc is "1.0", expected "2.0"',
      singleObserved({ ...result(1), jsonrpc: '1.0' }),
    ],
    'a response with neither result nor error': [
      'rpc.response',
      'a response is {"jsonrpc":"2.0","id":1}: it has neither result nor error',
      singleObserved({ jsonrpc: '2.0', id: 1 }),
    ],
    'a result next to an error': [
      'rpc.response',
      'a response is {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params"},"r...: it has both result and error',
      observed(failing, responseOf(200, { ...failure(1), result: '0x' }, rpcHeaders)),
    ],
    'an error that is a string': [
      'rpc.response',
      'a response is {"jsonrpc":"2.0","id":"r-3","error":"invalid params"}: its error is not an object',
      batchObserved([result(1), result(2), { jsonrpc: '2.0', id: 'r-3', error: 'invalid params' }]),
    ],
    'an error whose code is a string': [
      'rpc.response.error',
      'an error is {"code":"-32000","message":"no"}, expected an integer code and a message',
      batchObserved([result(1), result(2), { ...failure('r-3'), error: { code: '-32000', message: 'no' } }]),
    ],
    'an error without a message': [
      'rpc.response.error',
      'an error is {"code":-32602}, expected an integer code and a message',
      batchObserved([result(1), result(2), { ...failure('r-3'), error: { code: -32602 } }]),
    ],
    'a failing item that fails all others': [
      'rpc.item-failure.alone',
      'all 4 items got an invalid-params error, expected it only for the 1 with invalid params',
      ofFour(
        [1, 2, 3, 'r-3'].map(id => failure(id)),
        '20',
      ),
    ],
    'a full batch that is too long for the service': [
      'rpc.batch.full',
      'a batch of 100 items got status 400, expected 200',
      refused(fullBatch, 400),
    ],
    'a full batch that is too large for the service': [
      'rpc.batch.full',
      'a batch of 100 items got status 413, expected 200',
      refused(fullBatch, 413),
    ],
    'an id returned as a string': [
      'rpc.id',
      'the id was returned as "1", expected 1',
      singleObserved(result('1'), { 'x-service-rpc-credits': '20' }),
    ],
    'an id assigned by the proxy': [
      'rpc.id',
      'the id was returned as 1000001, expected 1',
      singleObserved(result(1_000_001)),
    ],
    'swapped ids of a batch': [
      'rpc.id',
      'item "r-3" has invalid params and got a result, 2 got its error, expected each with its own id',
      batchObserved([result(1), failure(2), result('r-3')], {
        'x-service-rpc-credits': '45',
        'x-service-rpc-cost-usd': '0.00002813',
      }),
    ],
    'a missing response': ['rpc.batch.correlation', 'no response has id "r-3"', batchObserved([result(1), result(2)])],
    'a response that is returned twice': [
      'rpc.batch.correlation',
      'id 1 was returned twice',
      batchObserved([...batchBody, result(1)]),
    ],
    'a response that was not requested': [
      'rpc.batch.correlation',
      'id 7 was not requested',
      batchObserved([...batchBody, result(7)]),
    ],
    'ids of a batch returned as strings': [
      'rpc.batch.correlation',
      'id 1 was returned as "1"; id 2 was returned as "2"; no response has id 1, 2',
      batchObserved([result('1'), result('2'), failure('r-3')]),
    ],
    'an object as the response to a batch': [
      'rpc.batch.correlation',
      'the response to a batch is {"jsonrpc":"2.0","id":1,"result":"0x1"}, expected an array',
      batchObserved(result(1)),
    ],
    'a rejected failing batch': [
      'rpc.item-failure.status',
      'a request with a failing item got status 400, expected 200',
      refused(batchDescriptor, 400),
    ],
    'a rejected failing batch with a new key': [
      'rpc.item-failure.status',
      'a request with a failing item got status 400, expected 200',
      refused(firstUse, 400),
    ],
  })

  test('a batch may be refused for a method that is only assumed of the target, and not for an item that fails', () => {
    const assumed = { ...documentedContract, sources: { 'rpc.methods.evm': 'default' as const } }
    const withText = (error: string) => refused(batchDescriptor, 400, { error })
    const { method } = batchDescriptor.items[0] ?? { method: '' }
    expect(failedClauses(withText(`Unsupported methods: ${method}`), assumed)).toEqual({})
    for (const [text, contract] of [
      [`Unsupported methods: ${method}`, documentedContract],
      [`${method} failed: execution reverted`, assumed],
      ['A batch with an unsupported item', assumed],
    ] as const)
      expect(Object.keys(failedClauses(withText(text), contract))).toEqual(['rpc.item-failure.status'])
  })

  test('with status 500, responses to the items count as their results', () => {
    const observation = refused(batchDescriptor, 500, batchBody)
    expect(failedClauses(observation)['rpc.item-failure.status']).toBe(
      'a request with a failing item got status 500, expected 200',
    )
  })

  test('responses beyond twice the items are one violation, whose cost grows with their number', () => {
    const fromMs = performance.now()
    const failures = failedClauses(batchObserved(Array.from({ length: 200_000 }, (_, index) => result(`x${index}`))))
    expect(failures).toEqual({
      'rpc.batch.correlation': 'a batch of 3 items got 200000 responses, expected one for each',
    })
    // Growing with its square, it would be minutes.
    expect(performance.now() - fromMs).toBeLessThan(20_000)
  })

  test('a list of any length is shortened', () => {
    const items = Array.from({ length: 50 }, (_, id) => ({ id, method: 'eth_call', failing: false }))
    const responses = responseOf(
      200,
      items.map(({ id }) => result(`x${id}`)),
      rpcHeaders,
    )
    const message = failedClauses(observed({ ...batchDescriptor, items }, responses))['rpc.batch.correlation']
    expect(message).toMatch('id "x4" was not requested and 46 more')
  })

  test('a truncated response is not judged', () => {
    const lost = { kind: 'failed', reason: 'connection-lost', detail: '' } as const
    expect(judgedCount('rpc.response', singleObserved('{"json', {}, { outcome: lost }))).toBe(0)
  })

  test('the form of an error is not asserted if the profile leaves it open', () => {
    const rpc = { ...documentedContract.rpc, errorLayout: null }
    const observation = batchObserved([result(1), result(2), { ...failure('r-3'), error: { reason: 'no' } }])
    expect(failedClauses(observation, { ...documentedContract, rpc })).toEqual({})
    expect(failedClauses(observation)).not.toEqual({})
  })

  test('a call on a listed network is not refused as one on an unknown network', () => {
    const says = (error: string, status = 400) => failedClauses(refused(singleDescriptor, status, { error }))
    expect(says('Unsupported RPC network')).toMatchObject({ 'rpc.network.listed': expect.any(String) })
    expect(says('Not found', 404)).toMatchObject({ 'rpc.network.listed': expect.any(String) })
    for (const other of ['eth_call is not available on this network', 'Invalid params']) expect(says(other)).toEqual({})
    expect(failedClauses(refused(failing, 400, { error: 'Unsupported network' }))).not.toHaveProperty(
      'rpc.network.listed',
    )
    const assumed = { ...documentedContract, sources: { 'rpc.networks': 'default' as const } }
    expect(failedClauses(refused(singleDescriptor, 404), assumed)).toEqual({})
  })

  test('an error of a limit refuses a whole request with status 200, if a profile names its code', () => {
    const limitExceeded = { jsonrpc: '2.0', id: null, error: { code: -32005, message: 'limit exceeded' } }
    const named = { ...documentedContract, rpc: { ...documentedContract.rpc, limitCode: -32005 } }
    const refusals = [batchObserved(limitExceeded), batchObserved([limitExceeded]), singleObserved(limitExceeded)]
    for (const observation of refusals) {
      expect(failedClauses(observation, named)).toEqual({})
      expect(failedClauses(observation)).not.toEqual({})
    }
    const other = batchObserved({ ...limitExceeded, error: { code: -32000, message: 'no' } })
    expect(Object.keys(failedClauses(other, named))).toEqual(['rpc.batch.correlation'])
    const bare = { ...limitExceeded, jsonrpc: undefined }
    expect(Object.keys(failedClauses(singleObserved(bare), named))).toEqual(['rpc.response'])
  })
})
