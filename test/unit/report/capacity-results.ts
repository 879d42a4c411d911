import type { CapacityResult, TrialResult } from '../../../src/report/document.ts'

const noTimes = { count: 0, mean: null, p50: null, p90: null, p95: null, p99: null, p999: null, max: null }

export const aTrial = (changes: Partial<TrialResult> = {}): TrialResult => ({
  purpose: 'raise',
  offeredPerSecond: 40,
  outcome: 'sustained',
  arrivals: 120,
  planned: 120,
  achievedPerSecond: 40,
  goodputPerSecond: 40,
  goodRatio: 1,
  latencyMs: { ...noTimes, count: 120, mean: 210, p50: 207, p90: 230, p95: 254, max: 300 },
  refused: 0,
  overloaded: 0,
  failed: 0,
  dropped: 0,
  inFlightGrowthPerSecond: 0,
  ...changes,
})

export const aSearch = (changes: Partial<CapacityResult> = {}): CapacityResult => ({
  stage: 'search',
  status: 'found',
  ratePerSecond: 78.7,
  reason:
    'The target sustained 78.7/s for 10 s, 100 % good of 788 arrivals; it did not sustain 160/s: too many bad responses.',
  fromPerSecond: 40,
  toPerSecond: 180,
  mix: { chat: 0.75, rpc: 0.25 },
  goodRatio: 0.99,
  precision: 0.03,
  confirmation: { percent: 99, samples: 788, latencyMs: 387 },
  trials: [
    aTrial(),
    aTrial({
      offeredPerSecond: 160,
      outcome: 'slo-missed',
      arrivals: 115,
      planned: 480,
      goodputPerSecond: 78.9,
      goodRatio: 0.852,
      overloaded: 17,
      inFlightGrowthPerSecond: 40.9,
    }),
    aTrial({ purpose: 'confirm', offeredPerSecond: 78.7, arrivals: 788, planned: 788, goodputPerSecond: 78.2 }),
  ],
  ...changes,
})
