import { describe, expect, test } from 'vitest'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import { UsageError } from '../../../../src/lib/usage-error.ts'
import { otlpHeaderSecrets, otlpRules, parseOtlpReceiver } from '../../../../src/outputs/otlp/receiver.ts'
import { readPushResult } from '../../../../src/outputs/remote-write/receiver.ts'

describe('the address of an OpenTelemetry receiver', () => {
  test.each([
    ['a base', 'http://127.0.0.1:4318', 'http://127.0.0.1:4318'],
    ['a base with a slash', 'http://127.0.0.1:4318/', 'http://127.0.0.1:4318'],
    ['a base with a path', 'http://127.0.0.1:9090/api/v1/otlp', 'http://127.0.0.1:9090/api/v1/otlp'],
    ['the full address of metrics', 'https://otlp.example/x/v1/metrics', 'https://otlp.example/x'],
    ['the full address of traces', 'https://otlp.example/x/v1/traces/', 'https://otlp.example/x'],
  ])('%s', (_, address, base) => {
    const { metrics, traces } = parseOtlpReceiver(address, {})
    expect([metrics.address, traces.address]).toEqual([`${base}/v1/metrics`, `${base}/v1/traces`])
    expect([metrics.authorization, metrics.headers]).toEqual([null, {}])
  })

  test('gets credentials and headers from the environment, and hides both in messages', () => {
    const { metrics, traces } = parseOtlpReceiver('http://127.0.0.1:4318', {
      TURNPIKE_OTLP_CREDENTIALS: 'me:hush-93-hush',
      OTEL_EXPORTER_OTLP_HEADERS: 'X-Api-Key=s3cret%2Fkey-7741 , authorization=Bearer%20t0ken-of-tenant-5',
    })
    for (const { authorization, headers, mask } of [metrics, traces]) {
      expect(authorization).toBe('Basic bWU6aHVzaC05My1odXNo')
      expect(headers).toEqual({ 'x-api-key': 's3cret/key-7741', authorization: 'Bearer t0ken-of-tenant-5' })
      expect(mask.text('got hush-93-hush, s3cret/key-7741 and t0ken-of-tenant-5')).toBe('got ***, *** and ***')
    }
  })

  test('keeps no empty header', () => {
    expect(parseOtlpReceiver('http://127.0.0.1:1', { OTEL_EXPORTER_OTLP_HEADERS: '' }).metrics.headers).toEqual({})
    expect(otlpHeaderSecrets('')).toEqual([])
  })

  test.each([
    ['no value', 'hush-93'],
    ['no name', '=hush-93'],
    ['a name with a space', 'a b=hush-93'],
    ['a line break', 'a=hush-93%0d%0ab: c'],
    ['a broken percent sign', 'a=hush-93%'],
  ])('headers with %s are an error, and are not shown', (_, OTEL_EXPORTER_OTLP_HEADERS) => {
    const parse = () => parseOtlpReceiver('http://127.0.0.1:1', { OTEL_EXPORTER_OTLP_HEADERS })
    expect(parse).toThrow(UsageError)
    expect(parse).toThrow(/^OTEL_EXPORTER_OTLP_HEADERS: got something else at its header 1/)
    expect(parse).not.toThrow(/hush/)
  })

  test('a mistake in the address names the flag', () => {
    expect(() => parseOtlpReceiver('localhost:4318', {})).toThrow(/^--otlp: got not an http or https address/)
  })
})

const read = (status: number, body = '', headers: Readonly<Record<string, string>> = {}) =>
  readPushResult(
    { sentMs: 0, headersMs: 1, endMs: 2, status, headers, body: Buffer.from(body), bytes: body.length, failure: null },
    0,
    createMask(['hush-93-hush']),
    otlpRules,
  )

describe('the result of an export', () => {
  test.each([429, 502, 503, 504])('%i: retried later, after the time that it states', status => {
    expect(read(status, '', { 'retry-after': '30' })).toEqual({
      kind: 'later',
      reason: `status ${status}`,
      afterMs: 30_000,
    })
  })

  test.each([400, 401, 404, 413, 500, 501])('%i: refused', status => {
    expect(read(status)).toMatchObject({ kind: 'refused' })
  })

  test.each([
    '{}',
    '',
    '{"partialSuccess":{}}',
    '{"partialSuccess":null}',
    '{"partialSuccess":{"rejectedSpans":"0"}}',
    'ok',
  ])('200 with %s: accepted', body => expect(read(200, body)).toEqual({ kind: 'accepted' }))

  test.each([
    [
      '{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"old, says hush-93-hush"}}',
      3,
      '3 rejected: old, says ***',
    ],
    ['{"partialSuccess":{"rejectedSpans":2}}', 2, '2 rejected'],
    ['{"partialSuccess":{"rejectedDataPoints":"many","errorMessage":"use seconds"}}', 0, '0 rejected: use seconds'],
  ])('200 with %s: accepted in part', (body, rejected, reason) =>
    expect(read(200, body)).toEqual({ kind: 'partial', rejected, reason }),
  )
})
