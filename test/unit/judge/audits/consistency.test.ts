import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createConsistencyAudit } from '../../../../src/judge/audits/consistency.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { chatDescriptor, chatObserved, completion, observed, responseOf, startedAtMs } from '../checks/observed.ts'

/** The findings, and how often each clause was judged. */
function judge(observations: readonly Observation[]) {
  const findingLog = createFindingLog()
  const audit = createConsistencyAudit(
    { contract: documentedContract, shared: false, startedAtMs },
    findingLog.reporterFor('consistency'),
  )
  for (const [id, observation] of observations.entries()) audit.add({ ...observation, id }, 0)
  audit.finish(true)
  const judged = findingLog.tallies().filter(tally => tally.judged > 0)
  return {
    found: findingLog.findings().map(({ clause, message }) => `${clause}: ${message}`),
    judged: Object.fromEntries(judged.map(tally => [tally.id, tally.judged])),
  }
}

const dated = (date: string) => chatObserved(completion, { date })
const named = (name: string, id = 'ref-small-24b') =>
  chatObserved(completion, { 'x-service-model-id': id, 'x-service-model-name': name })

test('a Date with the wrong day of the week fails', () => {
  expect(judge([dated('Fri, 15 Jan 2026 12:00:01 GMT')]).found).toEqual([
    'header.date.instant: date is "Fri, 15 Jan 2026 12:00:01 GMT", expected the weekday Thu',
  ])
})

test('a Date may be off by hours, but not by days', () => {
  expect(judge([dated('Thu, 15 Jan 2026 20:00:01 GMT')]).found).toEqual([])
  expect(judge([dated('Thu, 15 Jan 2026 12:00:01 GMT'), dated('Sat, 17 Jan 2026 12:00:01 GMT')]).found).toEqual([
    'header.date.instant: date is "Sat, 17 Jan 2026 12:00:01 GMT" at Thu, 15 Jan 2026 12:00:01 GMT, expected it within a day',
  ])
})

test('if every Date is off by the same days, our own clock is wrong', () => {
  const wrong = dated('Sat, 17 Jan 2009 12:00:01 GMT')
  expect(judge([wrong, wrong, wrong]).found).toEqual([])
  expect(judge([wrong, dated('Mon, 19 Jan 2009 12:00:01 GMT')]).found).toHaveLength(1)
})

test('a Date may be reused for some seconds, but must not stand still', () => {
  const at = (seconds: number) =>
    chatObserved(
      completion,
      { date: 'Thu, 15 Jan 2026 12:00:01 GMT' },
      { sentMs: 1_000 * (1 + seconds), headersMs: 1_000 * (1 + seconds) },
    )
  expect(judge([at(0), at(15), at(30)]).found).toEqual([])
  expect(judge([at(0), at(15), at(31)]).found).toEqual([
    'header.date.instant: date is still "Thu, 15 Jan 2026 12:00:01 GMT" after 31 s, expected the time of the response',
  ])
})

test('a Date of the arrival of a slow request does not stand still', () => {
  const date = 'Thu, 15 Jan 2026 12:00:01 GMT'
  const slow = chatObserved(completion, { date }, { sentMs: 1_000, headersMs: 91_000 })
  expect(judge([dated(date), slow]).found).toEqual([])
})

test('a Date that is hours away from those before and after it fails, on calls alone', () => {
  const right = dated('Thu, 15 Jan 2026 12:00:01 GMT')
  const early = dated('Thu, 15 Jan 2026 11:00:01 GMT')
  const late = dated('Thu, 15 Jan 2026 14:00:01 GMT')
  const finding = (date: string, distance: string) =>
    `header.date.instant: date is "${date}", ${distance} the Date of other responses at that time, expected the time of the response`
  expect(judge([right, early, right]).found).toEqual([finding('Thu, 15 Jan 2026 11:00:01 GMT', '60 minutes before')])
  expect(judge([right, late, right]).found).toEqual([finding('Thu, 15 Jan 2026 14:00:01 GMT', '120 minutes after')])
  expect(judge([right, late, late]).found, 'the machine of the run slept for two hours').toEqual([])
  expect(judge([right, dated('Thu, 15 Jan 2026 12:09:01 GMT'), right]).found, 'a second server').toEqual([])
  const cached = observed({ kind: 'models' }, responseOf(200, {}, { date: 'Thu, 15 Jan 2026 11:00:01 GMT' }))
  expect(judge([right, cached, right]).found, 'a list from a cache').toEqual([])
  const old = chatObserved(
    completion,
    { date: 'Thu, 15 Jan 2026 12:00:01 GMT' },
    { sentMs: 1_000, headersMs: 1_000_000 },
  )
  expect(judge([right, old, right]).found, 'a Date of the arrival').toEqual([])
})

test('a Date in another format is not judged', () => {
  expect(judge([dated('yesterday'), dated('')]).judged).toEqual({ 'header.model-name.stable': 1 })
})

test('a model that changes its name fails with both names', () => {
  const { found, judged } = judge([named('Small'), named('Nano', 'ref-nano-3b'), named('Small'), named('SMALL')])
  expect(found).toEqual([
    'header.model-name.stable: ref-small-24b is called "SMALL", and was called "Small" before, expected a single name',
  ])
  expect(judged['header.model-name.stable']).toBe(2)
})

test('a gateway error is not judged', () => {
  const strange = { 'x-service-version': undefined, date: 'Sat, 17 Jan 2009 12:00:01 GMT' }
  expect(judge([observed(chatDescriptor, responseOf(502, 'Bad Gateway', strange))]).judged).toEqual({})
})

test('a completion without a text fails if the model shows all tokens of its others', () => {
  const said = (content: unknown, finish = 'stop', more: object = {}) =>
    chatObserved({
      ...completion,
      choices: [{ index: 0, message: { role: 'assistant', content, ...more }, finish_reason: finish, logprobs: null }],
      usage: { prompt_tokens: 200, completion_tokens: 30, total_tokens: 230 },
    })
  const texts = (...lengths: readonly number[]) => lengths.map(length => said('a'.repeat(length)))
  const usual = texts(120, 130, 140, 150, 200)
  const ofText = (observations: readonly Observation[]) =>
    judge(observations).found.filter(message => message.startsWith('chat.usage.text'))
  expect(ofText([...usual, said('')])).toEqual([
    'chat.usage.text: 30 completion tokens have no text, expected 4.0 characters per token or more, as in 5 other completions of the model',
  ])
  const spared: Readonly<Record<string, readonly Observation[]>> = {
    'too few others': [...texts(120, 130, 140, 150), said('')],
    'others with hidden tokens': [...usual, ...texts(40), said('')],
    'reasoning that another completion shows': [...usual, said('a', 'stop', { reasoning_content: 'Hm.' }), said('')],
    'reasoning that the token limit cut': [...usual, said('', 'length')],
    'a call of a tool': [...usual, said(null, 'tool_calls', { tool_calls: [{ id: 'a' }] })],
    'a message without content, which another clause judges': [...usual, said(null)],
    'a refusal': [...usual, said(null, 'stop', { refusal: 'No.' })],
    'a text of parts': [...usual, said([{ type: 'text', text: '' }])],
  }
  for (const [why, observations] of Object.entries(spared)) expect(ofText(observations), why).toEqual([])
})

test('a page with the items of another page fails, unless the list has changed', () => {
  const page = (number: number, items: readonly unknown[], total = 6) =>
    observed(
      { kind: 'resource', resource: 'characters', body: null, page: number, limit: 2, timestampMs: null },
      responseOf(
        200,
        { object: 'list', data: items },
        { 'x-pagination-page': `${number}`, 'x-pagination-limit': '2', 'x-pagination-total': `${total}` },
      ),
    )
  const ofPages = (...pages: readonly Observation[]) =>
    judge(pages).found.filter(message => message.startsWith('header.pagination.items'))
  const [first, second] = [
    [{ id: 'a' }, { id: 'b' }],
    [{ id: 'c' }, { id: 'd' }],
  ]
  expect(ofPages(page(1, first), page(2, first))).toEqual([
    'header.pagination.items: page "2" has the same 2 items as page "1", expected others',
  ])
  expect(ofPages(page(1, first), page(2, second), page(1, first))).toEqual([])
  expect(ofPages(page(1, first), page(2, first, 8)), 'two more items came first').toEqual([])
  expect(ofPages(page(1, first), page(2, [{ id: 'b' }, { id: 'c' }]))).toEqual([
    'header.pagination.items: page "2" has the item "b" of page "1", too, expected it once',
  ])
  expect(ofPages(page(1, first), page(2, second), page(3, [{ id: 'd' }]))).toEqual([
    'header.pagination.items: page "3" has the item "d" of page "2", too, expected it once',
  ])
  const unnamed = (amount: number) => [{ amount }, { amount: amount + 1 }]
  expect(ofPages(page(1, unnamed(1)), page(2, unnamed(2))), 'equal items without an id').toEqual([])
  const alike = [{ amount: 0 }, { amount: 0 }]
  expect(ofPages(page(1, alike), page(2, alike)), 'items without an id').toEqual([])
})
