import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { createAnswerLog, noServiceReason } from '../../../src/judge/answers.ts'
import type { Observation, ObservedResponse } from '../../../src/observation/observation.ts'
import { anObservation, failed } from './metrics/fixtures.ts'

const head = { target: 'http://a.test/v1' }

const got = (status: number, changes: Partial<ObservedResponse> = {}, id = 0): Observation =>
  anObservation({
    id,
    outcome: { kind: 'answered', status },
    response: {
      status,
      headers: {},
      bytes: 2,
      body: { kind: 'json', value: { error: { type: 'x', message: 'Unknown\n path' } }, digest: null },
      ...changes,
    },
  })

function logOf(...observations: readonly Observation[]) {
  const log = createAnswerLog(documentedContract)
  for (const observation of observations) log.add(observation)
  return log
}

const causeIn = (...observations: readonly Observation[]) =>
  noServiceReason(logOf(...observations).answers(), 'complete', head)

const probing = (probe: 'unlisted-method' | 'bad-key', observation: Observation): Observation => ({
  ...observation,
  request: { kind: 'probe', probe } as Observation['request'],
})

test('a wallet whose sign-ins are rejected has no wrong key', () => {
  const ofWallet = { ...got(401), chain: 'base' }
  expect(causeIn(ofWallet, ofWallet)).toBe(
    'The target http://a.test/v1 rejected every sign-in with 401 ("Unknown  path"). Do the clocks agree, and is the domain right?',
  )
  expect(causeIn(got(401), ofWallet)).toContain('rejected every key')
})

test('a single response of the service is enough to judge it', () => {
  for (const status of [200, 400, 402, 415, 429]) expect(causeIn(got(404), got(status), got(404))).toBeNull()
})

test('a stream of the service that breaks off is a response of the service', () => {
  const broken = { ...got(200), outcome: { kind: 'failed', reason: 'connection-lost', detail: '' } } as const
  expect(causeIn(broken, broken)).toBeNull()
})

test('an error of the service itself is one, an error of a gateway is not', () => {
  expect(causeIn(got(500, { headers: { 'x-service-version': '1' } }))).toBeNull()
  expect(causeIn(got(503))).toContain('Every request got 503')
})

test('the refusal that a probe provokes tells nothing', () => {
  expect(causeIn(probing('bad-key', got(401)))).toBeNull()
  expect(causeIn(probing('bad-key', got(401)), got(404))).toContain('Every request got 404')
  expect(causeIn(probing('unlisted-method', got(400)), got(404))).toBeNull()
})

test('the sentence quotes the first error in one line, and names all statuses', () => {
  expect(causeIn(got(405), got(404), got(404))).toBe(
    'Every request got 404 or 405 ("Unknown  path"), 3 in all. Is the base path right?',
  )
})

test('a target without the list with which a run begins may have everything else', () => {
  const beginning = (status: number): Observation => ({ ...got(status), request: { kind: 'rate-limits' } })
  const cause = causeIn(beginning(404), beginning(404))
  expect(cause).toBe(
    'Every request got 404 ("Unknown  path"), 2 in all. Is the base path right? If it is, the target lacks /api_keys/rate_limits: "turnpike learn" writes a profile without it.',
  )
  expect(causeIn(beginning(404), got(404))).toMatch(/Is the base path right\?$/)
  expect(causeIn(beginning(503))).toMatch(/is down\.$/)
})

test('keys that Turnpike invented are named as the cause', () => {
  expect(noServiceReason(logOf(got(401)).answers(), 'unauthorized', { ...head, inventedKeys: true })).toContain(
    'TURNPIKE_KEYS',
  )
  expect(causeIn(got(401))).toContain('rejected every key')
})

test('the address of a redirect is masked to one line and shortened', () => {
  const location = `http://b.test/\u001b[31m${'x'.repeat(500)}`
  const cause = causeIn(got(302, { headers: { location } })) ?? ''
  expect(cause).toContain('redirects to http://b.test/')
  expect(cause).not.toContain('\u001b')
  expect(cause.length).toBeLessThan(300)
})

describe('without any response', () => {
  test('the most frequent failure decides', () => {
    const refused = failed({ outcome: { kind: 'failed', reason: 'connect-refused', detail: '' } })
    expect(causeIn(failed(), refused, refused)).toContain('Nothing listens at a.test')
    expect(causeIn(failed(), failed(), refused)).toContain('closed every connection')
  })

  test('a target that only keeps its callers waiting is judged as before', () => {
    const waiting = failed({ outcome: { kind: 'failed', reason: 'headers-timeout', detail: '' } })
    expect(causeIn(waiting, waiting)).toBeNull()
  })

  test('there is no cause if nothing was sent, or if a worker was lost', () => {
    expect(causeIn()).toBeNull()
    expect(noServiceReason(logOf(failed()).answers(), 'worker-lost', head)).toBeNull()
  })
})

test('workers merge to the same cause in either order', () => {
  const [a, b] = [logOf(got(404, {}, 4)), logOf(got(405, { body: { kind: 'empty' } }, 3), failed())]
  const [ab, ba] = [logOf(), logOf()]
  for (const each of [a, b]) ab.merge(each.answers())
  for (const each of [b, a]) ba.merge(each.answers())
  expect(noServiceReason(ab.answers(), 'complete', head)).toBe(
    'Every request got 404 or 405, 2 in all. Is the base path right?',
  )
  expect(noServiceReason(ba.answers(), 'complete', head)).toBe(noServiceReason(ab.answers(), 'complete', head))
  ab.merge(logOf(got(200)).answers())
  expect(noServiceReason(ab.answers(), 'complete', head)).toBeNull()
})
