import { describe, expect, test } from 'vitest'
import type { Observation } from '../../../../src/observation/observation.ts'
import {
  batchBody,
  batchObserved,
  chatObserved,
  completion,
  failedClauses,
  observed,
  passesEach,
  responseOf,
  result,
  singleObserved,
  streamObserved,
} from './observed.ts'

/** The same observation with another status. */
const withStatus = ({ response, ...more }: Observation, status: number): Observation => ({
  ...more,
  outcome: { kind: 'answered', status },
  response: response && { ...response, status },
})

describe.each([201, 202, 203, 204, 206, 226, 299])('a success with status %d', status => {
  const message = `a success has status ${status}, expected 200`

  test.each([
    ['chat.status', 'a completion', chatObserved(completion)],
    ['chat.status', 'a stream', streamObserved({})],
    ['rpc.status', 'a JSON-RPC response', singleObserved(result(1))],
    ['rpc.status', 'a batch with a failing item', batchObserved(batchBody)],
  ] as const)('violates %s as %s, and nothing else', (clause, _, observation) => {
    expect(failedClauses(withStatus(observation, status))).toEqual({ [clause]: message })
  })

  test.each([
    ['chat.status', 'chat.object', chatObserved({ ...completion, object: 'text_completion' })],
    ['chat.status', 'limit.tokens.headers', chatObserved(completion, { 'x-ratelimit-limit-tokens': undefined })],
    ['chat.status', 'chat.stream.chunk', streamObserved({ ids: ['a', 'b'] })],
    ['rpc.status', 'rpc.id', singleObserved(result(2))],
    ['rpc.status', 'rpc.credits.amount', singleObserved(result(1), { 'x-service-rpc-credits': '21' })],
  ] as const)('hides nothing: %s beside %s', (clause, other, observation) => {
    const failed = failedClauses(withStatus(observation, status))
    expect(Object.keys(failed)).toEqual(expect.arrayContaining([clause, other]))
  })
})

describe('where the document shows no status', () => {
  const list = (kind: 'models' | 'networks' | 'rate-limits' | 'rate-limit-logs', body: unknown) =>
    withStatus(observed({ kind }, responseOf(200, body)), 203)
  passesEach({
    'a list of networks with another success': list('networks', { networks: ['base-mainnet'] }),
    'a list of models with another success': list('models', { object: 'list', data: [] }),
    'a log with another success': list('rate-limit-logs', { object: 'list', data: [] }),
  })

  test('a list in such a response is judged like any other', () => {
    const limits = [{ apiModelId: 'ref-small-24b', rateLimits: [{ amount: 4500, type: 'RPM' }] }]
    expect(failedClauses(list('rate-limits', { data: { rateLimits: limits } }))).toEqual({
      'catalogue.rate-limits': 'ref-small-24b has {"amount":4500,"type":"RPM"}, expected 75 (default S)',
    })
  })
})
