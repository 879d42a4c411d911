import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import type { Mix, Plan } from '../../../src/plan/plan.ts'
import { singleShard } from '../../../src/plan/shard.ts'
import { createSharedBudget } from '../../../src/produce/budget/shared-budget.ts'
import { loadCallers } from '../../../src/produce/callers/api-keys.ts'
import type { SearchLead } from '../../../src/produce/drivers/capacity.ts'
import { createRunStop } from '../../../src/produce/drivers/stop.ts'
import { createEngine } from '../../../src/produce/engine.ts'
import type { Feedback } from '../../../src/produce/firing.ts'
import type { Exchange, Saturate, Transport } from '../../../src/produce/transport/transport.ts'
import { manualClock } from '../../../src/prove/manual-clock.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'

const scenario = (stage: string, more = '') => `name: test
callers: { count: 60 }
calls:
  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  probe: { kind: probe, probe: empty-account-to-rpc }
stages: [{ name: load, ${stage} }]
${more}`

const steady = 'duration: 10s, shape: constant, rate: 10/s, mix: { rpc: 1 }'

/** An engine whose target responds with an empty object after 10 ms, and whose feedback comes from a table. */
function engineOf(
  text: string,
  table: Partial<Feedback> = {},
  saturate: Saturate = async () => {},
  mix?: Mix,
  lead?: Partial<SearchLead>,
  isOver?: (nowMs: number) => boolean,
) {
  const clock = manualClock()
  const made = makePlan(parseScenario(text, 'test', documentedContract), documentedContract, {
    seed: 1,
    target: null,
    budgetUsd: null,
  })
  const stages = made.stages.map(stage => (mix === undefined ? stage : { ...stage, load: { ...stage.load, mix } }))
  const plan: Plan = { ...made, stages }
  const observations: Observation[] = []
  const never = new AbortController().signal
  const stop = createRunStop(never, never, () => isOver?.(clock.nowMs()) ?? false)
  const runId = 'test'
  const transport: Transport = (_request, _signal, onFree) => {
    const sentMs = clock.nowMs()
    clock.at(sentMs + 5, () => onFree?.())
    return new Promise(resolve => clock.at(sentMs + 10, () => resolve(emptyResponse(sentMs, clock.nowMs()))))
  }
  const engine = createEngine(
    {
      info: { turnpike: 2, runId, version: '0', target: 'memory', startedAtMs: 0 },
      plan,
      contract: documentedContract,
      callers: loadCallers(plan.callers, { environment: undefined, loopback: true, areOptional: false, runId }),
      specialKeys: { 'free-user': null, 'zero-balance': null },
      secrets: [],
      shard: singleShard,
      budget: createSharedBudget(),
    },
    {
      clock,
      stop,
      transport,
      saturate,
      signer: { signIns: async () => [], payment: async () => null },
      sink: observation => observations.push(observation),
      searchLead: { next: async () => null, start: async () => null, report: () => {}, ...lead },
      feedback: {
        spendOf: () => null,
        countsAsFailure: () => false,
        ...table,
      },
    },
  )
  return { clock, stop, engine, observations, drive: () => clock.run(engine.drive(1_000)) }
}

const emptyResponse = (sentMs: number, endMs: number): Exchange => ({
  sentMs,
  headersMs: endMs,
  endMs,
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{}'),
  bytes: 2,
  failure: null,
})

const everyCaller = Array.from({ length: 60 }, (_, index) => `c${index}`)

const outcomes = (observations: readonly Observation[]) =>
  observations.map(({ outcome }) => (outcome.kind === 'dropped' ? outcome.reason : outcome.kind))

test('the stages are sent on time, between opening and closing balance checks', async () => {
  const { clock, engine, observations, drive } = engineOf(scenario(steady))
  await clock.run(engine.open())
  expect(observations.map(({ stage, caller }) => `${stage} ${caller}`)).toEqual(
    everyCaller.map(caller => `(opening) ${caller}`),
  )
  expect(await drive()).toBe(1_000)
  await clock.run(engine.close())
  const load = observations.filter(({ stage }) => stage === 'load')
  expect(load.map(({ dueMs }) => dueMs)).toEqual(Array.from({ length: 100 }, (_, index) => 1_000 + index * 100))
  expect(load.every(({ sentMs, dueMs }) => sentMs === dueMs)).toBe(true)
  expect(observations.slice(-60).map(({ stage, caller }) => `${stage} ${caller}`)).toEqual(
    everyCaller.map(caller => `(closing) ${caller}`),
  )
  expect([engine.inFlight(), engine.stage()]).toEqual([0, '(closing)'])
})

/** Stages of each load model, whose requests are due after the lease of their worker is over. */
const loads = {
  open: steady,
  closed: 'duration: 10s, shape: closed, users: 3, mix: { rpc: 1 }',
  sequence: 'shape: sequence, duration: 10s, calls: [rpc]',
} as const

test.each(Object.entries(loads))('a worker whose lease is over sends no request that is due (%s)', async (_, stage) => {
  const untilMs = 1_495
  const { engine, observations, stop, drive, clock } = engineOf(
    scenario(stage),
    undefined,
    undefined,
    undefined,
    undefined,
    nowMs => nowMs >= untilMs,
  )
  await drive()
  await clock.run(engine.close())
  const sent = observations.flatMap(({ sentMs }) => sentMs ?? [])
  expect(sent.length).toBeGreaterThan(0)
  expect(Math.max(...sent)).toBeLessThan(untilMs)
  expect(stop.reason()).toBe('worker-lost')
  expect(outcomes(observations.filter(({ sentMs }) => sentMs === null)).every(each => each === 'interrupted')).toBe(
    true,
  )
})

describe('a user of a closed stage', () => {
  const closed = 'duration: 1s, shape: closed, users: 1, mix: { rpc: 1 }'
  const sentMs = (observations: readonly Observation[]) => observations.slice(0, 3).map(each => each.sentMs)

  test('sends as soon as the response has arrived', async () => {
    const { observations, drive } = engineOf(scenario(closed))
    await drive()
    expect(sentMs(observations)).toEqual([1_000, 1_005, 1_010])
  })

  test('with a budget, waits until the price of the last call is known', async () => {
    const { observations, drive } = engineOf(scenario(closed, 'budget: { usd: 10 }'))
    await drive()
    expect(sentMs(observations)).toEqual([1_000, 1_010, 1_020])
  })

  test('waits for the outcome of a call that should be refused', async () => {
    const probe = 'probe: { kind: probe, probe: model-missing }'
    const text = scenario(closed.replace('rpc: 1', 'probe: 1')).replace(/probe: \{.*\}/, probe)
    const { observations, drive } = engineOf(text)
    await drive()
    expect(sentMs(observations)).toEqual([1_000, 1_010, 1_020])
  })

  test('pauses after a call that cannot be sent, for want of a key', async () => {
    const { observations, drive } = engineOf(scenario(closed.replace('rpc: 1', 'probe: 1')))
    await drive()
    expect(outcomes(observations)).toEqual(Array(10).fill('no-credentials'))
  })
})

describe('a budget', () => {
  test('is the only reason to query the charge of a request', async () => {
    let request = 0
    const spendOf = () => {
      request++
      return null
    }
    const free = engineOf(scenario(steady), { spendOf })
    await free.drive()
    expect([free.observations.length, request]).toEqual([100, 0])
    const bounded = engineOf(scenario(steady, 'budget: { usd: 10 }'), { spendOf })
    await bounded.drive()
    expect([bounded.observations.length, request]).toEqual([100, 100])
  })

  test('stops the run at the first arrival that it does not cover', async () => {
    // Each of the first three costs a dollar.
    const { drive, observations, stop } = engineOf(scenario(steady, 'budget: { usd: 3 }'), {
      spendOf: () => ({
        sentMs: 0,
        cost: 10n ** 12n,
        isUnknown: false,
        isUnanswered: false,
        balances: [],
      }),
    })
    await drive()
    expect(outcomes(observations)).toEqual(['answered', 'answered', 'answered', 'budget'])
    expect(stop.reason()).toBe('budget-reached')
  })
})

describe('a failure limit', () => {
  const refused = 'duration: 2s, shape: closed, users: 1, mix: { bad: 1 }'
  const calls = (stage: string) =>
    scenario(stage)
      .replace('count: 60', 'count: 1')
      .replace('stages:', '  bad: { kind: probe, probe: unknown-network }\nstages:')

  test('counts the failures that the feedback reports', async () => {
    const { drive, observations } = engineOf(calls(refused), { countsAsFailure: () => true })
    await drive()
    expect(outcomes(observations)).toContain('failure-limit')
  })

  test('delays nothing if nothing has failed', async () => {
    const { drive, observations } = engineOf(calls(refused))
    await drive()
    expect(new Set(outcomes(observations))).toEqual(new Set(['answered']))
  })
})

describe('a stage that saturates the target', () => {
  const saturating = (mix: string) =>
    scenario(`duration: 10s, shape: saturate, connections: 1, max-calls: 6, mix: ${mix}`)

  /** A connection that sends all requests, and gets each response immediately. */
  const connection = (paths: string[]): Saturate => {
    return async next => {
      for (let pending = next(); pending !== null; pending = next()) {
        paths.push(pending.request.path)
        pending.onEnd(emptyResponse(0, paths.length))
        // Each response belongs to the arrival of its request.
        await Promise.resolve()
      }
    }
  }

  test('gives each connection the request of its arrival, and the arrival its response', async () => {
    const paths: string[] = []
    const { drive, observations } = engineOf(saturating('{ rpc: 1 }'), {}, connection(paths))
    await drive()
    expect(paths).toHaveLength(6)
    expect(observations.map(({ endMs }) => endMs)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('gives a connection the next request if an arrival is dropped', async () => {
    const paths: string[] = []
    const { drive, observations } = engineOf(saturating('{ rpc: 1 }'), {}, connection(paths), [
      ['rpc', 1],
      ['probe', 1],
    ])
    await drive()
    const dropped = outcomes(observations).filter(outcome => outcome === 'no-credentials').length
    expect(dropped).toBeGreaterThan(0)
    expect(paths.length).toBe(6 - dropped)
    expect(observations).toHaveLength(6)
  })
})

test('a search sends each trial until it is decided', async () => {
  const trials = [
    { index: 0, purpose: 'raise', perSecond: 10, arrivals: 20 },
    { index: 1, purpose: 'raise', perSecond: 20, arrivals: 40 },
  ] as const
  let request = 0
  let end = () => {}
  const lead: SearchLead = {
    next: async () => {
      const trial = trials[request++]
      return trial === undefined ? null : { trial, earlier: request * 7 }
    },
    start: async (_stage, _trial, onDecided) => {
      end = onDecided
      return null
    },
    report: (_stage, { index }) => {
      if (index === 1) end()
    },
  }
  const text = scenario(
    'duration: 60s, shape: capacity, from: 10/s, to: 100/s, good-ratio: 99%, mix: { rpc: 1 }',
    'slo: { rpc: { latency: 1s } }',
  )
  const { drive, observations } = engineOf(text, {}, undefined, undefined, lead)
  await drive()
  expect(request).toBe(3)
  const countOf = (trial: number) => observations.filter(observation => observation.trial === trial).length
  expect(countOf(0)).toBe(20)
  // Callers take turns after those of earlier trials.
  expect(observations.filter(({ trial }) => trial === 1)[0]?.caller).toBe('c14')
  // The driver reports ten times per second.
  expect(countOf(1)).toBeGreaterThan(0)
  expect(countOf(1)).toBeLessThan(6)
})
