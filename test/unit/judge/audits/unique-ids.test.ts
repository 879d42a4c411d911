import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createIdSet, createUniqueIdsAudit } from '../../../../src/judge/audits/unique-ids.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import { randomStream, textHash } from '../../../../src/lib/random.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { ReplayRole } from '../../../../src/observation/requests/traits.ts'
import {
  chatObserved,
  completion,
  observed,
  responseOf,
  rpcHeaders,
  singleDescriptor,
  streamObserved,
} from '../checks/observed.ts'

function judge(observations: Iterable<Observation>) {
  const findingLog = createFindingLog()
  const audit = createUniqueIdsAudit({ contract: documentedContract }, findingLog.reporterFor('unique-ids'))
  for (const observation of observations) audit.add(observation, 0)
  audit.finish(true)
  return findingLog.findings().map(({ clause, message, examples }) => [clause, message, examples[0]?.requestIds])
}

const answered = (id: number, ray: string, request: string | undefined, replay: ReplayRole | null = null, more = {}) =>
  observed(
    { ...singleDescriptor, replay },
    responseOf(200, {}, { ...rpcHeaders, 'cf-ray': ray, 'x-request-id': request, ...more }),
    {
      id,
    },
  )
const group = (role: ReplayRole['role']): ReplayRole => ({ group: 0, role, concurrent: false })

test('responses with unique ids pass, and so do responses without an id', () => {
  expect(judge([answered(0, 'a', 'x'), answered(1, 'b', 'y'), answered(2, 'c', undefined)])).toEqual([])
})

test('two responses with one CF-RAY fail, whatever the requests', () => {
  const list = observed({ kind: 'models' }, responseOf(200, {}, { 'cf-ray': 'a' }), { id: 4 })
  expect(judge([answered(3, 'a', 'x'), list])).toEqual([
    ['header.cf-ray.unique', 'cf-ray a identifies two requests, expected each to have its own', [3, 4]],
  ])
})

test('two requests with one request id fail', () => {
  expect(judge([answered(3, 'a', 'x'), answered(4, 'b', 'x')])).toEqual([
    ['rpc.request-id.unique', 'x-request-id x identifies two requests, expected each to have its own', [3, 4]],
  ])
})

test('two completions with one id fail, whole or streamed', () => {
  const whole = (id: number, name: unknown) => ({
    ...chatObserved({ ...completion, id: name }, { 'cf-ray': `ray-${id}` }),
    id,
  })
  const streamed = (id: number, ...ids: readonly string[]) => ({ ...streamObserved({ ids }), id })
  expect(judge([whole(0, 'a'), whole(1, 'b'), streamed(2, 'c'), whole(3, 7), whole(4, 7)])).toEqual([])
  expect(judge([streamed(0, 'd', 'e')]), 'another clause judges a stream of several ids').toEqual([])
  const twice = (id: string, ids: readonly number[]) => [
    ['chat.id', `completion id ${id} identifies two requests, expected each to have its own`, ids],
  ]
  expect(judge([whole(0, 'a'), whole(1, 'b'), whole(2, 'a')])).toEqual(twice('a', [0, 2]))
  expect(judge([whole(0, 'a'), streamed(1, 'a')])).toEqual(twice('a', [0, 1]))
})

describe('the challenges of 402s to wallets', () => {
  const refused = (id: number, nonce: string | undefined, more: Partial<Observation> = {}) =>
    observed(
      singleDescriptor,
      responseOf(
        402,
        { error: 'No', siwxChallenge: { info: { nonce } } },
        { 'cf-ray': `ray-${id}`, 'x-request-id': undefined },
      ),
      { id, chain: 'base', ...more },
    )

  test('have a new nonce each time', () => {
    expect(judge([refused(0, 'a'), refused(1, 'b'), refused(2, undefined), refused(3, undefined)])).toEqual([])
    expect(judge([refused(0, 'a'), refused(1, 'b'), refused(2, 'a')])).toEqual([
      ['wallet.insufficient.help', 'the challenge a identifies two requests, expected each to have its own', [0, 2]],
    ])
  })

  test('are no concern of callers with keys', () => {
    expect(judge([refused(0, 'a'), refused(1, 'a', { chain: undefined })])).toEqual([])
  })
})

test('a replay repeats its request id, and whether it is marked is not judged here', () => {
  const first = answered(0, 'a', 'x', group('original'))
  expect(judge([first, answered(1, 'b', 'x', group('duplicate'), { 'idempotent-replayed': 'true' })])).toEqual([])
  expect(judge([first, answered(1, 'b', 'x', group('duplicate'))])).toEqual([])
})

test('a repetition is found among tens of thousands of ids, in bounded memory', () => {
  const many = function* () {
    for (let id = 0; id < 40_000; id++) yield answered(id, `r${id}`, `q${id}`)
    yield answered(40_000, 'r17', 'q40000')
  }
  expect(judge(many()).map(([clause, , requestIds]) => [clause, requestIds])).toEqual([
    ['header.cf-ray.unique', [17, 40_000]],
  ])
})

describe('a set of ids', () => {
  test('returns the first request with an id, and its group', () => {
    const memory = createIdSet(10)
    expect([memory.add('a', 3, null), memory.add('b', 4, 2)]).toEqual([null, null])
    expect([memory.add('a', 5, 1), memory.add('b', 6, null)]).toEqual([
      { id: 3, group: null },
      { id: 4, group: 2 },
    ])
    expect(memory.all()).toEqual([
      ['a', 3],
      ['b', 4],
    ])
  })

  test('surely has the last ids, and none older than twice its size', () => {
    const max = 3_000
    const memory = createIdSet(max)
    for (let id = 0; id < 10_000; id++) {
      expect(memory.add(`id-${id}`, id, null)).toBeNull()
      const early = id - max + 1
      if (early >= 0) expect(memory.add(`id-${early}`, -1, null)).toEqual({ id: early, group: null })
    }
    expect(memory.add('id-0', 10_000, null)).toBeNull()
    expect(memory.all().length).toBeLessThanOrEqual(2 * max)
  })

  test('distinguishes ids with the same hash', () => {
    const [one, other] = twins()
    expect(textHash(one)).toBe(textHash(other))
    const memory = createIdSet(10)
    expect([memory.add(one, 1, null), memory.add(other, 2, null)]).toEqual([null, null])
    expect([memory.add(other, 3, null)?.id, memory.add(one, 4, null)?.id]).toEqual([2, 1])
  })

  test('behaves like a Map', () => {
    const random = randomStream(1, 'ids')
    const [memory, map] = [createIdSet(1_000_000), new Map<string, number>()]
    for (let id = 0; id < 20_000; id++) {
      const value = random.int(8_000).toString(36)
      expect(memory.add(value, id, null)?.id).toBe(map.get(value))
      if (!map.has(value)) map.set(value, id)
    }
    expect(memory.all()).toEqual([...map])
  })
})

/** Two texts with the same hash. There are some among 200,000. */
function twins(): readonly [string, string] {
  const byHash = new Map<number, string>()
  for (let n = 0; ; n++) {
    const text = `r${n.toString(36)}${(n * 7919).toString(36)}`
    const known = byHash.get(textHash(text))
    if (known !== undefined) return [known, text]
    byHash.set(textHash(text), text)
  }
}
