import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { spreadOf } from '../../../src/judge/compare/estimates.ts'
import { randomStream } from '../../../src/lib/random.ts'
import { assertPower, describeDetection, detect, parseChange, usualSpread } from '../../../src/plan/detect.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { loadScenario } from '../../../src/scenario/load-scenario.ts'
import { logNormal } from '../../../src/service/capacity.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const contract = documentedContract
const plan = makePlan(loadScenario('scenarios/nightly.yaml', contract), contract, {
  seed: 1,
  target: null,
  budgetUsd: null,
})
const found = (text: string, terms: { power?: number; noise?: number; values?: number } = {}) => {
  const change = parseChange(text, plan)
  const spread = { ...usualSpread(change.percent), values: terms.values ?? null }
  return detect(plan, contract, change, { spread, power: terms.power ?? 0.9, noise: terms.noise ?? 0 })
}

test('a change is a percentile of a call in a stage, and a rise', () => {
  expect(parseChange('p95 ttft +5%', plan)).toEqual({
    timing: 'ttft',
    percent: 95,
    call: null,
    stage: null,
    ratio: 0.05,
  })
  const named = { timing: 'latency', percent: 99.9, call: 'rpc', stage: 'steady', ratio: 0.125 }
  expect(parseChange('p(99.9) latency of rpc in steady +12.5 %', plan)).toEqual(named)
})

test.each([
  ['p95 ttft', /^--detect: got "p95 ttft", expected a measure and a rise of up to 1000%/],
  ['p95 ttft -5%', /^--detect: got "p95 ttft -5%", expected a measure and a rise/],
  ['p95 ttft +0%', /rise of up to 1000%/],
  ['+5%', /^--detect: got .* expected a measure such as/],
  ['p95 tftt +5%', /got "tftt", expected a timing: .*; did you mean "ttft"\?$/],
  ['p95 ttft of cat +5%', /got "cat", expected the name of a call: chat, rpc or batch; did you mean "chat"\?$/],
  ['mean ttft +5%', /got "mean ttft", expected a percentile of latency, service-time, ttft or tpot/],
  ['failed +5%', /got .*, expected /],
])('%s is refused, with what was expected', (text, message) => {
  expect(() => parseChange(text, plan)).toThrow(message)
})

test.each([0, 0.49, 1, Number.NaN])('a power of %f is refused', power => {
  expect(() => assertPower(power)).toThrow(/^--power: got .*, expected a chance from 0\.5 to 0\.999/)
})

test('a smaller change and a higher power need more; a noise of whole runs cannot be outlasted', () => {
  const { sideBySide, planned } = found('p95 ttft of chat +5%')
  const of = (text: string, terms = {}) => found(text, terms).sideBySide?.values ?? 0
  expect(of('p95 ttft of chat +10%') / (sideBySide?.values ?? 0)).toBeCloseTo((Math.log(1.05) / Math.log(1.1)) ** 2, 2)
  expect(of('p95 ttft of chat +5%', { power: 0.95 })).toBeGreaterThan(of('p95 ttft of chat +5%'))
  expect(found('p95 ttft of chat +5%', { noise: 0.06 }).separate).toBeNull()
  expect(found('p95 ttft of chat +60%', { noise: 0.06 }).separate?.times).toBe(1)
  expect(found(`p95 ttft of chat +${100 * (planned.ratio ?? 0)}%`).sideBySide?.values).toBeCloseTo(planned.values, -1)
})

test('stages that give values get longer, with their requests and their worst case', () => {
  const { sideBySide } = found('p95 latency of rpc in steady +5%')
  const times = sideBySide?.times ?? 0
  expect(times).toBeGreaterThan(2)
  expect(sideBySide?.durationMs).toBeCloseTo(20_000 + 130_000 * times, 3)
  expect(Number(sideBySide?.usd)).toBeGreaterThan(Number(plan.forecast.worstUsd) * 2)
  const text = describeDetection(found('p95 latency of rpc in steady +5%', { noise: 0.06 }), 0.06)
  expect(text).toMatch(/^\nTo notice p\(95\) latency of rpc in steady \+5% with power 0\.9, each of two runs needs\n/)
  expect(text).toMatch(/separate runs +no length of a run is enough: two runs differ by 6 % each/)
})

test('a baseline of few values needs a longer run, and one of too few cannot do', () => {
  const needed = found('p95 ttft of chat +20%').sideBySide?.values ?? 0
  expect(found('p95 ttft of chat +20%', { values: needed }).sideBySide?.values).toBeCloseTo(needed, -1)
  expect(found('p95 ttft of chat +20%', { values: needed * 0.75 }).sideBySide?.values).toBeGreaterThan(needed * 1.2)
  expect(found('p95 ttft of chat +20%', { values: needed / 2.1 }).sideBySide).toBeNull()
})

test.each([50, 95])('as many values as it says notice a rise of p%i with the power that it says', percent => {
  const { sideBySide } = found(`p${percent} ttft of chat +25%`)
  const values = sideBySide?.values ?? 0
  const { deviation } = usualSpread(percent)
  const random = randomStream(7, `detect ${percent}`)
  const drawn = (ratio: number) => {
    const all = Array.from({ length: values }, () => logNormal(random, 100 * (1 + ratio), 0.5)).toSorted(
      (a, b) => a - b,
    )
    return Math.log(all[Math.ceil((percent / 100) * values) - 1] ?? 0)
  }
  const runs = 400
  const noticed = (ratio: number) =>
    Array.from({ length: runs }, () => drawn(ratio) - drawn(0)).filter(
      shift => shift > 1.645 * deviation * Math.sqrt(2 / values),
    ).length / runs
  expect(noticed(0.25)).toBeGreaterThan(0.85)
  expect(noticed(0.25)).toBeLessThan(0.95)
  expect(noticed(0)).toBeLessThan(0.09)
})

test('a run says how much its values vary', async () => {
  const { slices } = await virtualRun({ scenario: 'scenarios/rpc-only.yaml', seed: 3 })
  const spread = spreadOf(slices, { call: null, stage: 'steady', timing: 'latency', percent: 50 })
  // The reference service draws its times with a sigma of 0.35, and 0.5 is usual.
  expect(spread?.deviation).toBeGreaterThan(0.35 * usualSpread(50).deviation)
  expect(spread?.deviation).toBeLessThan(1.4 * usualSpread(50).deviation)
  expect(spreadOf(slices, { call: 'nothing', stage: null, timing: 'ttft', percent: 95 })).toBeNull()
})
