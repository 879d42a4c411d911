import { expect, test } from 'vitest'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Evidence, ReportedExample } from '../../../src/report/document.ts'
import { positionOf } from '../../../src/run/evidence.ts'
import { sequenceOf } from '../../../src/run/sequence.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const { plan, contract, observations } = await virtualRun({
  scenario: `name: refusals
seed: 1
callers: { count: 2 }
calls:
  refused: { kind: probe, probe: unlisted-method }
  cheap: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  large: { kind: chat, stream: false, model-tier: L, prompt-tokens: 10, max-completion-tokens: 4 }
stages:
  - { name: list, duration: 2s, shape: sequence, calls: [refused, cheap, refused] }
  - { name: full, duration: 2s, shape: constant, rate: 25/s, exceed-tier: true, mix: { large: 1 } }
`,
})
const inStage = (stage: string) => observations.filter(each => each.stage === stage && each.caller === 'c0')
const facts = (record: readonly Observation[]) => ({
  plan,
  contract,
  observations: async function* () {
    yield* record
  },
})
const example = (cited: readonly Observation[], evidence: readonly Evidence[] = []): ReportedExample => ({
  requestIds: cited.map(({ id }) => id),
  decidedBy: cited.slice(-1).map(({ id }) => id),
  omitted: 0,
  message: 'it differs',
  count: 1,
  evidence,
})
const evidenceFor = (observation: Observation): Evidence => {
  const { id, caller, stage, call, dueMs, sentMs, headersMs, endMs } = observation
  const position = positionOf(observation)
  const unused = { request: null, headers: {}, body: '', sentAt: null, traceId: null }
  return { ...unused, id, caller, stage, call, dueMs, sentMs, headersMs, endMs, position, outcome: 'answered 400' }
}

test('recorded requests are in the order of sending, with what was seen and what decides', async () => {
  const cited = inStage('list')
  const { requests, missing, added } = await sequenceOf(example(cited), facts(observations.toReversed()))
  expect(requests.map(({ id, call, outcome, decides }) => [id, call, outcome, decides])).toEqual([
    [cited[0]?.id, 'refused', 'answered 400', false],
    [cited[1]?.id, 'cheap', 'answered 200', false],
    [cited[2]?.id, 'refused', 'answered 400', true],
  ])
  expect([missing, added]).toEqual([[], 0])
})

test('without a record, the evidence and the plan give the same requests', async () => {
  const cited = [...inStage('list'), ...inStage('full').slice(0, 5)]
  const complete = await sequenceOf(example(cited), facts(observations))
  const rebuilt = await sequenceOf(example(cited, cited.slice(0, 2).map(evidenceFor)), facts([]))
  const contents = (each: typeof rebuilt) =>
    each.requests.map(({ id, call, caller, key, firstId, step }) => [id, call, caller, key, firstId, step])
  expect(contents(rebuilt)).toEqual(contents(complete))
  expect(rebuilt.requests.map(({ outcome }) => outcome === null)).toEqual([
    ...[false, false, true],
    ...[true, true, true, true, true],
  ])
  expect(rebuilt.missing).toEqual([])
})

test('a plan that contradicts the evidence rebuilds nothing', async () => {
  const cited = inStage('list')
  const [first] = cited.map(evidenceFor)
  if (first === undefined) throw new Error('the run has requests')
  const { requests, missing } = await sequenceOf(example(cited, [{ ...first, call: 'cheap' }]), facts([]))
  expect(requests.map(({ id }) => id)).toEqual([first.id])
  expect(missing).toEqual(cited.slice(1).map(({ id }) => id))
})

test('a request that neither the record nor the plan has is missing', async () => {
  const { requests, missing } = await sequenceOf({ ...example([]), requestIds: [999_999] }, facts(observations))
  expect([requests, missing]).toEqual([[], [999_999]])
})

test('a 429 brings the requests that used up its limit', async () => {
  const full = inStage('full')
  const refused = full.filter(({ response }) => response?.status === 429)
  const [first] = refused
  if (first === undefined) throw new Error('the limit was reached')
  const before = full.filter(({ sentMs }) => (sentMs ?? 0) < (first.sentMs ?? 0)).map(({ id }) => id)
  const { requests, added } = await sequenceOf(example([first]), facts(observations))
  expect(before).toHaveLength(20)
  expect(requests.map(({ id }) => id)).toEqual(expect.arrayContaining([...before, first.id]))
  expect(requests.every(({ caller }) => caller === 'c0')).toBe(true)
  expect(added).toBe(requests.length - 1)
  expect(requests.at(-1)).toMatchObject({ id: first.id, decides: true })
})
