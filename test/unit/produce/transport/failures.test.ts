import { errors } from 'undici'
import { describe, expect, test } from 'vitest'
import { transportFailureOf } from '../../../../src/produce/transport/failures.ts'

const coded = (code: string): Error => Object.assign(new Error(`it said ${code}`), { code })

describe('codes with one meaning in every connection state', () => {
  test.each([
    ['ECONNREFUSED', 'connect-refused'],
    ['EHOSTUNREACH', 'connect-refused'],
    ['ENETUNREACH', 'connect-refused'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect-timeout'],
    ['ENOTFOUND', 'name-not-resolved'],
    ['EAI_AGAIN', 'name-not-resolved'],
    ['ECONNRESET', 'connection-lost'],
    ['EPIPE', 'connection-lost'],
    ['UND_ERR_SOCKET', 'connection-lost'],
    ['UND_ERR_HEADERS_TIMEOUT', 'headers-timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'idle-timeout'],
    ['UND_ERR_HEADERS_OVERFLOW', 'protocol'],
    ['EPROTO', 'tls'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['CERT_NOT_YET_VALID', 'tls'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls'],
    ['HOSTNAME_MISMATCH', 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
    ['UND_ERR_DESTROYED', 'cancelled'],
    ['UND_ERR_ABORTED', 'cancelled'],
    ['UND_ERR_INVALID_ARG', 'cancelled'],
  ] as const)('%s is %s', (code, reason) => {
    for (const state of ['opening', 'open', 'ended'] as const) {
      expect(transportFailureOf(coded(code), state)).toEqual({ reason, detail: `it said ${code}` })
    }
  })
})

describe('codes whose meaning depends on the connection state', () => {
  test.each([
    ['ETIMEDOUT', 'opening', 'connect-timeout'],
    ['ETIMEDOUT', 'open', 'connection-lost'],
    ['HPE_INVALID_CHUNK_SIZE', 'open', 'protocol'],
    ['HPE_INVALID_EOF_STATE', 'ended', 'connection-lost'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'open', 'protocol'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ended', 'connection-lost'],
    ['EMFILE', 'opening', 'no-file-descriptors'],
    ['ENFILE', 'opening', 'no-file-descriptors'],
    ['EADDRNOTAVAIL', 'opening', 'no-local-ports'],
    ['ENOBUFS', 'opening', 'no-memory'],
    ['EPERM', 'opening', 'not-permitted'],
    ['ENOBUFS', 'open', 'cancelled'],
    ['EADDRNOTAVAIL', 'open', 'connection-lost'],
    ['ESOMETHING', 'opening', 'connect-refused'],
    ['ESOMETHING', 'open', 'connection-lost'],
    ['toString', 'open', 'connection-lost'],
  ] as const)('%s on a connection that is %s is %s', (code, state, reason) => {
    expect(transportFailureOf(coded(code), state).reason).toBe(reason)
  })

  test("an error of undici's parser has no code and is recognized by its class", () => {
    const error = new errors.HTTPParserError('bad')
    expect(transportFailureOf(error, 'open')).toEqual({ reason: 'protocol', detail: 'HTTPParserError: bad' })
    expect(transportFailureOf(error, 'ended').reason).toBe('connection-lost')
  })
})

describe('several addresses tried', () => {
  test('an AggregateError with a code has the meaning of that code', () => {
    const error = Object.assign(new AggregateError([coded('ETIMEDOUT')]), { code: 'ECONNREFUSED' })
    expect(transportFailureOf(error, 'opening').reason).toBe('connect-refused')
  })

  test('an AggregateError without a code has the meaning of its first error with a code', () => {
    const error = new AggregateError([new Error('?'), new AggregateError([coded('ENETUNREACH')]), coded('ENOTFOUND')])
    expect(transportFailureOf(error, 'opening')).toEqual({ reason: 'connect-refused', detail: 'ENETUNREACH: ' })
  })

  test('an empty AggregateError is an error without a code', () => {
    expect(transportFailureOf(new AggregateError([]), 'opening').reason).toBe('cancelled')
  })
})

describe('the detail', () => {
  test('includes the code if the message does not', () => {
    expect(
      transportFailureOf(Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }), 'open').detail,
    ).toBe('UND_ERR_SOCKET: other side closed')
  })

  test('is one line of at most 160 characters', () => {
    const detail = transportFailureOf(
      Object.assign(new Error(`a\n  b${'c'.repeat(500)}`), { code: 'EPIPE' }),
      'open',
    ).detail
    expect(detail).toMatch(/^EPIPE: a bc+$/)
    expect(detail).toHaveLength(160)
  })

  test.each([
    ['SyntaxError in the harness', new SyntaxError('Unexpected token in "Bearer key"')],
    ['string in the harness', 'Bearer key'],
    ['undefined in the harness', undefined],
  ])('is "%s" for an error without a code, whose message could quote anything', (detail, error) => {
    expect(transportFailureOf(error, 'open')).toEqual({ reason: 'cancelled', detail })
  })
})
