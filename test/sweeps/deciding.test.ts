import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import type { Observation } from '../../src/observation/observation.ts'
import { is2xx } from '../../src/observation/response.ts'
import type { ReportedExample } from '../../src/report/document.ts'
import { firstEvidence } from '../../src/report/sections/findings.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** The first example of a clause when a service tells this lie, with its observations in the order of the example. */
async function exampleOf(setting: string, lie: string, clause: ClauseId) {
  const run = settings.find(({ name }) => name === setting)?.run
  const told = lieByName(lie)
  if (run === undefined || told === undefined) throw new Error(`no ${setting}, or no ${lie}`)
  const { report, observations, contract } = await virtualRun({ ...run, lies: [told] })
  const examples = report.findings.filter(finding => finding.clause === clause).flatMap(finding => finding.examples)
  const [example] = examples
  if (example === undefined) throw new Error(`${lie} violates ${report.findings.map(finding => finding.clause)}`)
  for (const each of examples) expectInOrder(each)
  const byId = new Map(observations.map(each => [each.id, each]))
  const of = (ids: readonly number[]) => ids.flatMap(id => byId.get(id) ?? [])
  const deciding = of(example.decidedBy)
  const ledTo = of(example.requestIds.filter(id => !example.decidedBy.includes(id)))
  expect(deciding).not.toEqual([])
  return { report, contract, examples, example, deciding, ledTo, observations }
}

/** The evidence starts with a request that decides, and so does what a report shows. */
function expectInOrder(example: ReportedExample) {
  expect(example.decidedBy.every(id => example.requestIds.includes(id))).toBe(true)
  expect(example.evidence[0]?.id).toBe(example.decidedBy[0])
  expect(firstEvidence(example)[0]?.id).toBe(example.decidedBy[0])
}

const statusOf = ({ response }: Observation) => response?.status ?? null
const callersOf = (observations: readonly Observation[]) => new Set(observations.map(({ caller }) => caller))
const areBefore = (earlier: readonly Observation[], [later]: readonly Observation[]) =>
  earlier.every(({ sentMs }) => (sentMs ?? 0) <= (later?.sentMs ?? 0))
const headerOf = (observation: Observation | undefined, name: string) => observation?.response?.headers[name]

describe('the response that contradicts the document decides, and what led to it comes after it', () => {
  test('abuse: a response that shows no block, after all failures of its caller', async () => {
    const { examples, deciding, ledTo, observations } = await exampleOf(
      'abuse-block',
      'only-bad-requests-count',
      'abuse.counts',
    )
    expect(deciding.map(statusOf)).toEqual([415])
    expect(ledTo).toHaveLength(21)
    expect(ledTo.every(each => (statusOf(each) ?? 0) >= 400)).toBe(true)
    expect(callersOf([...deciding, ...ledTo]).size).toBe(1)
    expect(areBefore(ledTo, deciding)).toBe(true)
    // A failure by a 415 and a failure by a 429 are two causes.
    expect(examples.map(({ count, decidedBy }) => [count, decidedBy.length])).toEqual([
      [1, 1],
      [1, 1],
    ])
    const second = observations.filter(({ id }) => examples[1]?.requestIds.includes(id))
    expect(second.filter(each => statusOf(each) === 429)).toHaveLength(21)
  })

  test('abuse: a block that is too early, after the requests that cannot have caused it', async () => {
    const { deciding, ledTo } = await exampleOf('abuse-block', 'every-request-counts', 'abuse.counts')
    expect(deciding.map(statusOf)).toEqual([429])
    expect(ledTo.filter(each => statusOf(each) === 200).length).toBeGreaterThanOrEqual(20)
    expect(callersOf([...deciding, ...ledTo]).size).toBe(1)
    expect(areBefore(ledTo, deciding)).toBe(true)
  })

  test.each([
    ['block-of-ten-seconds', 'abuse.duration', 200],
    ['block-by-endpoint', 'abuse.all-requests', 200],
    ['block-of-a-minute', 'abuse.ends', 429],
    ['block-without-wait', 'abuse.message', 429],
  ] as const)('abuse: %s, after the failures that caused the block', async (lie, clause, status) => {
    const { deciding, ledTo } = await exampleOf('abuse-block', lie, clause)
    expect(deciding.map(statusOf)).toEqual([status])
    expect(ledTo.filter(each => !is2xx(statusOf(each) ?? 0)).length).toBeGreaterThanOrEqual(21)
    expect(areBefore(ledTo, deciding)).toBe(true)
  })

  test('rate limits: the requests that were accepted above the limit, after those within it', async () => {
    const setting = 'rate-limit with known details'
    const { example, deciding, ledTo } = await exampleOf(setting, 'one-request-too-many', 'limit.requests.enforced')
    const [, accepted, limit] = /^(\d+) requests of \S+ were accepted in one window, expected at most (\d+)/.exec(
      example.message,
    ) ?? ['', '', '']
    expect(Number(accepted)).toBe(Number(limit) + 1)
    expect(deciding).toHaveLength(1)
    expect(deciding.every(each => is2xx(statusOf(each) ?? 0))).toBe(true)
    const within = ledTo.filter(each => is2xx(statusOf(each) ?? 0) && areBefore([each], deciding))
    expect(within).toHaveLength(Number(limit))
  })

  test('rate limits: another status above the limit, after the response without a remaining request', async () => {
    const { deciding, ledTo } = await exampleOf('rate-limit', 'forbidden-above-the-limit', 'limit.requests.enforced')
    expect(new Set(deciding.map(statusOf))).toEqual(new Set([403]))
    expect(ledTo.map(each => headerOf(each, 'x-ratelimit-remaining-requests'))).toEqual(['0'])
  })

  test('rate limits: a remaining number that is wrong, after the requests that it should count', async () => {
    const { deciding, ledTo } = await exampleOf('smoke', 'remaining-never-falls', 'limit.requests.remaining')
    expect(headerOf(deciding[0], 'x-ratelimit-remaining-requests')).toBeDefined()
    expect(ledTo.length).toBeGreaterThan(0)
    expect(callersOf([...deciding, ...ledTo]).size).toBe(1)
  })

  test('the log of rejections: the log decides, and the rejection that it lacks led to it', async () => {
    const { deciding, ledTo } = await exampleOf('rate-limit', 'log-of-chat-alone', 'logs.shows-429')
    expect(deciding.map(({ request }) => request.kind)).toEqual(['rate-limit-logs'])
    expect(ledTo.map(statusOf)).toEqual([429])
  })

  test('idempotency: the replay decides, and the first use of its key led to it', async () => {
    const { deciding, ledTo } = await exampleOf('idempotency', 'replay-runs-again', 'rpc.replay.body')
    expect(deciding.map(each => headerOf(each, 'idempotent-replayed'))).toEqual(['true'])
    expect(ledTo.map(each => headerOf(each, 'idempotent-replayed'))).toEqual([undefined])
    const groups = [...deciding, ...ledTo].map(({ request }) => request.kind === 'rpc' && request.replay?.group)
    expect(new Set(groups).size).toBe(1)
  })

  test('unique ids: the response that repeats an id decides, and the first one with it led to it', async () => {
    const { deciding, ledTo } = await exampleOf('smoke', 'ray-twice', 'header.cf-ray.unique')
    const rays = [...deciding, ...ledTo].map(each => headerOf(each, 'cf-ray'))
    expect([rays.length, new Set(rays).size]).toEqual([2, 1])
    expect(areBefore(ledTo, deciding)).toBe(true)
  })

  test('consistency: the second name of a model decides', async () => {
    const { deciding, ledTo, contract } = await exampleOf('smoke', 'name-by-turns', 'header.model-name.stable')
    const names = [...ledTo, ...deciding].map(each => headerOf(each, `${contract.headerPrefix}model-name`))
    expect([names.length, new Set(names).size]).toEqual([2, 2])
  })

  test('the ledger: the response that shows the balance decides, and the charges since the last one led to it', async () => {
    const { report, deciding, ledTo, contract } = await exampleOf('billing', 'charged-twice', 'billing.conservation')
    const balanceOf = (each: Observation | undefined) => Number(headerOf(each, `${contract.headerPrefix}balance-usd`))
    expect(balanceOf(deciding[0])).toBeLessThan(balanceOf(ledTo[0]))
    expect(areBefore(ledTo, deciding)).toBe(true)
    expect(callersOf([...deciding, ...ledTo]).size).toBe(1)
    for (const { examples } of report.billing.discrepancies) for (const each of examples) expectInOrder(each)
  })

  test('a check of one response: it decides, and nothing led to it', async () => {
    const { example, deciding, ledTo } = await exampleOf('smoke', 'failed-item-in-full', 'rpc.batch.error-price')
    expect(deciding).toHaveLength(1)
    expect(ledTo).toEqual([])
    expect(example.count).toBeGreaterThan(1)
  })
})

test('all evidence has the date of the response and the time of sending', async () => {
  const { report } = await exampleOf('smoke', 'charged-twice', 'billing.conservation')
  const evidence = report.findings.flatMap(({ examples }) => examples).flatMap(each => each.evidence)
  expect(evidence.length).toBeGreaterThan(0)
  for (const { sentAt, sentMs, headers } of evidence) {
    expect(headers.date).toBeDefined()
    expect(Date.parse(sentAt ?? '')).toBe(Math.trunc(Date.parse(report.run.startedAt) + (sentMs ?? 0)))
  }
})
