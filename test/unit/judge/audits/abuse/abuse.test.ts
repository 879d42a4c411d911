import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../../../src/contract/clauses.ts'
import type { Contract } from '../../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createAbuseAudit } from '../../../../../src/judge/audits/abuse/abuse.ts'
import { countedFailureOf } from '../../../../../src/judge/audits/abuse/failure.ts'
import { createSendOrder } from '../../../../../src/judge/audits/send-order.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import type { RequestDescriptor } from '../../../../../src/observation/requests/request.ts'
import { isAbuseBlock } from '../../../../../src/observation/response.ts'
import { todays } from '../../../../support/nightly.ts'
import { observed, responseOf, singleDescriptor, startedAtMs } from '../../checks/observed.ts'
import { blockText, type Fault, type Guarding, guard, type Traffic } from './guard.ts'

function judge(observations: readonly Observation[], abuse: Partial<Contract['abuse']> = {}, shared = false) {
  const contract = { ...documentedContract, abuse: { ...documentedContract.abuse, ...abuse } }
  const findingLog = createFindingLog()
  const audit = createAbuseAudit({ contract, shared, startedAtMs }, findingLog.reporterFor('abuse'))
  const sendOrder = createSendOrder(audit.add)
  for (const observation of observations) sendOrder.add(observation)
  sendOrder.flush()
  audit.finish(true)
  const judged = Object.fromEntries(findingLog.tallies().map(tally => [tally.id, tally.judged]))
  const failed = findingLog.findings().map(({ clause }) => clause)
  const tally = (id: ClauseId) => findingLog.tallies().find(each => each.id === id)
  return { failed, message: findingLog.findings().map(({ message }) => message), judged, tally, blocks: audit.blocks() }
}

const all = Array.from({ length: 12 }, (_, index) => index + 1)
const seeds = todays(all, 5)

describe('an honest service passes', () => {
  const variants: Readonly<Record<string, [Guarding, Partial<Traffic>?]>> = {
    'when half of the requests fail': [{}],
    'when nearly all requests fail': [{}, { failing: 0.95 }],
    'when few requests fail': [{}, { failing: 0.02 }],
    'near the limit': [{}, { failing: 0.5, gapMs: 2_000 }],
    'when responses take as long as the window': [{}, { latencyMs: 30_000 }],
    'when responses take some seconds': [{}, { latencyMs: 4_000, gapMs: 200 }],
    'when a third of the requests get no response': [{}, { lost: 0.33 }],
    'when a third of the responses come from a gateway': [{}, { proxied: 0.33 }],
    'that blocks the failure above the limit': [{ lastFailure: 'blocked' }],
    'that rounds to whole seconds': [{ wholeSeconds: true }],
    'on an account that failed before the run': [{ failedBefore: 20 }],
    'on an account that was blocked before the run': [{ blockedBefore: true }],
    'that uses 403 for a block': [{ status: 403 }],
    'that says it in other words': [
      { text: 'Your recent requests kept failing. Please wait 30 seconds before retrying.' },
    ],
    'that says it as briefly as possible': [{ text: 'Suspended: try again in 30s' }],
  }
  test.each(Object.entries(variants))('%s', (_, [guarding, traffic = {}]) => {
    const blocks: number[] = []
    for (const seed of seeds) {
      const status = guarding.status ?? 429
      const { message, blocks: counted } = judge(guard(guarding, { seed, ...traffic }), { status })
      expect({ seed, message }).toEqual({ seed, message: [] })
      blocks.push(...Object.values(counted))
    }
    expect(blocks.length > 0).toBe(traffic.failing !== 0.02)
  })
})

describe('a service with a wrong abuse block fails', () => {
  const busy = { gapMs: 600, latencyMs: 60, lost: 0, proxied: 0, requests: 900 }
  const faults: Readonly<Record<string, [clause: string, Fault, Partial<Traffic>?]>> = {
    'that never blocks': ['abuse.counts', { limit: Number.POSITIVE_INFINITY }],
    'that blocks one failure late': ['abuse.counts', { limit: 21 }, { failing: 0.9 }],
    'that blocks one failure early': ['abuse.not-early', { limit: 19 }, { failing: 0.6 }],
    'that blocks after ten failures': ['abuse.not-early', { limit: 10 }],
    'that counts successes': ['abuse.counts', { counts: () => true }, { failing: 0.1 }],
    'that does not count a 415': ['abuse.counts', { counts: status => status === 400 }, { failing: 0.9 }],
    'that does not block the proxy': ['abuse.all-requests', { spares: request => request.kind === 'rpc' }],
    'whose block is too short': ['abuse.duration', { blockMs: 20_000 }],
    'whose block is too long': ['abuse.ends', { blockMs: 40_000 }],
    'whose message has no time': ['abuse.message', { text: 'Too many failed attempts. Please retry later.' }],
    'whose message is about something else': ['abuse.message', { text: 'Rate limit exceeded' }],
  }
  test.each(Object.entries(faults))('%s', (_, [clause, fault, traffic = {}]) => {
    // Not every traffic shows each fault.
    const failed = new Set(all.flatMap(seed => judge(guard({}, { seed, ...busy, ...traffic }, fault)).failed))
    expect([...failed]).toContain(clause)
  })
})

type Steps = readonly (readonly [atMs: number, response: number | 'block'])[]

/** Consecutive requests, each with an immediate response: a status or a block. */
function story(...steps: Steps): readonly Observation[] {
  return steps.map(([atMs, response], id) =>
    observed(
      singleDescriptor,
      response === 'block' ? responseOf(429, { error: blockText }) : responseOf(response, { error: 'No' }),
      { id, dueMs: atMs, sentMs: atMs, headersMs: atMs + 5, endMs: atMs + 5 },
    ),
  )
}

const failures = (count: number, fromMs: number) =>
  Array.from({ length: count }, (_, index) => [fromMs + index * 10, 400] as const)

test.each(['Too many failed attempts (> 20) resulting in a non-su', ''])(
  'a block whose body broke off after %j has no message to judge',
  cut => {
    const atMs = 1000
    const broken = observed(singleDescriptor, responseOf(429, cut), {
      id: 21,
      dueMs: atMs,
      sentMs: atMs,
      headersMs: atMs + 5,
      endMs: atMs + 5,
      outcome: { kind: 'failed', reason: 'connection-lost', detail: 'other side closed' },
    })
    const after = story([1500, 'block']).map(observation => ({ ...observation, id: 22 }))
    expect(judge([...story(...failures(21, 0)), broken, ...after]).message).toEqual([])
  },
)

describe('a response with a time to wait is no block', () => {
  const told = (status: number, error: string, headers: Readonly<Record<string, string>> = {}) =>
    isAbuseBlock(responseOf(status, { error }, headers), documentedContract)
  const limited = { 'x-ratelimit-type': 'user' }
  test.each([
    ['a rate limit', told(429, 'Rate limit exceeded. Wait 30s and try again', limited)],
    ['a request that failed at a rate limit', told(429, 'Request failed: rate limit, retry in 30s', limited)],
    ['a rate limit that blocks', told(429, 'Blocked by a rate limit. Wait 30s and try again', limited)],
    ['a rate limit after errors', told(429, 'Rate limit exceeded after 429 errors. Wait 30s and try again', limited)],
    ['too many attempts', told(429, 'Too many attempts, retry in 30s', limited)],
    ['an outage', told(503, 'Model at capacity, retry in 30 seconds')],
    ['another time', told(429, 'Please wait 12 seconds and retry')],
    ['a success', told(200, 'Please wait 30s and try again')],
  ])('%s', (_, isBlock) => expect(isBlock).toBe(false))

  test.each([403, 429, 503])('but a block with status %i is one', status => {
    expect(told(status, 'Blocked after failed requests: wait 30s and retry')).toBe(true)
  })

  test.each([
    'Your recent requests kept failing. Please wait 30 seconds before retrying.',
    'Error budget exhausted: wait, and try again in 30s.',
    'Suspended: try again in 30s',
    'Blocked: more than 20 errors. Wait 30s before the next retry.',
    'Blocked after too many unsuccessful requests. Try again in 30 s.',
    'More than 20 of your requests have failed. Retry in 30s.',
  ])('but a block that states the type of a limit is one: %s', message => {
    expect(told(429, message, limited)).toBe(true)
  })
})

describe('what a violation does not hide is measured', () => {
  test.each([5_000, 20_000, 40_000, 70_000])('a block of %i ms lies between the bounds, on busy callers', blockMs => {
    let measured = 0
    for (const seed of seeds) {
      const traffic = { seed, gapMs: 600, latencyMs: 400, requests: 900, lost: 0, proxied: 0 }
      const said = judge(guard({}, traffic, { blockMs })).tally(blockMs < 30_000 ? 'abuse.duration' : 'abuse.ends')
      const [, min, max] = /^A block lasted between ([\d.]+) s and ([\d.]+) s, documented 30 s\.$/.exec(
        said?.measured ?? '',
      ) ?? [null, null, null]
      if (min === null) continue
      measured++
      expect(Number(min)).toBeLessThanOrEqual(blockMs / 1000 + 0.1)
      expect(Number(max)).toBeGreaterThanOrEqual(blockMs / 1000 - 0.1)
      expect(Number(max) - Number(min)).toBeLessThan(5)
    }
    expect(measured).toBeGreaterThan(seeds.length / 2)
  })

  const failed = [[0, 200], ...failures(21, 40_000), [40_300, 'block']] as const
  const everySecond = (fromS: number, toS: number) =>
    Array.from({ length: toS - fromS }, (_, index) => [(fromS + index) * 1000, 'block'] as const)

  test('a block that never ends is measured as far as it was seen', () => {
    expect(judge(story(...failed, ...everySecond(41, 90))).tally('abuse.ends')?.measured).toBe(
      'A block lasted at least 48.7 s, documented 30 s.',
    )
  })

  test('a block is as precise as the requests around its end', () => {
    const { tally } = judge(story(...failed, ...everySecond(41, 60), [60_000, 200]))
    expect(tally('abuse.duration')?.measured).toBe('A block lasted between 18.7 s and 19.8 s, documented 30 s.')
  })

  test('a block of the documented length has no size to show', () => {
    const { tally } = judge(story(...failed, ...everySecond(41, 70), [71_300, 200]))
    expect(tally('abuse.duration')).toMatchObject({ verdict: 'pass', measured: null })
  })

  test('the failures that a block takes are not counted if it is open which of them counted', () => {
    const steps = [[0, 200], [39_000, 401], ...failures(10, 40_000), [41_000, 'block']] as const
    expect(judge(story(...steps)).tally('abuse.not-early')?.measured).toBe(null)
  })
})

describe('what could not be judged says why', () => {
  const because = (steps: Steps, clause: ClauseId, abuse: Partial<Contract['abuse']> = {}) =>
    judge(story(...steps), abuse).tally(clause)?.because ?? null
  const opening = [0, 200] as const

  test('without a block, its length is hidden by the clause about its beginning', () => {
    const steps = [opening, ...failures(21, 40_000), [41_000, 200]] as const
    for (const clause of ['abuse.duration', 'abuse.ends', 'abuse.all-requests', 'abuse.message'] as const)
      expect(because(steps, clause)).toEqual({
        kind: 'not-judged',
        text: 'no block began when it should',
        clause: 'abuse.block',
      })
    expect(because([opening, ...failures(20, 40_000), [41_000, 200]], 'abuse.duration')).toBe(null)
  })

  test('a block that begins too early hides when it should begin', () => {
    const steps = [opening, ...failures(11, 40_000), [41_000, 'block']] as const
    expect(because(steps, 'abuse.block')).toMatchObject({ clause: 'abuse.not-early' })
  })

  test('failures of a gateway leave open whether a block is missing', () => {
    const lost = failures(21, 40_000).map(([atMs]) => [atMs, 401] as const)
    expect(because([opening, ...lost, [41_000, 200]], 'abuse.block')).toMatchObject({
      kind: 'not-judged',
      text: expect.stringContaining('uncertain which failures counted'),
      clause: null,
    })
  })

  test('a profile without a scope of blocks is named', () => {
    const steps = [opening, ...failures(21, 40_000), [41_000, 'block']] as const
    expect(because(steps, 'abuse.duration', { scope: null })?.text).toContain('abuse.scope')
    expect(because(steps, 'abuse.duration')).toBe(null)
  })
})

describe('counted to the request', () => {
  const opening = [0, 200] as const

  test('the 21st failure blocks, the 20th does not', () => {
    expect(judge(story(opening, ...failures(21, 40_000), [41_000, 200])).message).toEqual([
      'a request got status 200, 0.8 s after more than 20 failures (21 of 400), expected a block of 30 s. A block takes at least 22 failures, documented 21 failures.',
    ])
    expect(judge(story(opening, ...failures(20, 40_000), [41_000, 'block'])).message).toEqual([
      'a request was blocked after 20 failures and 0 other requests, expected a block only after more than 20 failures. A block takes 20 failures, documented 21 failures.',
    ])
    expect(judge(story(opening, ...failures(21, 40_000), [41_000, 'block'])).failed).toEqual([])
    const { failed, judged } = judge(story(opening, ...failures(20, 40_000), [41_000, 200]))
    expect([failed, judged['abuse.not-early']]).toEqual([[], 1])
  })

  test('failures more than 30 s apart are not in one window', () => {
    expect(judge(story(opening, ...failures(20, 40_000), [71_000, 400], [71_100, 200])).failed).toEqual([])
    const blocked = story(opening, ...failures(20, 40_000), [72_000, 400], [72_100, 'block'])
    expect(judge(blocked).failed).toEqual(['abuse.not-early'])
  })

  test('use before the run is unknown; after one window it is known, unless others use the account', () => {
    expect(judge(story(opening, ...failures(3, 1_000), [2_000, 'block'])).failed).toEqual([])
    expect(judge(story(opening, ...failures(3, 40_000), [41_000, 'block'])).failed).toEqual(['abuse.not-early'])
    expect(judge(story(opening, ...failures(3, 40_000), [41_000, 'block']), {}, true).failed).toEqual([])
  })

  test('a block lasts 30 s, with one second of clock tolerance', () => {
    const blocked = [opening, ...failures(21, 40_000), [40_300, 'block']] as const
    expect(judge(story(...blocked, [69_000, 200])).failed).toEqual(['abuse.duration'])
    expect(judge(story(...blocked, [69_400, 200])).failed).toEqual([])
    expect(judge(story(...blocked, [71_100, 'block'])).failed).toEqual([])
    expect(judge(story(...blocked, [71_300, 'block'])).failed).toEqual(['abuse.ends'])
    expect(judge(story(...blocked, [71_300, 200])).judged['abuse.ends']).toBe(1)
  })

  test('a block that continues is reported once', () => {
    const late = Array.from({ length: 50 }, (_, index) => [75_000 + index * 100, 'block'] as const)
    expect(judge(story(opening, ...failures(21, 40_000), [40_300, 'block'], ...late)).message).toHaveLength(1)
  })

  test('a profile may leave the scope of a block open, and then only its message is judged', () => {
    expect(judge(story(opening, ...failures(21, 40_000), [41_000, 200]), { scope: null }).failed).toEqual([])
  })

  test('a profile that counts only client errors asserts nothing about a 429', () => {
    const limited = failures(21, 40_000).map(([atMs]) => [atMs, 429] as const)
    expect(judge(story(opening, ...limited, [41_000, 200])).failed).toEqual(['abuse.counts'])
    expect(judge(story(opening, ...limited, [41_000, 200]), { counts: 'client-errors-but-429' }).failed).toEqual([])
  })

  test('the blocked responses of a stage are counted', () => {
    expect(judge(story(opening, ...failures(21, 40_000), [41_000, 'block'])).blocks).toEqual({ steady: 1 })
  })

  test('any response body is accepted', () => {
    for (const body of [null, [], 'x', '', { error: [] }, { error: { message: 7 } }, { error: { message: blockText } }])
      expect(() => judge([observed(singleDescriptor, responseOf(429, body), { id: 0 })])).not.toThrow()
  })
})

test.each<[RequestDescriptor, number, string | null]>([
  [{ kind: 'probe', probe: 'expired-sign-in' }, 400, 'possible'],
  [{ kind: 'probe', probe: 'balance-of-another-wallet' }, 403, 'certain'],
  [{ kind: 'top-up', step: 'offer', chain: 'base', address: '0x1', payment: null }, 402, 'possible'],
  [singleDescriptor, 402, 'certain'],
  [{ kind: 'models' }, 402, 'possible'],
  [{ kind: 'models' }, 200, null],
])('only a sign-in that is valid tells whose failure it is: %j with %i', (request, status, counted) => {
  const failed = { ...observed(request, responseOf(status, { error: 'No' })), chain: 'base' }
  expect(countedFailureOf(failed, documentedContract)).toBe(counted)
})
