import { describe, expect, test } from 'vitest'
import { createJudge } from '../../../src/judge/judge.ts'
import { makeReport } from '../../../src/run/make-report.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenarioWith = (thresholds: readonly string[], last = 'shape: poisson, duration: 300s, rate: 5/s') => `name: test
callers: { count: 6 }
calls:
  read: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  ask: { kind: chat, prompt-tokens: 20, max-completion-tokens: 8 }
stages:
  - { name: first, shape: constant, duration: 10s, rate: 1/s, mix: { read: 1 } }
  - { name: steady, ${last}, mix: { read: 1, ask: 1 } }
thresholds:
${thresholds.map(expect => `  - { expect: "${expect}", why: a test }`).join('\n')}
`
const usual = ['violations == 0', 'discrepancies == 0', 'failed <= 5%', 'p(95) latency of read in steady < 1s']
const untilDecided = true

describe.each([1, 3])('--until decided with %i workers', workers => {
  test('ends the load of an honest service early, and passes', async () => {
    const { report, plan, observations } = await virtualRun({ scenario: scenarioWith(usual), workers, untilDecided })
    expect([report.verdict, report.run.ended]).toEqual(['pass', 'decided'])
    expect(report.load.sent).toBeLessThan(plan.forecast.requests / 2)
    expect(observations.filter(({ stage }) => stage === '(closing)')).toHaveLength(6)
    expect(report.billing.billedUsd).not.toBeNull()
    expect(report.reasons.at(-1)).toMatch(
      /^The load ended after \S+ s of 5m10s, since every threshold was decided \(--until decided\)\. The verdict holds for the \d+ requests that were sent; .* at most 5 %; .*\. Saved: [\d,]+ requests and [\d,]+ credits of the plan\.$/,
    )
  })

  test('ends that of a service that is slower than it should, and fails', async () => {
    const scenario = scenarioWith([...usual, 'p(95) latency of read in steady < 2ms'])
    const { report } = await virtualRun({ scenario, workers, untilDecided })
    expect([report.verdict, report.run.ended]).toEqual(['fail', 'decided'])
  })
})

test('without it, the run goes on', async () => {
  const { report } = await virtualRun({ scenario: scenarioWith(usual, 'shape: constant, duration: 80s, rate: 5/s') })
  expect([report.verdict, report.run.ended]).toEqual(['pass', 'complete'])
})

test.each([
  ['a threshold without a bound', ['max latency < 60s'], 'shape: constant, duration: 80s, rate: 5/s'],
  ['a load that changes', [], 'shape: ramp, duration: 80s, from: 4/s, to: 6/s'],
  ['too few requests', [], 'shape: constant, duration: 30s, rate: 5/s'],
] as const)('%s keeps the run going to its end', async (_, more, last) => {
  const { report } = await virtualRun({ scenario: scenarioWith([...usual, ...more], last), untilDecided })
  expect([report.verdict, report.run.ended]).toEqual(['pass', 'complete'])
})

test('nothing ends before each call of the last stage was answered', async () => {
  const scenario = scenarioWith(usual).replace('ask: 1 } }\nthr', 'ask: 0.002 } }\nthr')
  const { report, observations } = await virtualRun({ scenario, untilDecided, seed: 2 })
  const sent = observations.filter(({ stage }) => stage === 'steady')
  const asked = sent.findIndex(({ call }) => call === 'ask')
  expect(asked).toBeGreaterThan(300)
  expect([report.verdict, report.run.ended]).toEqual(['pass', 'decided'])
  expect(sent.length).toBeGreaterThan(asked)
})

test('the record gives the same report again, and one that decided nothing is inconclusive', async () => {
  const { report, plan, contract, head, observations } = await virtualRun({
    scenario: scenarioWith(usual),
    untilDecided,
  })
  const again = async (of: typeof observations) => {
    const judge = createJudge(plan, contract, head)
    for (const observation of of) judge.add(observation)
    const { durationMs, ended } = report.run
    const rest = { loadStartMs: 0, startedMs: 0, eventLoopDelayMs: null, notRecorded: 0, pushed: null }
    const end = { ended: ended as 'decided', durationMs, ...rest }
    const job = { plan, contract, head }
    return (await makeReport(job, [{ snapshot: judge.finish(true), end }], async function* () {})).report
  }
  const { verdict, reasons, thresholds, calls } = await again(observations)
  expect({ verdict, reasons, thresholds, calls }).toEqual({
    ...{ verdict: report.verdict, reasons: report.reasons },
    ...{ thresholds: report.thresholds, calls: report.calls },
  })
  const short = await again(observations.filter(({ id }, index) => index < 80 || id > 1e9))
  expect(short.verdict).toBe('inconclusive')
  expect(short.reasons).toContainEqual(expect.stringMatching(/but the run ended early, before this was decided/))
})
