import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { epochOf, systemClock } from '../../../src/lib/clock.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { singleShard } from '../../../src/plan/shard.ts'
import { warmUpTerms } from '../../../src/plan/warm-up.ts'
import { createSaturate } from '../../../src/produce/transport/autocannon.ts'
import { unrecordedJob } from '../../../src/run/inline.ts'
import { hasSettled, roundsOf, warmUp, warmUpPlan } from '../../../src/run/warm-up.ts'
import { startWarmUpService, type WarmUpService } from '../../../src/run/warm-up-service.ts'
import { loadScenario, parseScenario } from '../../../src/scenario/load-scenario.ts'
import { contractFor } from '../../support/contract-for.ts'
import { portOf } from '../produce/transport/loopback.ts'

const options = { seed: null, target: 'http://api.example.com/api/v1', budgetUsd: null }

const planOf = (file: string) => {
  const contract = contractFor(`scenarios/${file}`)
  return makePlan(loadScenario(`scenarios/${file}`, contract), contract, options)
}

const files = readdirSync('scenarios').filter(file => file.endsWith('.yaml'))

describe.each(files)('the warm-up of scenarios/%s', file => {
  const plan = planOf(file)
  const terms = warmUpTerms(plan, 1) ?? { maxMs: 100, perSecond: 1, connections: 1 }
  const rounds = roundsOf(plan, terms)
  const plans = rounds.map(stages => warmUpPlan(plan, stages, terms))

  test('has every call in every stage', () => {
    for (const { load } of plans.flatMap(({ stages }) => stages)) {
      if (!('mix' in load)) throw new Error(`${load.model} has no mix`)
      expect(load.mix.map(([call]) => call)).toEqual(Object.keys(plan.calls))
      expect(Math.min(...load.mix.map(([, weight]) => weight))).toBeGreaterThan(0)
    }
  })

  test('neither waits nor reads keys, and stays within its time', () => {
    const totalMs = plans.flatMap(({ stages }) => stages).reduce((sum, { durationMs }) => sum + durationMs, 0)
    expect(totalMs).toBeCloseTo(terms.maxMs, 6)
    for (const planned of plans) {
      const waits = Object.values(planned.calls).map(call => (call.kind === 'replay' ? call.repeatAfterMs : null))
      expect(waits.filter(each => each !== null)).toEqual([])
      expect(planned.callers.keysFile).toBeNull()
    }
  })
})

const scenarioWith = (stage: string, record = 'all') => `
name: warm
callers: { count: 4 }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: 10s, ${stage}, mix: { rpc: 1 } }]
record: ${record}
`

/** Warms up for a target, with the service in the current thread. Returns the contract of each service that was started. */
async function warmUpFor(stage: string, target: string, signal = new AbortController().signal) {
  const scenario = parseScenario(scenarioWith(stage), 'warm', documentedContract)
  const plan = makePlan(scenario, documentedContract, { ...options, target })
  const clock = systemClock()
  const job = unrecordedJob(plan, documentedContract, { runId: 'test', target, startedAtMs: 0 })
  const started: WarmUpService[] = []
  const sent = await warmUp(
    { ...job, shard: singleShard, epoch: epochOf(clock), maxConnections: 8 },
    {
      clock,
      signal,
      saturate: async baseUrl => (stage.includes('saturate') ? createSaturate({ baseUrl, clock }) : async () => {}),
      startService: async service => {
        started.push(service)
        const { port, close } = await startWarmUpService(service)
        return { port, stop: close }
      },
    },
  )
  return { sent, started }
}

/** Nothing answers there, so a request to it would fail the warm-up. */
const nowhere = '127.0.0.1:9/api/v1'

test('a warm-up sends the calls of a plan, but not to its target', async () => {
  const { sent, started } = await warmUpFor('shape: constant, rate: 5/s', `http://${nowhere}`)
  // A busy machine sends fewer in the same time.
  expect(sent).toBeGreaterThan(20)
  expect(started[0]?.tls).toBeNull()
})

test('a warm-up for an https target uses TLS', async () => {
  const { sent, started } = await warmUpFor('shape: constant, rate: 5/s', `https://${nowhere}`)
  // A busy machine sends fewer in the same time.
  expect(sent).toBeGreaterThan(20)
  expect(started[0]?.tls?.key).toHaveLength(32)
})

test('a warm-up of a stage that saturates sends over the same client', async () => {
  const { sent } = await warmUpFor('shape: saturate, connections: 4, max-calls: 60', `http://${nowhere}`)
  // A busy machine sends fewer in the same time.
  expect(sent).toBeGreaterThan(20)
})

test('no caller of a warm-up reaches a limit or is blocked', async () => {
  const { started } = await warmUpFor('shape: constant, rate: 5/s', `http://${nowhere}`)
  const { rpc, abuse, accounts }: Contract = started[0]?.contract ?? documentedContract
  expect(Math.min(rpc.requestsPerMinute ?? 0, abuse.failures, accounts.default.L.requestsPerMinute)).toBe(1e9)
})

test('no key of the user goes to the service of a warm-up', async () => {
  const keys = new Set<string | undefined>()
  const server = createServer((request, response) => {
    keys.add(request.headers.authorization)
    response.writeHead(401).end('{}')
  })
  const port = await portOf(server)
  const target = `http://${nowhere}`
  const clock = systemClock()
  const plan = planOf('smoke.yaml')
  const job = {
    ...unrecordedJob(plan, documentedContract, { runId: 'test', target, startedAtMs: 0 }),
    callers: plan.callers.names.map(name => ({ kind: 'key' as const, name, keys: [`secret-${name}`] })),
    specialKeys: { 'free-user': 'secret-free', 'zero-balance': 'secret-zero' },
    ...{ shard: singleShard, epoch: epochOf(clock), maxConnections: 8 },
  }
  const signal = new AbortController().signal
  const startService = async () => ({ port, stop: () => {} })
  await warmUp(job, { clock, signal, saturate: async () => async () => {}, startService })
  expect(keys.size).toBeGreaterThan(0)
  expect([...keys].filter(key => key?.includes('secret'))).toEqual([])
})

test('a plan of few requests starts no service', async () => {
  expect(await warmUpFor('shape: constant, rate: 1/s', `http://${nowhere}`)).toEqual({ sent: 0, started: [] })
})

test('a run that is stopped does not go on warming up', async () => {
  const { sent } = await warmUpFor('shape: constant, rate: 5/s', `http://${nowhere}`, AbortSignal.abort())
  expect(sent).toBe(0)
})

test('a run without a port to listen on starts without a warm-up', async () => {
  const plan = planOf('smoke.yaml')
  const clock = systemClock()
  const job = unrecordedJob(plan, documentedContract, { runId: 'test', target: `http://${nowhere}`, startedAtMs: 0 })
  const io = {
    clock,
    signal: new AbortController().signal,
    saturate: async () => async () => {},
    startService: async () => {
      throw new Error('listen EPERM')
    },
  }
  expect(await warmUp({ ...job, shard: singleShard, epoch: epochOf(clock), maxConnections: 8 }, io)).toBe(0)
})

describe('a warm-up', () => {
  const falling = Array.from({ length: 40 }, (_, window) => 1_000 * 0.9 ** window)
  const level = Array.from({ length: 6 }, () => 50)

  test('goes on while a call gets cheaper', () => {
    for (let windows = 0; windows <= falling.length; windows++)
      expect(hasSettled(falling.slice(0, windows))).toBe(false)
  })

  test('ends when the cost is level, even if single windows are expensive', () => {
    expect(hasSettled([...falling.slice(0, 20), 50, ...level])).toBe(true)
    expect(hasSettled([...falling.slice(0, 20), 50, 400, 49, 90, 52, 51, 300])).toBe(true)
  })

  test('needs enough windows to tell', () => {
    expect(hasSettled(level)).toBe(false)
  })
})
