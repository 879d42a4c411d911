import { describe, expect, test } from 'vitest'
import { createIdSet, createUniqueIdsAudit } from '../../../../src/judge/audits/unique-ids.ts'
import { createFindingLog } from '../../../../src/judge/checks/findings.ts'
import { randomStream, textHash } from '../../../../src/lib/random.ts'
import type { Observation, ReplayRole } from '../../../../src/observation/observation.ts'
import { answerOf, observed, rpcHeaders, singleAsked } from '../checks/observed.ts'

function judge(observations: Iterable<Observation>) {
  const docket = createFindingLog()
  const audit = createUniqueIdsAudit(docket.reporterFor('uniqueness'))
  for (const observation of observations) audit.add(observation, 0)
  audit.finish(true)
  return docket.findings().map(({ clause, because, examples }) => [clause, because, examples[0]?.seqs])
}

const answered = (seq: number, ray: string, request: string | undefined, replay: ReplayRole | null = null, more = {}) =>
  observed(
    { ...singleAsked, replay },
    answerOf(200, {}, { ...rpcHeaders, 'cf-ray': ray, 'x-request-id': request, ...more }),
    {
      seq,
    },
  )
const group = (role: ReplayRole['role']): ReplayRole => ({ group: 0, role, concurrent: false })

test('answers that each have their own ids are spared, and so are those without an id', () => {
  expect(judge([answered(0, 'a', 'x'), answered(1, 'b', 'y'), answered(2, 'c', undefined)])).toEqual([])
})

test('two answers with one ray are accused, whatever was asked', () => {
  const list = observed({ kind: 'models' }, answerOf(200, {}, { 'cf-ray': 'a' }), { seq: 4 })
  expect(judge([answered(3, 'a', 'x'), list])).toEqual([
    ['header.cf-ray.unique', 'cf-ray a names two requests, expected each to have its own', [3, 4]],
  ])
})

test('two requests with one id are accused', () => {
  expect(judge([answered(3, 'a', 'x'), answered(4, 'b', 'x')])).toEqual([
    ['rpc.request-id.unique', 'x-request-id x names two requests, expected each to have its own', [3, 4]],
  ])
})

test('a replay repeats the id of its request, and whether it says so is not judged here', () => {
  const first = answered(0, 'a', 'x', group('original'))
  expect(judge([first, answered(1, 'b', 'x', group('duplicate'), { 'idempotent-replayed': 'true' })])).toEqual([])
  expect(judge([first, answered(1, 'b', 'x', group('duplicate'))])).toEqual([])
})

test('a repetition is found among tens of thousands of ids, and memory does not grow beyond', () => {
  const many = function* () {
    for (let seq = 0; seq < 40_000; seq++) yield answered(seq, `r${seq}`, `q${seq}`)
    yield answered(40_000, 'r17', 'q40000')
  }
  expect(judge(many()).map(([clause, , seqs]) => [clause, seqs])).toEqual([['header.cf-ray.unique', [17, 40_000]]])
})

describe('a memory of ids', () => {
  test('knows who had an id first, and in which group', () => {
    const memory = createIdSet(10)
    expect([memory.add('a', 3, null), memory.add('b', 4, 2)]).toEqual([null, null])
    expect([memory.add('a', 5, 1), memory.add('b', 6, null)]).toEqual([
      { seq: 3, group: null },
      { seq: 4, group: 2 },
    ])
    expect(memory.all()).toEqual([
      ['a', 3],
      ['b', 4],
    ])
  })

  test('knows the last ones for sure, and none that came twice as many ago', () => {
    const most = 3_000
    const memory = createIdSet(most)
    for (let seq = 0; seq < 10_000; seq++) {
      expect(memory.add(`id-${seq}`, seq, null)).toBeNull()
      const early = seq - most + 1
      if (early >= 0) expect(memory.add(`id-${early}`, -1, null)).toEqual({ seq: early, group: null })
    }
    expect(memory.add('id-0', 10_000, null)).toBeNull()
    expect(memory.all().length).toBeLessThanOrEqual(2 * most)
  })

  test('tells ids of one hash apart', () => {
    const [one, other] = twins()
    expect(textHash(one)).toBe(textHash(other))
    const memory = createIdSet(10)
    expect([memory.add(one, 1, null), memory.add(other, 2, null)]).toEqual([null, null])
    expect([memory.add(other, 3, null)?.seq, memory.add(one, 4, null)?.seq]).toEqual([2, 1])
  })

  test('does what a Map would', () => {
    const random = randomStream(1, 'ids')
    const [memory, map] = [createIdSet(1_000_000), new Map<string, number>()]
    for (let seq = 0; seq < 20_000; seq++) {
      const id = random.int(8_000).toString(36)
      expect(memory.add(id, seq, null)?.seq).toBe(map.get(id))
      if (!map.has(id)) map.set(id, seq)
    }
    expect(memory.all()).toEqual([...map])
  })
})

/** Two texts of one hash: among 200,000 there are some. */
function twins(): readonly [string, string] {
  const byHash = new Map<number, string>()
  for (let n = 0; ; n++) {
    const text = `r${n.toString(36)}${(n * 7919).toString(36)}`
    const known = byHash.get(textHash(text))
    if (known !== undefined) return [known, text]
    byHash.set(textHash(text), text)
  }
}
