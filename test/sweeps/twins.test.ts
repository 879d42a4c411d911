import { expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { streamOf } from '../../src/observation/observation.ts'
import { isChat } from '../../src/observation/requests/chat.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { isNightly } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = 'scenarios/twins.yaml'

const promising = {
  ...documentedContract,
  promises: { only: ['*'], except: ['rpc.protocol.*', 'rpc.coherence.*'] },
}

test('a deterministic completion is the same in a crowd and alone', async () => {
  const { report, observations } = await virtualRun({ scenario, contract: promising })
  expect(report.findings).toEqual([])
  const forms = observations.filter(({ call }) => call === 'fixed-twice')
  const judged = report.clauses.find(({ id }) => id === 'twin.answer')
  expect(judged).toMatchObject({ judged: forms.length / 2, verdict: 'pass' })
  const waits = forms.flatMap(alone => {
    const first = forms.find(
      ({ id }) => isChat(alone.request) && alone.request.twin?.form === 'alone' && id === alone.request.twin.group,
    )
    return first === undefined ? [] : [alone.dueMs - (first.endMs ?? 0)]
  })
  expect(waits.length).toBeGreaterThan(2)
  for (const wait of waits) expect(wait).toBeCloseTo(3_000, -1)
})

test('sampled completions of honest services have no form', async () => {
  for (let seed = 0; seed < (isNightly ? 200 : 5); seed++) {
    const { report } = await virtualRun({ scenario, seed, contract: promising })
    expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
    expect(report.clauses.find(({ id }) => id === 'twin.sampled')).toMatchObject({ judged: 1, verdict: 'pass' })
  }
})

test('many streams at once have each the word that it asked for', async () => {
  const { report, observations } = await virtualRun({ scenario })
  expect(report.findings).toEqual([])
  expect(report.verdict).toBe('pass')
  const crowd = observations.filter(({ call }) => call === 'one-of-many')
  const canaries = crowd.map(({ request }) => (isChat(request) ? request.canary : undefined))
  expect(crowd.length).toBeGreaterThan(16)
  expect(new Set(canaries).size).toBe(crowd.length)
  for (const [index, observation] of crowd.entries())
    expect(streamOf(observation)?.text?.split(' ')[0]).toBe(canaries[index])
  const judged = report.clauses.find(({ id }) => id === 'chat.isolation')
  expect(judged).toMatchObject({ judged: crowd.length, verdict: 'pass' })
})

test.each([
  ['chunk-leaks-in-a-crowd', 'chat.isolation', /^the text has canary-[0-9a-f]{8}, expected canary-[0-9a-f]{8}: /],
  ['json-breaks-in-a-crowd', 'chat.stream.chunk', /./],
  ['answers-change-in-a-crowd', 'twin.answer', /^the form alone has from character 0 on the text "/],
  ['streams-end-earlier', 'twin.sampled', /^\d+ completions in the form streamed have [\d.]+ tokens in the mean/],
  [
    'streams-have-fewer-words',
    'twin.sampled',
    /^a group of words is [\d.]+ % of the text of \d+ completions in the form /,
  ],
  [
    'cut-ends-naturally',
    'twin.length',
    /^a text of the allowed 12 tokens ends with "stop", expected "length", since it goes on/,
  ],
  ['seed-ignored', 'twin.answer', /^the form alone has /],
  ['first-item-answered-as-second', 'twin.result', /^the form other-order has the results/],
  ['batches-cost-one-more', 'twin.credits', /^the form batched has credits 21, expected 20/],
])('%s', async (name, clause, message) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error('no such lie')
  const { report } = await virtualRun({ scenario, lies: [lie], contract: promising })
  expect(report.findings.find(finding => finding.clause === clause)?.message).toMatch(message)
  const others = report.findings.map(finding => finding.clause).filter(id => id !== clause)
  expect(others.filter(id => !lie.alsoViolates.includes(id))).toEqual([])
})
