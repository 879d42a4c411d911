import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { warmUpTerms } from '../../../src/plan/warm-up.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'

const termsOf = (stage: string, workers = 1, bounds = '{ max-in-flight: 4096 }') => {
  const text = `
name: warm
callers: { count: 16 }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, ${stage}, mix: { rpc: 1 } }]
bounds: ${bounds}
`
  const scenario = parseScenario(text, 'warm', documentedContract)
  const options = { seed: 1, target: 'http://127.0.0.1:1/api/v1', budgetUsd: null }
  return warmUpTerms(makePlan(scenario, documentedContract, options), workers)
}

test('a run of ten requests pays for no warm-up', () => {
  expect(termsOf('shape: constant, duration: 10s, rate: 1/s')).toBeNull()
})

test('a few requests take at most 5 ms each', () => {
  expect(termsOf('shape: constant, duration: 10s, rate: 3/s')?.maxMs).toBe(150)
})

test('a slow plan takes half a second, and a fast one at most three', () => {
  expect(termsOf('shape: constant, duration: 60s, rate: 20/s')?.maxMs).toBe(510)
  expect(termsOf('shape: constant, duration: 60s, rate: 8000/s, exceed-tier: true')).toEqual({
    maxMs: 3_000,
    perSecond: 8_000,
    connections: 80,
  })
})

test('the highest rate counts, and workers share it', () => {
  expect(termsOf('shape: ramp, duration: 60s, from: 0/s, to: 1000/s, exceed-tier: true', 2)).toMatchObject({
    perSecond: 500,
  })
})

test('closed users each have a connection, within the bounds', () => {
  expect(termsOf('shape: closed, duration: 60s, users: 64')?.connections).toBe(64)
  expect(termsOf('shape: closed, duration: 60s, users: 64', 2)?.connections).toBe(32)
  expect(termsOf('shape: closed, duration: 60s, users: 64', 1, '{ max-in-flight: 10 }')?.connections).toBe(10)
  expect(termsOf('shape: closed, duration: 60s, users: 2000')?.connections).toBe(256)
})

test('a stage that saturates opens its own connections', () => {
  expect(termsOf('shape: saturate, duration: 60s, connections: 64, max-calls: 100000')).toMatchObject({
    perSecond: 6_400,
    connections: 0,
  })
})
