import { describe, expect, test } from 'vitest'
import { compareRuns } from '../../../../src/judge/compare/compare-runs.ts'
import { type Comparison, defaultCriteria } from '../../../../src/judge/compare/comparison.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { Plan } from '../../../../src/plan/plan.ts'
import { anObservation, aPlan, aThreshold, respondedWith, streamed } from '../metrics/fixtures.ts'
import { type Simulated, simulatedPlan, simulatedRun } from './simulated-run.ts'

const baselines = (count: number, options: Partial<Simulated> = {}) =>
  Array.from({ length: count }, (_, index) => simulatedRun({ seed: 100 + index, ...options }))
const compare = (run: Partial<Simulated>, against = baselines(1)) =>
  compareRuns(against, simulatedRun({ seed: 1, ...run }), defaultCriteria)
const row = ({ rows }: Comparison, measure: string) => rows.find(each => each.measure === measure)

describe('a comparison flags', () => {
  test('a slower run, with the size of the change', () => {
    const comparison = compare({ factor: 1.12 })
    expect(comparison.verdict).toBe('regressed')
    expect(comparison.reasons[0]).toMatch(
      /^Regressed: latency p50 of chat in steady \+[\d.]+ % \(10[\d.]+ → 11[\d.]+ ms\) and \d more; \d+ unchanged; /,
    )
    const { effect, confidence, verdict } = row(comparison, 'service time p50') ?? {}
    expect(verdict).toBe('regressed')
    expect(effect?.value).toBeCloseTo(0.12, 1)
    expect(effect?.low).toBeLessThan(0.12)
    expect(effect?.high).toBeGreaterThan(0.12)
    expect(confidence).toBeGreaterThan(0.99)
  })

  test('a run with more failures, even if its responses are not slower', () => {
    const comparison = compare({ failing: 0.04 })
    expect(comparison.verdict).toBe('regressed')
    expect(row(comparison, 'failures')).toMatchObject({ verdict: 'regressed', base: 0, effect: { kind: 'difference' } })
    expect(row(comparison, 'latency p50')?.verdict).toBe('unchanged')
  })

  test('a run with more refusals and less goodput', () => {
    const comparison = compare({
      change: o => (o.dueMs % 240 === 0 ? respondedWith(429, { ...o, outcome: { kind: 'answered', status: 429 } }) : o),
    })
    expect(row(comparison, 'refusals')?.verdict).toBe('regressed')
    expect(row(comparison, 'goodput')?.verdict).toBe('regressed')
    expect(row(comparison, 'achieved')?.verdict).toBe('unchanged')
  })

  test('a run with a higher cost per call, and one with a cost for a free call', () => {
    const priced = (usd: number) => (o: Observation) =>
      streamed({ cost: { usd, diem: 0 } }, { dueMs: o.dueMs, sentMs: o.sentMs, endMs: o.endMs })
    const dearer = compare({ change: priced(0.00011) }, baselines(1, { change: priced(0.0001) }))
    expect(row(dearer, 'cost per call')).toMatchObject({
      verdict: 'regressed',
      effect: { value: expect.closeTo(0.1, 6) },
    })
    const charged = compare({ change: priced(0.00011) }, baselines(1, { change: priced(0) }))
    expect(row(charged, 'cost per call')).toMatchObject({ verdict: 'regressed', effect: null, base: 0 })
  })

  test('no change below the minimum effect, however certain', () => {
    const comparison = compare({ factor: 1.035, count: 60_000 }, baselines(3, { count: 60_000 }))
    expect(row(comparison, 'latency p50')?.effect?.value).toBeCloseTo(0.035, 2)
    expect(comparison.verdict).toBe('unchanged')
  })
})

describe('a comparison does not flag', () => {
  test('an equal run', () => {
    const comparison = compare({})
    expect(comparison.verdict).toBe('unchanged')
    expect(comparison.reasons).toEqual([
      expect.stringMatching(
        /^No regression\. \d+ numbers unchanged; \d+ could not be compared \(too much variation\)\.$/,
      ),
    ])
    expect(comparison.rows.map(({ verdict }) => verdict)).not.toContain('regressed')
  })

  test('a short slowdown, which a test of single values would flag', () => {
    // 4 of 120 s are three times as slow: 67 of 2,000 values, which a test of values would be certain of.
    const comparison = compare({ drift: dueMs => (dueMs > 60_000 && dueMs < 64_000 ? 3 : 1) })
    expect(comparison.rows.filter(({ verdict }) => verdict === 'regressed')).toEqual([])
  })

  test('a run within the noise between the baselines', () => {
    const factors = [0.92, 1.07, 0.97, 1.09, 0.95]
    const varying = factors.map((factor, index) => simulatedRun({ seed: 200 + index, factor }))
    expect(compare({ factor: 1.08 }, varying).verdict).not.toBe('regressed')
    // Against one of them alone, with the usual noise floor, it looks slower.
    expect(compare({ factor: 1.08 }, varying.slice(2, 3)).verdict).toBe('regressed')
  })

  test('a faster run, which it calls improved', () => {
    const comparison = compare({ factor: 0.85 })
    expect(comparison.verdict).toBe('improved')
    expect(comparison.reasons[0]).toMatch(/^No regression\. Improved: .*latency p50 of chat in steady -1/)
  })
})

describe('several baselines', () => {
  test('give a narrower interval than one', () => {
    const widthOf = (comparison: Comparison) => {
      const effect = row(comparison, 'latency p50')?.effect
      return (effect?.high ?? 0) - (effect?.low ?? 0)
    }
    expect(widthOf(compare({}, baselines(5)))).toBeLessThan(0.9 * widthOf(compare({}, baselines(1))))
  })

  test('are used, except inconclusive ones', () => {
    const comparison = compare({}, [...baselines(2), simulatedRun({ seed: 300, factor: 3, verdict: 'inconclusive' })])
    expect(comparison.baselines.map(({ id }) => id)).toEqual(['run-100', 'run-101'])
    expect(comparison.reasons).toContain('1 baseline was inconclusive or incomplete, and left out.')
    expect(comparison.verdict).toBe('unchanged')
  })
})

describe('a comparison cannot tell', () => {
  const timesOf = (comparison: Comparison) => comparison.rows.filter(({ unit }) => unit === 'ms')
  const verdictsOf = (comparison: Comparison) => [...new Set(timesOf(comparison).map(({ verdict }) => verdict))]

  test('if the run did not end by itself, whatever its numbers', () => {
    const comparison = compare({ factor: 2, failing: 0.5, isComplete: false })
    expect(comparison.verdict).toBe('cannot-tell')
    expect([...new Set(comparison.rows.map(({ verdict }) => verdict))]).toEqual(['cannot-tell'])
    expect(comparison.reasons).toEqual([
      'Cannot tell: the run did not end by itself. 10 could not be compared (the run did not end by itself).',
      'Let the run end by itself, with a verdict.',
    ])
  })

  test('about the price of a free call, if the run did not end by itself', () => {
    const priced = (usd: number) => (o: Observation) =>
      streamed({ cost: { usd, diem: 0 } }, { dueMs: o.dueMs, sentMs: o.sentMs, endMs: o.endMs })
    const comparison = compare({ isComplete: false, change: priced(0.1) }, baselines(1, { change: priced(0) }))
    expect(row(comparison, 'cost per call')).toMatchObject({ verdict: 'cannot-tell', base: 0 })
    expect(comparison.verdict).toBe('cannot-tell')
  })

  test('about times of an inconclusive run, except failures', () => {
    const comparison = compare({ factor: 2, verdict: 'inconclusive' })
    expect(comparison.verdict).toBe('cannot-tell')
    expect(verdictsOf(comparison)).toEqual(['cannot-tell'])
    expect(row(comparison, 'failures')?.verdict).toBe('unchanged')
  })

  test('if the only baseline is incomplete', () => {
    const comparison = compare({ factor: 2 }, baselines(1, { isComplete: false }))
    expect(comparison.verdict).toBe('cannot-tell')
    expect(row(comparison, 'latency p50')?.reason).toBe('its baseline did not end by itself')
  })

  test('if Turnpike was late, which looks like a slower target', () => {
    const comparison = compare({ lateMs: 15 })
    expect(verdictsOf(comparison)).toEqual(['cannot-tell'])
    expect(row(comparison, 'latency p50')?.reason).toMatch(
      /^the lateness of Turnpike changed: p50 15\.\d ms, baseline \d+ µs$/,
    )
    expect(compare({ lateMs: 45, factor: 1.5 }).verdict).toBe('cannot-tell')
  })

  test('about times and rates, if arrivals were dropped', () => {
    const comparison = compare({ drops: 200, factor: 1.3 })
    expect(verdictsOf(comparison)).toEqual(['cannot-tell'])
    expect(row(comparison, 'achieved')?.reason).toBe('arrivals of its stage were dropped')
  })

  test('about a percentile with too few values, with their number', () => {
    const comparison = compare({ count: 200 }, baselines(1, { count: 200 }))
    expect(row(comparison, 'latency p99')).toMatchObject({
      verdict: 'cannot-tell',
      base: null,
      run: null,
      reason: 'too few values: 200 of 299',
    })
  })

  test('about a percentile whose values are in a short part of the stage', () => {
    const early = (o: Observation) => ({ ...o, dueMs: o.dueMs / 50 })
    const comparison = compare({ change: early }, baselines(1, { change: early }))
    expect(row(comparison, 'latency p50')?.reason).toBe('values too close in time: all 2000')
    expect(comparison.reasons[0]).toContain('values too close in time')
    expect(comparison.reasons[1]).toMatch(/^Make the stage longer/)
  })

  test('if no request was sent', () => {
    const empty = simulatedRun({ seed: 1, count: 0, plan: simulatedPlan })
    expect(compareRuns([empty], empty, defaultCriteria)).toMatchObject({ verdict: 'cannot-tell', rows: [] })
  })
})

describe('few values', () => {
  const few = (options: Partial<Simulated> = {}) => simulatedRun({ seed: 7, count: 59, ...options })
  const pairs = Array.from({ length: 10 }, (_, index) => [few({ seed: 400 + index }), 500 + index] as const)
  const verdictsFor = (options: Partial<Simulated>) =>
    pairs.map(([base, seed]) => compareRuns([base], few({ seed, ...options }), defaultCriteria).verdict)

  test('show a time 4.4 times as long, always', () => {
    expect(verdictsFor({ factor: 4.4 })).toEqual(pairs.map(() => 'regressed'))
  })

  test('show a time 1.5 times as long', () => {
    expect(verdictsFor({ factor: 1.5 })).toEqual(pairs.map(() => 'regressed'))
  })

  test('are enough for no regression, with the bound of what they show', () => {
    expect(verdictsFor({})).toEqual(pairs.map(() => 'unchanged'))
    const { rows, reasons } = compareRuns([few()], few({ seed: 8 }), defaultCriteria)
    expect(rows.find(({ measure }) => measure === 'latency p50')).toMatchObject({
      verdict: 'cannot-tell',
      reason: 'it varies too much',
    })
    expect(reasons[1]).toMatch(
      /^Only large changes can be excluded for chat: their times may be up to [1-6]?\d(\.\d)? % longer\.$/,
    )
  })

  test('never count as unchanged, but ten values can show a much longer time', () => {
    const ten = (options: Partial<Simulated>) => few({ count: 10, ...options })
    const equal = compareRuns([ten({ seed: 1 })], ten({ seed: 1 }), defaultCriteria)
    expect(equal.rows.filter(({ unit }) => unit === 'ms').map(({ verdict }) => verdict)).not.toContain('unchanged')
    expect(equal.verdict).toBe('cannot-tell')
    expect(equal.reasons[0]).toMatch(/^Cannot tell: there are too few values to compare any time\./)
    expect(compareRuns([ten({ seed: 1 })], ten({ seed: 2, factor: 4.4 }), defaultCriteria).verdict).toBe('regressed')
  })

  test('of a median between two groups of values show no change of it', () => {
    const cached = (seed: number) =>
      few({ seed, change: o => ({ ...o, endMs: o.dueMs + ((o.dueMs * 7.3 + seed) % 10 < 5 ? 2 : 100) }) })
    const found = pairs.map(([, seed]) => compareRuns([cached(seed)], cached(seed + 50), defaultCriteria))
    expect(found.flatMap(({ rows }) => rows).filter(({ verdict }) => verdict === 'regressed')).toEqual([])
  })

  test('cannot tell if a time may have doubled, although another one is known precisely', () => {
    const wild = (seed: number, spread: number) =>
      few({
        seed,
        change: o => ({
          ...streamed({ firstTokenMs: (o.sentMs ?? 0) + 20 * spread ** Math.sin(o.dueMs * 12.9898 + seed) }),
          ...{ dueMs: o.dueMs, sentMs: o.sentMs, endMs: o.endMs },
        }),
      })
    const open = compareRuns([wild(1, 200)], wild(2, 200), defaultCriteria)
    expect(open.verdict).toBe('cannot-tell')
    expect(open.reasons[0]).toMatch(/^Cannot tell: TTFT p50 of chat in steady may have doubled: it varies too much\./)
    expect(compareRuns([wild(1, 1.2)], wild(2, 1.2), defaultCriteria).verdict).toBe('unchanged')
  })
})

describe('a time that a threshold names', () => {
  const named = (of: number, stage: string | null = 'steady') => {
    const measure = { kind: 'timing', timing: 'latency', of: { kind: 'percentile', percent: of } } as const
    return aPlan({ ...simulatedPlan, thresholds: [aThreshold({ measure, call: 'chat', stage })] })
  }
  const pair = (plan: Plan, options: Partial<Simulated> = {}) =>
    compareRuns(
      [simulatedRun({ seed: 1, plan, ...options })],
      simulatedRun({ seed: 2, plan, ...options }),
      defaultCriteria,
    )

  test('must be comparable', () => {
    const comparison = pair(named(99), { count: 250 })
    expect(comparison.verdict).toBe('cannot-tell')
    expect(comparison.reasons[0]).toMatch(
      /^Cannot tell: the threshold as written names a time that could not be compared; latency p99 of chat in steady: too few values: 250 of 299\./,
    )
  })

  test('is compared if there are enough values, or if it is in another stage', () => {
    expect(pair(named(99), { count: 2_000 }).verdict).toBe('unchanged')
    expect(pair(named(95), { count: 59 }).verdict).toBe('unchanged')
    expect(pair(named(90), { count: 40 }).verdict).toBe('unchanged')
    expect(pair(named(99, 'elsewhere'), { count: 250 }).verdict).toBe('unchanged')
  })
})

test('a probe has no goodput', () => {
  const probe = { kind: 'probe', probe: 'bad-key' } as const
  const plan = aPlan({ ...simulatedPlan, calls: { chat: probe } })
  const refusing = (seed: number) =>
    simulatedRun({ seed, plan, change: o => anObservation({ ...o, outcome: { kind: 'answered', status: 401 } }) })
  const { rows } = compareRuns([refusing(1)], refusing(2), defaultCriteria)
  expect(rows.map(({ measure }) => measure)).toEqual(['achieved', 'failures', 'refusals'])
})
