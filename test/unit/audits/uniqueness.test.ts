import { expect, test } from 'vitest'
import { createUniqueness } from '../../../src/audits/uniqueness.ts'
import { createFindingLog } from '../../../src/checks/findings.ts'
import type { Observation, ReplayRole } from '../../../src/observation/observation.ts'
import { answerOf, observed, rpcHeaders, singleAsked } from '../checks/observed.ts'

function judge(observations: Iterable<Observation>) {
  const docket = createFindingLog()
  const audit = createUniqueness(docket.reporterFor('uniqueness'))
  for (const observation of observations) audit.add(observation, 0)
  audit.conclude(true)
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
