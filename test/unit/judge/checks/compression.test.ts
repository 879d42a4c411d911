import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { ObservedResponse } from '../../../../src/observation/observation.ts'
import type { ChatDescriptor } from '../../../../src/observation/requests/chat.ts'
import {
  chatDescriptor,
  completion,
  failedClauses,
  failsEach,
  observed,
  passesEach,
  refused,
  responseOf,
  singleObserved,
  streamObserved,
  tokenHeaders,
} from './observed.ts'

const accepting = (encoding: string | null, stream = false): ChatDescriptor => ({
  ...chatDescriptor,
  stream,
  options: { body: {}, parameters: {}, suffix: null, encoding, samePrompt: false },
})
const answered = (accepted: string | null, encoding: string | undefined) =>
  observed(accepting(accepted), responseOf(200, completion, { ...tokenHeaders, 'content-encoding': encoding }))
const mislabeled = (changes: Partial<ObservedResponse> = {}) =>
  observed(accepting('gzip'), {
    ...responseOf(200, '', { ...tokenHeaders, 'content-encoding': 'gzip' }),
    body: { kind: 'undecodable', encoding: 'gzip', why: 'unexpected end of file' },
    ...changes,
  })
const streamed = (encoding: string | undefined) => {
  const { response, ...plain } = streamObserved({})
  const { headers } = responseOf(200, {}, { ...response?.headers, 'content-encoding': encoding })
  return { ...plain, request: accepting('gzip', true), response: response && { ...response, headers } }
}

describe('compression', () => {
  passesEach({
    'gzip where gzip is accepted': answered('gzip', 'gzip'),
    'br where both are accepted': answered('gzip, deflate, br;q=0.5', 'BR'),
    'no encoding if neither is accepted': answered('deflate, identity', undefined),
    'no encoding if gzip is excluded': answered('gzip;q=0', undefined),
    'no encoding if none was requested': answered(null, undefined),
    'a body with the encoding identity': answered(null, 'identity'),
    'an unencoded stream': streamed(undefined),
    'an unencoded error': refused(accepting('gzip'), 503),
    'a response truncated inside a compressed body': {
      ...mislabeled(),
      outcome: { kind: 'failed', reason: 'connection-lost', detail: '' },
    },
    'a compressed error of a gateway': refused(accepting(null), 502, '<html>', {
      'x-service-version': undefined,
      'content-encoding': 'gzip',
    }),
  })

  failsEach({
    'no encoding although gzip is accepted': [
      'chat.compression',
      'content-encoding is null for accept-encoding "gzip", expected gzip',
      answered('gzip', undefined),
    ],
    'deflate, although it is accepted': [
      'chat.compression',
      'content-encoding is "deflate" for accept-encoding "gzip, deflate, br", expected gzip or br',
      answered('gzip, deflate, br', 'deflate'),
    ],
    'br when only gzip is accepted': [
      'chat.compression',
      'content-encoding is "br" for accept-encoding "gzip, br;q=0", expected gzip',
      answered('gzip, br;q=0', 'br'),
    ],
    'a compressed stream': [
      'chat.compression.stream',
      'a stream is encoded as "gzip", expected none',
      streamed('gzip'),
    ],
    'a body that does not match its encoding': [
      'chat.compression.body',
      'the body is not valid gzip: unexpected end of file',
      mislabeled(),
    ],
    'an error that does not match its encoding': [
      'chat.compression.body',
      'the body is not valid gzip: unexpected end of file',
      mislabeled({ status: 404 }),
    ],
    'gzip that was not requested': [
      'header.content-encoding',
      'content-encoding is "gzip", expected none',
      answered(null, 'gzip'),
    ],
    'gzip from the RPC proxy that was not requested': [
      'header.content-encoding',
      'content-encoding is "gzip", expected none',
      singleObserved({ jsonrpc: '2.0', id: 1, result: '0x1' }, { 'content-encoding': 'gzip' }),
    ],
  })

  test('is optional if the profile says so, and is judged if present', () => {
    const optional: Contract = { ...documentedContract, chat: { ...documentedContract.chat, compression: 'optional' } }
    expect(failedClauses(answered('gzip', undefined), optional)).toEqual({})
    expect(Object.keys(failedClauses(answered('gzip', 'br'), optional))).toEqual(['chat.compression'])
  })
})
