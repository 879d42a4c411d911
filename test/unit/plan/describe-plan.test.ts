import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { describeLoad, describePlan } from '../../../src/plan/describe-plan.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { loadScenario } from '../../../src/scenario/load-scenario.ts'
import { noFlags, planOf } from './plan-of.ts'

test('describePlan prints stages, limits, requests and thresholds', () => {
  const plan = planOf(
    {
      rise: 'duration: 500ms, shape: ramp, to: 50% of tier, mix: { s: 1 }',
      steady: 'duration: 1m30s, shape: poisson, rate: 90% of tier, mix: { s: 3, batch: 5, replay: 1 }',
      over: 'duration: 5s, shape: burst, size: 130% of tier, every: 4s, exceed-tier: true, callers: 2, mix: { xs: 1 }',
      idle: 'duration: 2s, shape: pause',
      users: 'duration: 1s, shape: closed, users: 8, think: 100ms, mix: { models: 1 }',
      list: 'duration: 3s, shape: sequence, callers: 1, calls: [models, single]',
    },
    {
      more: `question: Does it read well?
budget: { usd: 0.01 }
thresholds:
  - { expect: p(95) ttft of s in rise < 1s, why: Too few. }
  - { expect: p(95) ttft of s in steady < 1s, why: Enough. }
  - { expect: violations == 0, why: No samples needed. }`,
    },
  )
  expect(`\n${describePlan(plan)}`).toBe(`
worked: Does it read well?

  target    embedded reference service
  profile   documented
  callers   4 of tier default
  limits    from the profile: a run discovers the limits of the target
  seed      1
  duration  102 s, at most 112 s
  warm-up   at most 760 ms before the first request
  forecast  3,408 requests, 72,843 credits, worst case $0.268314
  budget    $0.01, below the worst case

Stages

  stage    start  duration  at most  callers  load
  rise       0 s    500 ms   500 ms        4  ramp 0 to 2.5/s (37.5/min per caller): s 100%
  steady  500 ms      90 s     90 s        4  poisson 6.17/s (92.6/min per caller): s 33%, batch
                                              56%, replay 11%
  over    90.5 s       5 s      5 s        2  burst of 1300 every 4 s: xs 100%
  idle    95.5 s       2 s      2 s        4  pause
  users   97.5 s       1 s      1 s        4  8 users, think time 100 ms: models 100%
  list    98.5 s       3 s     13 s        1  in sequence: models, single

Models, networks and prices

  name                      source    value
  model ref-nano-3b         default   tier XS, $0.15 and $0.60 per million tokens
  model ref-small-24b       default   tier S, $0.50 and $2.00 per million tokens
  model ref-large-235b      default   tier L, $0.90 and $4.50 per million tokens
  network ethereum-mainnet  default   evm, 20 base credits
  price of a credit         document  $0.000000625

Limits of one caller, per minute

  stage      scope               peak  busiest minute  limit  used
  rise       chat:ref-small-24b    38            0.16     75  0%
  steady     chat:ref-small-24b    31              31     75  41%
  steady     rpc                   90              90    100  90%
  over       chat:ref-nano-3b                   1,300    500  260%, exceeded
  list       rpc                                    1    100  1%
  whole run  chat:ref-small-24b                    31     75  41%
  whole run  rpc                                   90    100  90%
  whole run  chat:ref-nano-3b                   1,300    500  260%, exceeded

Expected failures of one caller

  stage   per 30 s  tolerated
  steady         1         20
  over         800         20  exceeded; if intended, set "exceed-failure-limit: true"

Expected requests

  stage   call    requests  per second  provable
  rise    s              1           2  no percentile
  steady  s            185        2.06  up to p95
  steady  batch        309        3.43  up to p99
  steady  replay       231        2.57  up to p95
  over    xs         2,600         520  up to p99
  users   models        80          80  at best p95
  list    models         1        0.33  no percentile
  list    single         1        0.33  no percentile

Thresholds

  p(95) ttft of s in rise < 1s
    cannot be proved: needs 59 samples, 1 expected
  p(95) ttft of s in steady < 1s
  violations == 0
`)
})

test('describeLoad describes stairs and spikes', () => {
  const plan = planOf({
    jumps: 'duration: 9s, shape: stairs, from: 20% of tier, to: 100% of tier, steps: 5, mix: { s: 1 }',
    climbs: 'duration: 9s, shape: stairs, from: 0/s, to: 1/s, steps: 3, ramp: 500ms, mix: { s: 1 }',
    sudden: 'duration: 9s, shape: spike, base: 1/s, peak: 5/s, at: 2s, for: 3s, mix: { s: 1 }',
    soft: 'duration: 9s, shape: spike, base: 1/s, peak: 5/s, at: 2s, for: 3s, ramp-up: 1s, ramp-down: 500ms, mix: { s: 1 }',
  })
  expect(plan.stages.map(describeLoad)).toEqual([
    'stairs 1 to 5/s in 5 levels (75/min per caller): s 100%',
    'stairs 0 to 1/s in 3 levels, ramps of 500 ms (15/min per caller): s 100%',
    'spike from 1 to 5/s at 2 s for 3 s (75/min per caller): s 100%',
    'spike from 1 to 5/s at 2 s for 3 s, ramps of 1 s and 500 ms (75/min per caller): s 100%',
  ])
})

test('describePlan omits empty sections', () => {
  const text = describePlan(planOf({ a: 'duration: 1s, shape: constant, rate: 5/s, mix: { models: 1 }' }))
  expect(text).not.toContain('Limits')
  expect(text).not.toContain('Thresholds')
  expect(text).toContain('budget    none')
})

test('a threshold that chance may leave without proof differs from one that cannot be proved', () => {
  const thresholds = 'thresholds: [{ expect: p(95) latency of models < 1s, why: A reason. }]'
  const of = (size: number) =>
    describePlan(planOf({ a: `duration: 1s, shape: burst, size: ${size}, mix: { models: 1 }` }, { more: thresholds }))
  expect(of(58)).toContain('cannot be proved: needs 59 samples, 58 expected')
  expect(of(60)).toContain('may not be proved: needs 59 samples, 60 expected')
  expect(of(80)).not.toContain('proved')
})

test('each gap between tokens is a sample', () => {
  const thresholds = 'thresholds: [{ expect: p(99) itl of s < 1s, why: A reason. }]'
  const text = describePlan(planOf({ a: 'duration: 1s, shape: burst, size: 4, mix: { s: 1 }' }, { more: thresholds }))
  expect(text).not.toContain('proved')
})

test.each(['smoke', 'nightly', 'capacity', 'x402-top-up'])('the plan of %s fits the page', name => {
  const plan = makePlan(loadScenario(`scenarios/${name}.yaml`, documentedContract), documentedContract, noFlags)
  for (const line of describePlan(plan).split('\n')) expect(line.length).toBeLessThanOrEqual(100)
  for (const line of describePlan(plan, null, 80).split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test('a saturate stage has a maximum of calls and no rate', () => {
  const flood = 'duration: 10s, shape: saturate, connections: 8, max-calls: 300, mix: { models: 3, xs: 1 }'
  const plan = describePlan(planOf({ flood }))
  expect(plan).toContain('8 busy connections, at most 300 calls: models 75%, xs 25%')
  expect(plan).toMatch(/flood {2}models +225 +at best p95\n/)
  // All calls may be sent within one minute.
  expect(plan).toMatch(/flood +chat:ref-nano-3b +19 +500 +4%\n/)
  expect(plan).toContain('forecast  300 requests')
})

test('a capacity stage states its range, its goal and its proof; its forecast is the maximum', () => {
  const search =
    'duration: 60s, shape: capacity, from: 1/s, to: 50% of tier, good-ratio: 99.9%, precision: 2%, mix: { xs: 3, models: 1 }'
  const more = `service: { concurrency: 4, service-time: 20ms, queue-length: 8 }
thresholds: [{ expect: capacity >= 5/s, why: A wish. }]`
  const plan = planOf({ search }, { more })
  const text = describePlan(plan)
  const words = text.replace(/\s+/g, ' ')
  expect(words).toContain(
    'embedded reference service: concurrency 4, 20 ms per request (constant), so 200/s; queue length 8',
  )
  expect(words).toContain(
    'search from 1 to 22.2/s (333/min per caller) for 99.9% good responses, precision 2%, confirmed over 10 s and 2995 responses per call: xs 75%, models 25%',
  )
  expect(text).toContain('capacity >= 5/s\n    cannot be proved: confirming the highest rate takes 569 s')
  expect(plan.forecast.requests).toBe(Math.round((60 * 4 * 0.5 * 500) / 0.75 / 60))
})

test('the plan names the clauses that must be judged, as patterns where all of a group must', () => {
  const stages = { a: 'duration: 1s, shape: burst, size: 4, mix: { models: 1 }' }
  const textOf = (more: string) => describePlan(planOf(stages, { more }))
  expect(textOf('must-judge: [billing.*, rpc.cost.header]')).toMatch(
    /\n\nMust be judged\n\n {2}rpc\.cost\.header billing\.\*\n/,
  )
  expect(textOf('')).not.toContain('Must be judged')
})
