import { expect, test } from 'vitest'
import type { Evidence, Report, ReportedExample } from '../../../../src/report/document.ts'
import { renderers } from '../../../../src/report/render/renderers.ts'
import { causesOf, findingBlocks, relevantHeaders } from '../../../../src/report/sections/findings.ts'
import { failingReport } from '../fixtures.ts'

const headers = {
  date: 'Fri, 02 Jan 2026 03:04:06 GMT',
  'content-length': '12',
  'x-service-balance-usd': '9.99',
  'x-service-rpc-credits': '40',
  'cf-ray': 'abc',
}

const named = (about: string) => relevantHeaders(headers, about).map(([name]) => name)

test('relevantHeaders gives the headers that the violation names, and those that identify the request', () => {
  expect(named('rpc.credits.amount got 40 credits')).toEqual(['x-service-rpc-credits', 'date', 'cf-ray'])
  expect(named('balance: 40 credits left the USD balance')).toEqual([
    'x-service-balance-usd',
    'x-service-rpc-credits',
    'date',
    'cf-ray',
  ])
})

test('relevantHeaders gives a common header other than the date only if the violation is about it', () => {
  expect(named('header.date no HTTP date')).toEqual(['date', 'cf-ray'])
  expect(named('header.content-length')).toEqual(['content-length', 'date', 'cf-ray'])
  expect(named('no such header')).toEqual(['x-service-balance-usd', 'x-service-rpc-credits', 'date', 'cf-ray'])
})

test('relevantHeaders gives at most seven', () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`x-${index}`, 'v']))
  expect(relevantHeaders({ ...many, 'cf-ray': 'abc' }, '')).toHaveLength(7)
})

const respondedWith = (id: number, status: number, caller = 'c0'): Evidence => ({
  id,
  caller,
  stage: 'abuse',
  call: status < 300 ? 'models' : 'bad-request',
  request: { method: 'GET', path: '/api/v1/models', headers: {}, body: null, curl: `curl '${id}'` },
  position: { firstId: id, step: 'only', key: 0 },
  outcome: `answered ${status}`,
  headers: { date: 'Fri, 02 Jan 2026 03:04:06 GMT' },
  body: '',
  dueMs: id * 100,
  sentMs: id * 100,
  headersMs: id * 100 + 5,
  endMs: id * 100 + 5,
  sentAt: new Date(Date.UTC(2026, 0, 2, 3, 4, 5) + id * 100).toISOString(),
  traceId: null,
})

/** 21 failures, and a response that shows no block. */
const unblocked: ReportedExample = {
  requestIds: Array.from({ length: 22 }, (_, id) => id),
  decidedBy: [21],
  omitted: 0,
  message:
    'a request got status 200, 0.1 s after more than 20 failures (11 of 404, 10 of 400), expected a block of 30 s',
  count: 9,
  evidence: [respondedWith(21, 200), ...Array.from({ length: 21 }, (_, id) => respondedWith(id, id % 2 ? 400 : 404))],
}

const blockedEarly: ReportedExample = {
  requestIds: [44],
  decidedBy: [44],
  omitted: 0,
  message: 'a request was blocked after 3 failures and 18 other requests, expected a block only after more than 20',
  count: 2,
  evidence: [respondedWith(44, 429)],
}

const finding = {
  clause: 'abuse.counts',
  section: '5.4',
  text: 'Every status other than a success counts as a failure.',
  judge: 'abuse',
  count: 14,
  message: unblocked.message,
  examples: [unblocked, blockedEarly],
} as const

const clause = {
  id: 'abuse.counts',
  section: '5.4',
  judged: 20,
  violated: 14,
  verdict: 'fail',
  because: null,
  measured: null,
} as const
const report: Report = { ...failingReport, findings: [finding], clauses: [...failingReport.clauses, clause] }
const page = { columns: 110, color: false, directory: null }

test('text: each cause has its count, the response that decides, what led to it, and the number of the others', async () => {
  const text = renderers.text(report, page)
  const [, shown = ''] = /\nFindings\n([\s\S]*?)\n\nThresholds/.exec(text) ?? []
  await expect(`${shown}\n`).toMatchFileSnapshot('../../../golden/finding.txt')
})

test.each(['markdown', 'html', 'junit', 'text'] as const)('%s: the contradicting response comes first', format => {
  const shown = renderers[format](report, page).replaceAll('\n', ' ')
  const at = ['request 21 of c0 decides', 'request 20 of c0 led to it', 'and 20 earlier failures of the same caller']
  const places = [...at, 'request 44 of c0', 'and 3 violations with other causes'].map(words => shown.indexOf(words))
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(shown).not.toContain('request 19 of c0')
})

test('the balance check that shows a difference comes first, and the charge before it second', () => {
  const [check, charge] = [
    { ...respondedWith(9, 200), stage: '(closing)' },
    { ...respondedWith(8, 200), call: 'rpc' },
  ]
  const opening = { ...respondedWith(1, 200), stage: '(opening)' }
  const example = { ...unblocked, requestIds: [1, 8, 9], decidedBy: [9], evidence: [check, opening, charge] }
  const [cause] = causesOf([example], { count: 9, about: '', message: null }).causes
  expect(cause?.evidence.map(({ lines }) => lines[0]?.slice(0, 12))).toEqual(['request 9 of', 'request 8 of'])
  expect(cause?.rest).toBe('and 1 earlier request of the same caller: 200 × 1')
})

test('requests without evidence are counted without a status', () => {
  const example = { ...unblocked, omitted: 100, evidence: unblocked.evidence.slice(0, 3) }
  const [cause] = causesOf([example], { count: 9, about: '', message: null }).causes
  expect(cause?.rest).toBe('and 120 earlier requests')
})

test('an older report, whose examples repeat one cause and name no request that decides, shows the first', () => {
  const older = { decidedBy: [], omitted: 0, count: 1, evidence: [] }
  const examples = [1, 2, 3].map(id => ({ ...older, requestIds: [id], message: `the date of ${id}` }))
  const [block] = findingBlocks({ ...report, findings: [{ ...finding, message: 'the date of 1', count: 8, examples }] })
  expect(block?.causes.map(({ seen, tally }) => [seen, tally])).toEqual([['the date of 1', null]])
  expect(block?.others).toBeNull()
})
