import type { TrialCall } from '../../../src/judge/results.ts'
import type { CapacityResult, TrialResult } from '../../../src/report/document.ts'

const noTimes = { count: 0, mean: null, p50: null, p90: null, p95: null, p99: null, p999: null, max: null }

/** Chat has an SLO on latency and one on TTFT, RPC has none. */
export const aTrialCall = (changes: Partial<TrialCall> = {}): TrialCall => ({
  call: 'chat',
  good: 90,
  bad: 0,
  refused: 0,
  isExceeded: false,
  missed: {},
  statuses: {},
  failures: {},
  timesMs: {
    latency: { ...noTimes, count: 90, mean: 210, p50: 207, p90: 230, p95: 254, max: 300 },
    ttft: { ...noTimes, count: 90, mean: 110, p50: 107, p90: 130, p95: 154, max: 200 },
  },
  ...changes,
})

const rpc = aTrialCall({
  call: 'rpc',
  good: 30,
  timesMs: { latency: { ...noTimes, count: 30, mean: 40, p50: 37, p90: 43, max: 60 } },
})

export const aTrial = (changes: Partial<TrialResult> = {}): TrialResult => ({
  purpose: 'raise',
  offeredPerSecond: 40,
  outcome: 'sustained',
  startMs: 0,
  endMs: 3_200,
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
  calls: [aTrialCall(), rpc],
  ...changes,
})

export const aSearch = (changes: Partial<CapacityResult> = {}): CapacityResult => ({
  stage: 'search',
  status: 'found',
  ratePerSecond: 78.7,
  reason:
    '78.7/s at chat latency ≤ 1 s, chat TTFT ≤ 400 ms and rpc 2xx for 99 % of each call, confirmed over 788 requests; at 160/s 36 missed chat ttft.',
  fromPerSecond: 40,
  toPerSecond: 180,
  mix: { chat: 0.75, rpc: 0.25 },
  slo: { chat: { latency: 1_000, ttft: 400 }, rpc: {} },
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
      startMs: 3_200,
      endMs: 5_000,
      calls: [aTrialCall({ good: 49, bad: 41, isExceeded: true, missed: { ttft: 36 }, statuses: { '503': 17 } }), rpc],
    }),
    aTrial({
      purpose: 'confirm',
      offeredPerSecond: 78.7,
      startMs: 6_000,
      endMs: 16_000,
      arrivals: 788,
      planned: 788,
      goodputPerSecond: 78.2,
    }),
  ],
  ...changes,
})
