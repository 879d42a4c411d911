import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createRateLimitAudit } from '../../../../../src/judge/audits/rate-limits/rate-limits.ts'
import { createWrongRefusalCheck } from '../../../../../src/judge/audits/rate-limits/wrong-refusal.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { chatDescriptor, observed, responseOf, singleDescriptor, startedAtMs } from '../../checks/observed.ts'

const drawn = {
  name: 'rpc',
  limiter: 'rpc',
  loggedAs: null,
  counters: ['rpc'],
  finest: 'rpc',
  tier: 'default',
  requestsPerMinute: 100,
  tokensPerMinute: null,
  stated: { requestsPerMinute: 100, tokensPerMinute: null },
} as const
const resetMs = startedAtMs + 60_000

/** `left`: a success that states this number of remaining requests. */
type Step = { readonly left: number } | { readonly status: number; readonly states?: number; readonly streamed?: true }

function violationsOf(steps: readonly Step[], everyMs = 1_000): readonly string[] {
  const messages: string[] = []
  const fail = (_: string, message: string) => void messages.push(message)
  const context = { contract: documentedContract, shared: false, startedAtMs }
  const reporter = { ...createFindingLog().reporterFor('rate-limits'), fail }
  const check = createWrongRefusalCheck(context, () => ({ min: 0, max: 0 }), reporter)
  for (const [id, step] of steps.entries()) check.add(requestOf(step, id, id * everyMs), drawn, resetMs)
  check.finish()
  return messages
}

function requestOf(step: Step, id: number, sentMs: number): Observation {
  const response =
    'status' in step
      ? responseOf(step.status, { error: 'No' }, remainingOf(step.states))
      : responseOf(200, {}, remainingOf(step.left))
  const request = 'streamed' in step ? { ...chatDescriptor, stream: true } : singleDescriptor
  return observed(request, response, { id, seq: id, sentMs, headersMs: sentMs + 100, endMs: sentMs + 100 })
}

const remainingOf = (left: number | undefined) =>
  left === undefined ? {} : { 'x-ratelimit-remaining-requests': String(left) }

test('a JSON-RPC error refuses with status 200, if a profile names its code', () => {
  const limitExceeded = { jsonrpc: '2.0', id: null, error: { code: -32005, message: 'limit exceeded' } }
  const rejectedIn = (limitCode: number | null) => {
    const contract = { ...documentedContract, rpc: { ...documentedContract.rpc, limitCode } }
    const log = createFindingLog().reporterFor('rate-limits')
    const audit = createRateLimitAudit({ contract, shared: false, startedAtMs }, log)
    audit.add(observed(singleDescriptor, responseOf(200, limitExceeded), { sentMs: 0, headersMs: 5, endMs: 6 }), 0)
    audit.finish(true)
    return audit.limits().map(({ accepted, rejected }) => [accepted, rejected])
  }
  expect([rejectedIn(-32005), rejectedIn(null)]).toEqual([[[0, 1]], [[1, 0]]])
})

const left = (left: number): Step => ({ left })
const streamed = (status: number, times: number): readonly Step[] =>
  Array.from({ length: times }, () => ({ status, states: 0, streamed: true }))
const status = (status: number, times = 1, states?: number): readonly Step[] =>
  Array.from({ length: times }, () => ({ status, ...(states !== undefined && { states }) }))

describe('a request above its limit', () => {
  test.each([403, 400, 503, 500, 302])('violates its clause if it gets a %i instead of a 429', code => {
    expect(violationsOf([left(1), left(0), ...status(code, 3)])).toEqual([
      `3 requests of rpc without a remaining one, and before its reset, got status ${code}, expected 429`,
    ])
  })
  test('violates it in a burst, where each 503 states that nothing remains', () => {
    expect(violationsOf([left(1), ...status(503, 3, 0), left(0)], 1)).toHaveLength(1)
  })
  test('violates it in a form of its own: streams get a 503, and all else a 429', () => {
    expect(violationsOf([left(0), ...status(429, 2), ...streamed(503, 3)])).toEqual([
      '3 requests of rpc without a remaining one, and before its reset, got status 503, expected 429',
    ])
  })
  test('violates it if it sometimes gets a 403 and sometimes a 429', () => {
    expect(violationsOf([left(0), ...status(429, 3), ...status(403, 3)])).toHaveLength(1)
  })
})

describe('no violation', () => {
  const honest: Readonly<Record<string, readonly Step[]>> = {
    'a 429': [left(0), ...status(429, 5)],
    'a service at capacity that also sends 429': [left(0), ...status(503, 4), ...status(429)],
    'a service that fails in both forms, and rejects in one': [
      left(0),
      ...status(429),
      ...status(503),
      ...streamed(503, 4),
    ],
    'streams that get either status': [left(0), ...streamed(429, 1), ...streamed(503, 4)],
    'two streams with another status': [left(0), ...status(429, 5), ...streamed(503, 2)],
    'an outage in a burst, also while requests remain': [left(3), ...status(503, 2, 2), left(1), ...status(503, 4, 0)],
    'refusals that state another limit': [left(5), ...status(400, 4, 0)],
    'two responses with another status': [left(0), ...status(403, 2)],
    'a limit that refills before its reset': [left(0), left(0), ...status(404, 5)],
    'a request that gets the same status within the limit': [
      left(2),
      ...status(403),
      left(1),
      left(0),
      ...status(403, 4),
    ],
    'a key that is rejected, or has no balance': [left(0), ...status(401, 4), ...status(402, 4)],
    'requests within the limit': [left(5), ...status(403, 4)],
    'requests after a limit that refills': [left(0), left(1), ...status(403, 4)],
  }
  test.each(Object.entries(honest))('%s', (_, steps) => {
    expect(violationsOf(steps)).toEqual([])
  })
  test('requests after the reset', () => {
    expect(violationsOf([left(0), ...status(403, 4)], 61_000)).toEqual([])
  })
})
