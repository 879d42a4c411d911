import { describe, expect, test } from 'vitest'
import { createAudits } from '../../../src/audits/all-audits.ts'
import { mergeAudits } from '../../../src/audits/merged-audits.ts'
import { createFindingLog } from '../../../src/checks/findings.ts'
import { documented } from '../../../src/contract/documented.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { answerOf, observed, singleAsked } from '../checks/observed.ts'

const answered = (seq: number, headers: Readonly<Record<string, string>>): Observation =>
  observed(singleAsked, answerOf(200, {}, headers), { seq, place: Math.floor(seq / 2), caller: `c${seq % 2}` })

/** Each list is what one of the workers saw. */
function judge(...workers: readonly (readonly Observation[])[]) {
  const docket = createFindingLog()
  const parts = workers.map(observations => {
    const own = createFindingLog()
    const audits = createAudits({ contract: documented, shared: false, startedAtMs: 0 }, own)
    for (const observation of observations) audits.add(observation)
    audits.conclude(true)
    docket.merge(own.snapshot())
    return { facts: audits.facts(), memories: audits.memories() }
  })
  const facts = parts.map(part => part.facts)
  mergeAudits(facts, ['c0', 'c1'], docket).conclude(parts.map(({ memories }) => memories))
  return {
    findings: docket.findings().map(({ clause, count, examples }) => [clause, count, examples.map(({ seqs }) => seqs)]),
    judged: (clause: string) => docket.tallies().find(({ id }) => id === clause)?.judged,
  }
}

describe('what can only be told over all workers', () => {
  test('an id that two of them saw is accused, and judged no more often than it came', () => {
    const { findings, judged } = judge([answered(0, { 'cf-ray': 'same' })], [answered(1, { 'cf-ray': 'same' })])
    expect(findings).toContainEqual(['header.cf-ray.unique', 1, [[0, 1]]])
    expect(judged('header.cf-ray.unique')).toBe(2)
  })

  test('ids that are each once are not', () => {
    const { findings, judged } = judge([answered(0, { 'cf-ray': 'a' })], [answered(1, { 'cf-ray': 'b' })])
    expect(findings.filter(([clause]) => clause === 'header.cf-ray.unique')).toEqual([])
    expect(judged('header.cf-ray.unique')).toBe(2)
  })

  test('a model that is called by another name to another worker is accused', () => {
    const named = (seq: number, name: string) =>
      answered(seq, { 'x-service-model-id': 'm', 'x-service-model-name': name })
    expect(judge([named(0, 'M')], [named(1, 'N')]).findings).toContainEqual(['header.model-name.stable', 1, [[0, 1]]])
    const honest = judge([named(0, 'M')], [named(1, 'M')])
    expect(honest.findings.filter(([clause]) => clause === 'header.model-name.stable')).toEqual([])
    expect(honest.judged('header.model-name.stable')).toBe(1)
  })
})
