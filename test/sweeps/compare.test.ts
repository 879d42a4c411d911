import { expect, test } from 'vitest'
import { type ComparedRun, compareRuns } from '../../src/judge/compare/compare-runs.ts'
import { type ChangeVerdict, defaultCriteria } from '../../src/judge/compare/comparison.ts'
import { randomStream } from '../../src/lib/random.ts'
import { logNormal } from '../../src/service/capacity.ts'
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

test.each([
  [1, 0.015],
  [5, 0.015],
  [5, 0.04],
])('against %d baselines, with machine noise %d, at most one in twenty runs is called worse', (count, sigma) => {
  const baselines = runsOf(200 + count, sigma, 1, 1_000)
  expect(share(against(baselines, count, runsOf(200, sigma, 1, 5_000)))).toBeLessThanOrEqual(0.05)
})

test('against five baselines, with machine noise 1.5 %, a slowdown of 10 % is found in nineteen of twenty runs', () => {
  const baselines = runsOf(105, 0.015, 1, 1_000)
  expect(share(against(baselines, 5, runsOf(100, 0.015, 1.1, 5_000)))).toBeGreaterThanOrEqual(0.95)
})
