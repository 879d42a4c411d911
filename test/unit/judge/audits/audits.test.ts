import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createAudits, mergeAudits } from '../../../../src/judge/audits/audits.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { todays } from '../../../support/nightly.ts'
import { observed, responseOf, singleDescriptor, startedAtMs } from '../checks/observed.ts'
import { history, observe } from './ledger/bank.ts'

function judge(observations: readonly Observation[], isComplete: boolean) {
  const findingLog = createFindingLog()
  const audits = createAudits({ contract: documentedContract, shared: false, startedAtMs }, findingLog)
  for (const observation of observations) audits.add(observation)
  audits.finish(isComplete)
  // The bank writes headers for its accounts, not for the limits, and the same CF-RAY on every response.
  const ofMoney = findingLog.findings().filter(({ judge }) => judge === 'ledger')
  return { clauses: ofMoney.map(({ clause }) => clause), billing: audits.billing() }
}

const seeds = Array.from({ length: 40 }, (_, index) => index + 1)

test('requests in flight at the end of a truncated recording do not fail the service', () => {
  let misjudged = 0
  for (const seed of todays(seeds, 4)) {
    const observations = observe(
      history({ seed, kinds: ['rpc', 'batch', 'chat', 'stream'], gapMs: 150, pauses: false }),
    )
    const cut = observations.filter(({ endMs }) => (endMs ?? 0) < 4000 + seed * 20)
    expect(judge(cut, false).clauses).toEqual([])
    if (judge(cut, true).clauses.length > 0) misjudged++
  }
  // The truncation matters: if such a recording is treated as complete, honest services fail.
  expect(misjudged).toBeGreaterThan(0)
})

test('a proven fault in a truncated recording is reported', () => {
  const busy = history({ seed: 1, kinds: ['rpc', 'chat', 'batch', 'replay'], gapMs: 4000 })
  const wrong = observe(busy.map(each => ({ ...each, taken: each.taken * 2n })))
  const { clauses, billing } = judge(wrong.slice(0, -30), false)
  expect(clauses).toContain('billing.conservation')
  expect(billing.discrepancies).not.toEqual([])
})

const answered = (id: number, headers: Readonly<Record<string, string>>): Observation =>
  observed(singleDescriptor, responseOf(200, {}, headers), { id, seq: Math.floor(id / 2), caller: `c${id % 2}` })

/** Each list has the observations of one worker. */
function judgeApart(...workers: readonly (readonly Observation[])[]) {
  const findingLog = createFindingLog()
  const parts = workers.map(observations => {
    const own = createFindingLog()
    const audits = createAudits({ contract: documentedContract, shared: false, startedAtMs: 0 }, own)
    for (const observation of observations) audits.add(observation)
    audits.finish(true)
    findingLog.merge(own.snapshot())
    return { snapshot: audits.snapshot(), memories: audits.crossWorkerState() }
  })
  const snapshot = parts.map(part => part.snapshot)
  mergeAudits(snapshot, ['c0', 'c1'], findingLog).finish(parts.map(({ memories }) => memories))
  return {
    findings: findingLog
      .findings()
      .map(({ clause, count, examples }) => [clause, count, examples.map(({ requestIds }) => requestIds)]),
    judged: (clause: string) => findingLog.tallies().find(({ id }) => id === clause)?.judged,
  }
}

describe('judged over all workers', () => {
  test('an id seen by two workers fails, and is judged only as often as it occurred', () => {
    const { findings, judged } = judgeApart([answered(0, { 'cf-ray': 'same' })], [answered(1, { 'cf-ray': 'same' })])
    expect(findings).toContainEqual(['header.cf-ray.unique', 1, [[0, 1]]])
    expect(judged('header.cf-ray.unique')).toBe(2)
  })

  test('ids that occur once pass', () => {
    const { findings, judged } = judgeApart([answered(0, { 'cf-ray': 'a' })], [answered(1, { 'cf-ray': 'b' })])
    expect(findings.filter(([clause]) => clause === 'header.cf-ray.unique')).toEqual([])
    expect(judged('header.cf-ray.unique')).toBe(2)
  })

  test('a model with another name in another worker fails', () => {
    const named = (id: number, name: string) =>
      answered(id, { 'x-service-model-id': 'm', 'x-service-model-name': name })
    expect(judgeApart([named(0, 'M')], [named(1, 'N')]).findings).toContainEqual([
      'header.model-name.stable',
      1,
      [[0, 1]],
    ])
    const honest = judgeApart([named(0, 'M')], [named(1, 'M')])
    expect(honest.findings.filter(([clause]) => clause === 'header.model-name.stable')).toEqual([])
    expect(honest.judged('header.model-name.stable')).toBe(1)
  })
})

test('the first attempt of a request that was sent again may have been charged too', () => {
  const honest = history({ seed: 3, kinds: ['rpc', 'chat', 'batch'], gapMs: 4000 })
  const twice = observe(honest.map((each, index) => (index === 20 ? { ...each, taken: each.taken * 2n } : each)))
  const clausesIf = (retried: boolean) =>
    judge(
      twice.map(each => (retried && each.seq === 20 ? { ...each, retried: true as const } : each)),
      true,
    ).clauses
  expect(clausesIf(false)).toContain('billing.conservation')
  expect(clausesIf(true)).toEqual([])
})
