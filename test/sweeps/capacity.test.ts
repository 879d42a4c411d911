import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { createJudge } from '../../src/judge/judge.ts'
import { timingMs } from '../../src/judge/metrics/timings.ts'
import type { CapacityResult } from '../../src/judge/results.ts'
import { formatExact, formatRate } from '../../src/lib/format.ts'

import { makeReport } from '../../src/run/make-report.ts'
import { type VirtualRun, virtualSearch } from '../support/virtual-run.ts'

const scenario = (changes: Readonly<Record<string, string>> = {}) => {
  const parts = {
    callers: '{ count: 60 }',
    service: '{ concurrency: 4, service-time: 40ms, queue-length: 30 }',
    search: 'duration: 110s, from: 10/s, to: 250/s, good-ratio: 99%',
    slo: '{ chat: { latency: 1s } }',
    thresholds: '',
    more: '',
    ...changes,
  }
  return `name: search
callers: ${parts.callers}
calls: { chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 4 } }
service: ${parts.service}
stages: [{ name: search, shape: capacity, ${parts.search}, mix: { chat: 1 } }]
slo: ${parts.slo}
${parts.more}
thresholds:
  - { expect: violations == 0, why: The target meets every clause under load. }${parts.thresholds}
`
}

const searchIn = (text: string, options: Omit<VirtualRun, 'scenario'> = {}) =>
  virtualSearch({ scenario: text, ...options })

const outcomes = ({ trials }: CapacityResult) => new Set(trials.map(({ outcome }) => outcome))

describe('a search in a whole run', () => {
  const found = searchIn(
    scenario({
      thresholds: `
  - { expect: capacity of chat in search >= 90/s, why: A release must sustain it. }
  - { expect: capacity >= 120/s, why: A goal. }`,
    }),
  )

  test('finds the knee of the reference service and states its evidence', async () => {
    const { report, result } = await found
    expect(result.status).toBe('found')
    expect(Math.abs((result.ratePerSecond ?? 0) / 100 - 1)).toBeLessThan(0.05)
    expect(result.confirmation).toMatchObject({ percent: 99, samples: expect.any(Number) })
    expect(result.confirmation?.samples).toBeGreaterThanOrEqual(299)
    expect(result.reason).toMatch(
      /^[\d.]+\/s at chat latency ≤ 1 s for 99 %, confirmed over [\d,]+ requests; at [\d.]+\/s (?:the queue grew|\d+ chat requests got 503)/,
    )
    expect(report.findings).toEqual([])
  })

  test('has the same result when judged again from its observations', async () => {
    const { report, plan, head, observations } = await found
    const judge = createJudge(plan, documentedContract, head)
    for (const observation of observations) judge.add(JSON.parse(JSON.stringify(observation)))
    const footer = { startedMs: null, eventLoopDelayMs: null, notRecorded: 0, loadStartMs: null, pushed: null }
    const end = { ended: 'complete', durationMs: report.run.durationMs, ...footer } as const
    const parts = [{ snapshot: judge.finish(true), end }]
    const judged = await makeReport({ plan, contract: documentedContract, head }, parts, async function* () {
      yield* observations
    })
    expect(judged.report.capacity).toEqual(report.capacity)
  })

  test('ends with its result, well before the end of its stage', async () => {
    const { report } = await found
    expect(report.run.durationMs).toBeLessThan(80_000)
  })

  test('decides thresholds by the confirmed rate', async () => {
    const { report } = await found
    expect(report.thresholds.map(({ verdict }) => verdict)).toEqual(['pass', 'pass', 'fail'])
    expect(report.verdict).toBe('fail')
  })

  test('causes no abuse block', async () => {
    const { report, observations } = await found
    expect(report.load.blocked).toBe(0)
    expect(observations.some(({ outcome }) => outcome.kind === 'answered' && outcome.status === 503)).toBe(true)
  })

  test('finds the knee despite random failures', async () => {
    const { result } = await searchIn(scenario(), { faults: [{ status: 503, probability: 0.004 }] })
    expect(result.status).toBe('found')
    expect(Math.abs((result.ratePerSecond ?? 0) / 100 - 1)).toBeLessThan(0.05)
  })

  test('finds the knee with Poisson arrivals and a queue', async () => {
    const { result } = await searchIn(
      scenario({
        service: '{ concurrency: 8, service-time: 80ms, queue-length: 100 }',
        search: 'duration: 3m, from: 20/s, to: 250/s, good-ratio: 99%, spacing: poisson, confirm: 20s',
      }),
    )
    expect(result.status).toBe('found')
    expect(Math.abs((result.ratePerSecond ?? 0) / 100 - 1)).toBeLessThan(0.06)
  })
})

describe('a search with an SLO for each of two calls', () => {
  /** Streams have an SLO on TTFT, RPC calls one on latency; one of the two is missed first. */
  const mixed = (slo: string) => `name: mixed
seed: 3
callers: { count: 75 }
calls:
  chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 4 }
  rpc: { kind: rpc, network-family: evm, methods: { eth_blockNumber: 1 } }
service: { concurrency: 6, service-time: 30ms, queue-length: 400 }
stages:
  - { name: search, duration: 200s, shape: capacity, from: 20/s, to: 400/s, good-ratio: 99%, precision: 30%, mix: { chat: 7, rpc: 3 } }
slo: ${slo}
thresholds:
  - { expect: capacity of chat in search >= 500/s, why: A goal that is out of reach. }
`
  const missedFirst = async (slo: string) => {
    const { report, result, observations } = await searchIn(mixed(slo))
    const [exceeded] = result.trials
      .filter(({ offeredPerSecond }) => offeredPerSecond > (result.ratePerSecond ?? 0))
      .filter(({ outcome }) => outcome === 'slo-missed')
      .toSorted((a, b) => a.offeredPerSecond - b.offeredPerSecond)
    return {
      report,
      result,
      observations,
      exceeded,
      index: exceeded === undefined ? -1 : result.trials.indexOf(exceeded),
    }
  }

  test('names the TTFT of the stream if that is missed, with the requests that missed it', async () => {
    const { report, result, observations, exceeded, index } = await missedFirst(
      '{ chat: { ttft: 250ms }, rpc: { latency: 20s } }',
    )
    const missed = observations.filter(
      o => o.trial === index && o.call === 'chat' && o.outcome.kind === 'answered' && o.outcome.status === 200,
    )
    const tooLate = missed.filter(o => (timingMs('ttft', o) ?? 0) > 250)
    expect(tooLate.length).toBeGreaterThan(0)
    expect(exceeded?.calls.map(({ missed: counts }) => counts)).toEqual([{ ttft: tooLate.length }, {}])
    const at = formatRate(exceeded?.offeredPerSecond ?? null)
    expect(result.reason).toMatch(
      /^[\d.]+\/s at chat TTFT ≤ 250 ms and rpc latency ≤ 20 s for 99 % of each call, confirmed over [\d,]+ requests; /,
    )
    expect(result.reason).toContain(`; at ${at} ${tooLate.length} missed chat ttft.`)
    // The share of chat is explained beside the capacity of all calls.
    const whole = result.ratePerSecond ?? 0
    const [crossed = ''] = report.reasons
    expect(crossed).toContain(`, ${formatExact(whole * 0.7, 'per-second')} of it chat, not >= 500/s (`)
    expect(crossed).toContain(result.reason.slice(0, -1))
  })

  test('names the latency of RPC if that is missed', async () => {
    const { result, exceeded } = await missedFirst('{ chat: { ttft: 20s }, rpc: { latency: 150ms } }')
    const missed = exceeded?.calls[1]?.missed.latency ?? 0
    expect(missed).toBeGreaterThan(0)
    expect(exceeded?.calls[0]?.missed).toEqual({})
    expect(result.reason).toContain(
      `; at ${formatRate(exceeded?.offeredPerSecond ?? null)} ${missed} missed rpc latency.`,
    )
  })
})

describe('a search that finds no capacity', () => {
  test('reports the highest rate as a lower bound if the target sustains it', async () => {
    const { report, result } = await searchIn(
      scenario({
        search: 'duration: 110s, from: 10/s, to: 80/s, good-ratio: 99%',
      }),
    )
    expect(result).toMatchObject({ status: 'above-range', ratePerSecond: 80 })
    expect(result.reason).toMatch(
      /^at least 80\/s at chat latency ≤ 1 s for 99 %, confirmed over [\d,]+ requests; no higher rate was tried\.$/,
    )
    expect(report.verdict).toBe('pass')
  })

  test('reports that the lowest rate exceeds the capacity', async () => {
    const { result } = await searchIn(scenario({ search: 'duration: 110s, from: 150/s, to: 250/s, good-ratio: 99%' }))
    expect(result).toMatchObject({ status: 'below-range', ratePerSecond: null })
  })

  test('reports no rate if rate limits came first', async () => {
    const { report, result } = await searchIn(
      scenario({
        callers: '{ count: 4 }',
        service: '{ concurrency: 100, service-time: 40ms, queue-length: 30 }',
        search: 'duration: 110s, from: 10/s, to: 250/s, good-ratio: 99%, exceed-tier: true',
      }),
    )
    expect(result).toMatchObject({ status: 'limited-by-tier', ratePerSecond: null })
    expect(report.verdict).toBe('inconclusive')
    const [, rate = '', callers = ''] =
      /^The search in search found no capacity: The rate limits of the callers came first: at ([\d.]+)\/s [\d,]+ requests got 429\. (\d+) callers of tier default would allow up to 250\/s\./.exec(
        report.reasons[0] ?? '',
      ) ?? []
    // The tier allows 500 requests per minute and caller.
    expect(Number(callers)).toBe(Math.ceil((250 * 60) / 500))
    expect(Number(rate)).toBeGreaterThan((4 * 500) / 60)
  })

  test('reports no rate if a bound of the harness came first', async () => {
    const { report, result } = await searchIn(
      scenario({
        service: '{ concurrency: 100, service-time: 40ms, queue-length: 30 }',
        more: 'bounds: { max-in-flight: 20 }',
      }),
    )
    expect(result).toMatchObject({ status: 'harness-limited', ratePerSecond: null })
    expect(outcomes(result)).toContain('harness-saturated')
    const saturatedRates = result.trials
      .filter(({ outcome }) => outcome === 'harness-saturated')
      .map(each => each.offeredPerSecond)
      .filter(rate => !result.trials.some(each => each.outcome === 'sustained' && each.offeredPerSecond >= rate))
    expect(result.reason).toContain(`(max-in-flight) at ${formatRate(Math.min(...saturatedRates))};`)
    expect(report.verdict).toBe('inconclusive')
  })

  test('ends before its only caller is blocked', async () => {
    const { report, result, observations } = await searchIn(
      scenario({
        callers: '{ count: 1 }',
        service: '{ concurrency: 1, service-time: 400ms, queue-length: 1 }',
        search: 'duration: 110s, from: 1/s, to: 8/s, good-ratio: 70%, confirm: 30s, trial: 20s',
        slo: '{ chat: { latency: 5s } }',
      }),
    )
    expect(report.load.blocked).toBe(0)
    expect(result).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(result.trials.at(-1)?.outcome).toBe('failure-limit')
    expect(result.reason).toMatch(/^Callers came close to a block for too many failures/)
    const failures = observations.filter(({ outcome }) => outcome.kind === 'answered' && outcome.status === 503)
    expect(failures.length).toBeLessThanOrEqual(20)
  })

  test('is inconclusive if the stage ends first', async () => {
    const { report, result } = await searchIn(
      scenario({ search: 'duration: 20s, from: 10/s, to: 250/s, good-ratio: 99%' }),
    )
    expect(result).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(report.run.durationMs).toBeLessThan(30_000)
    expect(report.verdict).toBe('inconclusive')
  })

  test('is inconclusive if the budget is reached', async () => {
    const { report, result } = await searchIn(scenario({ more: 'budget: { usd: 0.006 }' }))
    expect(report.run.ended).toBe('budget-reached')
    expect(result).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(result.trials.at(-1)?.outcome).toBe('unfinished')
  })
})
