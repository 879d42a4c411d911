import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documented } from '../../../../src/contract/documented.ts'
import type { ChatDescriptor, ObservedResponse } from '../../../../src/observation/observation.ts'
import {
  accusations,
  accusesEach,
  chatDescriptor,
  completion,
  observed,
  refused,
  responseOf,
  singleObserved,
  sparesEach,
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
const spoilt = (changes: Partial<ObservedResponse> = {}) =>
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
  sparesEach({
    'gzip where gzip is accepted': answered('gzip', 'gzip'),
    'br where both are accepted': answered('gzip, deflate, br;q=0.5', 'BR'),
    'nothing where neither is accepted': answered('deflate, identity', undefined),
    'nothing where gzip is ruled out': answered('gzip;q=0', undefined),
    'nothing where nothing was asked': answered(null, undefined),
    'a body that is said to be as it is': answered(null, 'identity'),
    'a stream as it is': streamed(undefined),
    'an error as it is': refused(accepting('gzip'), 503),
    'an answer that broke off inside a compressed body': {
      ...spoilt(),
      outcome: { kind: 'failed', reason: 'connection-lost', detail: '' },
    },
    'a gateway that compresses its own troubles': refused(accepting(null), 502, '<html>', {
      'x-service-version': undefined,
      'content-encoding': 'gzip',
    }),
  })

  accusesEach({
    'nothing where gzip is accepted': [
      'chat.compression',
      'content-encoding is null for accept-encoding "gzip", expected gzip',
      answered('gzip', undefined),
    ],
    'deflate, although it is accepted': [
      'chat.compression',
      'content-encoding is "deflate" for accept-encoding "gzip, deflate, br", expected gzip or br',
      answered('gzip, deflate, br', 'deflate'),
    ],
    'br where gzip alone is accepted': [
      'chat.compression',
      'content-encoding is "br" for accept-encoding "gzip, br;q=0", expected gzip',
      answered('gzip, br;q=0', 'br'),
    ],
    'a stream that is compressed': [
      'chat.compression.stream',
      'a stream is encoded as "gzip", expected none',
      streamed('gzip'),
    ],
    'a body that is not what it is said to be': [
      'chat.compression.body',
      'the body is not valid gzip: unexpected end of file',
      spoilt(),
    ],
    'an error that is not what it is said to be': [
      'chat.compression.body',
      'the body is not valid gzip: unexpected end of file',
      spoilt({ status: 404 }),
    ],
    'gzip that nobody asked for': [
      'header.content-encoding',
      'content-encoding is "gzip", expected none',
      answered(null, 'gzip'),
    ],
    'gzip of the RPC proxy that nobody asked for': [
      'header.content-encoding',
      'content-encoding is "gzip", expected none',
      singleObserved({ jsonrpc: '2.0', id: 1, result: '0x1' }, { 'content-encoding': 'gzip' }),
    ],
  })

  test('may be left out where the profile makes it optional, and is judged where it is there', () => {
    const optional: Contract = { ...documented, chat: { ...documented.chat, compression: 'optional' } }
    expect(accusations(answered('gzip', undefined), optional)).toEqual({})
    expect(Object.keys(accusations(answered('gzip', 'br'), optional))).toEqual(['chat.compression'])
  })
})
