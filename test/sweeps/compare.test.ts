import { expect, test } from 'vitest'
import { type ComparedRun, compareRuns } from '../../src/judge/compare/compare-runs.ts'
import { type ChangeVerdict, defaultCriteria } from '../../src/judge/compare/comparison.ts'
import { type Random, randomStream } from '../../src/lib/random.ts'
import type { Observation } from '../../src/observation/observation.ts'
import { logNormal } from '../../src/service/capacity.ts'
import { todays } from '../support/nightly.ts'
import { simulatedRun } from '../unit/judge/compare/simulated-run.ts'

/** Runs on machines with log-normal noise `sigma`, a slow drift within each run, and one short stall. */
function runsOf(count: number, sigma: number, factor: number, seed: number): readonly ComparedRun[] {
  const random = randomStream(seed, 'machines')
  return Array.from({ length: count }, (_, index) => {
    const whole = factor * logNormal(random, 1, sigma)
    const [swing, phase, stallMs] = [0.03 * random.next(), 6 * random.next(), 120_000 * random.next()]
    const drift = (dueMs: number) =>
      (1 + swing * Math.sin(phase + dueMs / 15_000)) * (dueMs > stallMs && dueMs < stallMs + 1_500 ? 2 : 1)
    return simulatedRun({ seed: seed + index, factor: whole, drift })
  })
}

const share = (outcomes: readonly ChangeVerdict[]) =>
  outcomes.filter(outcome => outcome === 'regressed').length / outcomes.length

const against = (
  baselines: readonly ComparedRun[],
  count: number,
  runs: readonly ComparedRun[],
): readonly ChangeVerdict[] =>
  runs.map((run, index) => compareRuns(baselines.slice(index, index + count), run, defaultCriteria).verdict)

const counts = [
  [1, 0.015],
  [5, 0.015],
  [5, 0.04],
] as const

test.each(todays(counts, 3))(
  'against %d baselines, with machine noise %d, at most one in twenty runs is called worse',
  (count, sigma) => {
    const baselines = runsOf(200 + count, sigma, 1, 1_000)
    expect(share(against(baselines, count, runsOf(200, sigma, 1, 5_000)))).toBeLessThanOrEqual(0.05)
  },
)

test('against five baselines, with machine noise 1.5 %, a slowdown of 10 % is found in nineteen of twenty runs', () => {
  const baselines = runsOf(105, 0.015, 1, 1_000)
  expect(share(against(baselines, 5, runsOf(100, 0.015, 1.1, 5_000)))).toBeGreaterThanOrEqual(0.95)
})

/** Runs of 59 requests, by how the times of a service vary. */
const fewValues: Readonly<Record<string, (random: Random) => number>> = {
  'times that vary little': random => logNormal(random, 100, 0.01),
  'times that vary much': random => logNormal(random, 100, 1),
  'a cache for half of the requests': random => logNormal(random, random.next() < 0.5 ? 2 : 100, 0.2),
  'stalls of one request in twenty': random => logNormal(random, random.next() < 0.05 ? 1_000 : 100, 0.2),
}

const fewRuns = (timeOf: (random: Random) => number, factor: number, seed: number): readonly ComparedRun[] =>
  Array.from({ length: 150 }, (_, index) => {
    const random = randomStream(seed + index, 'few')
    const whole = factor * logNormal(random, 1, 0.015)
    const change = (o: Observation): Observation => ({ ...o, endMs: (o.sentMs ?? 0) + whole * timeOf(random) })
    return simulatedRun({ seed: seed + index, count: 59, change })
  })

test.each(todays(Object.entries(fewValues), 2))(
  'of 59 requests with %s, at most one run in twenty is called worse',
  (_, timeOf) => {
    const outcomes = against(fewRuns(timeOf, 1, 1_000), 1, fewRuns(timeOf, 1, 5_000))
    expect(share(outcomes)).toBeLessThanOrEqual(0.05)
  },
)

test.each(todays(Object.entries(fewValues), 2))(
  'of 59 requests with %s, a time 4.4 times as long is always found',
  (_, timeOf) => {
    expect(share(against(fewRuns(timeOf, 1, 1_000), 1, fewRuns(timeOf, 4.4, 5_000)))).toBe(1)
  },
)
