import { describe, expect, test } from 'vitest'
import { documented } from '../../../../src/contract/documented.ts'
import {
  accusations,
  accusesEach,
  batchBody,
  batchDescriptor,
  batchObserved,
  failure,
  judgedCount,
  observed,
  refused,
  responseOf,
  result,
  rpcHeaders,
  singleDescriptor,
  singleObserved,
  sparesEach,
} from './observed.ts'

const failing = { ...singleDescriptor, items: [{ id: 1, method: 'eth_getBalance', failing: true }] }
const conflict = { ...batchDescriptor, replay: { group: 4, role: 'conflict' as const, concurrent: false } }
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

describe('RPC answers', () => {
  sparesEach({
    'a result': singleObserved(result(1)),
    'a result that is null': singleObserved(result(1, null)),
    'a result beside an error that is null': singleObserved({ ...result(1), error: null }),
    'a failing call that is answered with 200': observed(
      failing,
      responseOf(200, failure(1), {
        ...rpcHeaders,
        'x-service-rpc-credits': '5',
        'x-service-rpc-cost-usd': '0.00000313',
      }),
    ),
    'an error beside a result that is null': batchObserved([result(1), result(2), { ...failure('r-3'), result: null }]),
    'an error of a code that is not known, with data': batchObserved([
      result(1),
      result(2),
      { jsonrpc: '2.0', id: 'r-3', error: { code: 3, message: 'execution reverted', data: '0x' } },
    ]),
    'the responses of a batch in another order': batchObserved([...batchBody].reverse()),
    'a media type with a charset': singleObserved(result(1), { 'content-type': 'application/json;charset=UTF-8' }),
    'a failing batch that was refused for its number': refused(
      batchDescriptor,
      429,
      { error: 'No', customMessage: 'Wait' },
      { 'x-ratelimit-type': 'user', 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' },
    ),
    'a failing batch that nobody can pay': refused(batchDescriptor, 402),
    'a failing batch whose upstream could not be reached': refused(batchDescriptor, 500, upstream),
    'a failing batch that a gateway could not pass on': observed(
      batchDescriptor,
      responseOf(502, '<html>', { 'x-service-version': undefined }),
    ),
    'one failing item among others that a node does not like': ofFour(
      [result(1), failure(2), failure(3), failure('r-3')],
      '35',
    ),
    'a full batch that comes too often': refused(
      fullBatch,
      429,
      { error: 'No', customMessage: 'Wait' },
      { 'x-ratelimit-type': 'user', 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' },
    ),
    'a full batch that nobody can pay': refused(fullBatch, 402),
    'a full batch whose upstream could not be reached': refused(fullBatch, 500, upstream),
    'a batch that is one shorter and refused for another reason': refused(
      { ...fullBatch, items: fullBatch.items.slice(1) },
      400,
    ),
    'a conflict, which is another judge’s': observed(conflict, responseOf(400, { error: 'Used' }, rpcHeaders)),
  })

  accusesEach({
    'an answer as text': [
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
    'a result beside an error': [
      'rpc.response',
      'a response is {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params"},"r...: it has both result and error',
      observed(failing, responseOf(200, { ...failure(1), result: '0x' }, rpcHeaders)),
    ],
    'an error that is a text': [
      'rpc.response',
      'a response is {"jsonrpc":"2.0","id":"r-3","error":"invalid params"}: its error is not an object',
      batchObserved([result(1), result(2), { jsonrpc: '2.0', id: 'r-3', error: 'invalid params' }]),
    ],
    'an error whose code is a text': [
      'rpc.response.error',
      'an error is {"code":"-32000","message":"no"}, expected an integer code and a message',
      batchObserved([result(1), result(2), { ...failure('r-3'), error: { code: '-32000', message: 'no' } }]),
    ],
    'an error without a message': [
      'rpc.response.error',
      'an error is {"code":-32602}, expected an integer code and a message',
      batchObserved([result(1), result(2), { ...failure('r-3'), error: { code: -32602 } }]),
    ],
    'one failing item that spoils all others': [
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
    'an id that was returned as a text': [
      'rpc.id',
      'the id was returned as "1", expected 1',
      singleObserved(result('1'), { 'x-service-rpc-credits': '20' }),
    ],
    'an id of the proxy': ['rpc.id', 'the id was returned as 1000001, expected 1', singleObserved(result(1_000_001))],
    'ids of a batch that were swapped': [
      'rpc.id',
      'item "r-3" has invalid params and got a result, 2 got its error, expected each with its own id',
      batchObserved([result(1), failure(2), result('r-3')], {
        'x-service-rpc-credits': '45',
        'x-service-rpc-cost-usd': '0.00002813',
      }),
    ],
    'a missing response': ['rpc.batch.correlation', 'no response has id "r-3"', batchObserved([result(1), result(2)])],
    'a response that comes twice': [
      'rpc.batch.correlation',
      'id 1 was returned twice',
      batchObserved([...batchBody, result(1)]),
    ],
    'a response that nobody asked for': [
      'rpc.batch.correlation',
      'id 7 was not requested',
      batchObserved([...batchBody, result(7)]),
    ],
    'ids of a batch that became texts': [
      'rpc.batch.correlation',
      'id 1 was returned as "1"; id 2 was returned as "2"; no response has id 1, 2',
      batchObserved([result('1'), result('2'), failure('r-3')]),
    ],
    'an object in answer to a batch': [
      'rpc.batch.correlation',
      'the response to a batch is {"jsonrpc":"2.0","id":1,"result":"0x1"}, expected an array',
      batchObserved(result(1)),
    ],
    'a failing batch that is refused': [
      'rpc.item-failure.status',
      'a request with a failing item got status 400, expected 200',
      refused(batchDescriptor, 400),
    ],
  })

  test('responses to the items under a status of 500 are an answer to them', () => {
    const observation = refused(batchDescriptor, 500, batchBody)
    expect(accusations(observation)['rpc.item-failure.status']).toBe(
      'a request with a failing item got status 500, expected 200',
    )
  })

  test('a list that the target makes too long is told in brief', () => {
    const message = accusations(batchObserved(Array.from({ length: 5000 }, (_, index) => result(`x${index}`))))
    expect(message['rpc.batch.correlation']).toBe(
      'id "x0" was not requested; id "x1" was not requested; id "x2" was not requested; id "x3" was not requested; id "x4" was not requested and 4996 more',
    )
  })

  test('an answer that broke off is not judged', () => {
    const lost = { kind: 'failed', reason: 'connection-lost', detail: '' } as const
    expect(judgedCount('rpc.response', singleObserved('{"json', {}, { outcome: lost }))).toBe(0)
  })

  test('what an error says is not asserted where the profile is silent', () => {
    const rpc = { ...documented.rpc, errorLayout: null }
    const observation = batchObserved([result(1), result(2), { ...failure('r-3'), error: { reason: 'no' } }])
    expect(accusations(observation, { ...documented, rpc })).toEqual({})
    expect(accusations(observation)).not.toEqual({})
  })
})
