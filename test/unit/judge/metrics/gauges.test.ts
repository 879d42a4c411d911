import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createGauges } from '../../../../src/judge/metrics/gauges.ts'
import type { ObservedResponse } from '../../../../src/observation/observation.ts'
import { virtualRun } from '../../../support/virtual-run.ts'
import { anObservation } from './fixtures.ts'

const rpc = { kind: 'rpc', network: 'ethereum-mainnet', batch: false, items: [], replay: null } as const

const response = (headers: ObservedResponse['headers'], status = 200): ObservedResponse => {
  return {
    status,
    headers,
    bytes: 0,
    body: { kind: 'json', value: { error: 'Too many failed attempts' }, digest: null },
  }
}

test('the gauges by call and network add up to the totals of the report', async () => {
  const gauges = createGauges(documentedContract)
  const { report, observations } = await virtualRun({ scenario: 'scenarios/smoke.yaml' })
  for (const observation of observations) gauges.add(observation)
  const total = (name: 'expectedCredits' | 'claimedCredits' | 'expectedPicoUsd' | 'claimedPicoUsd') =>
    gauges.charges().reduce((sum, charge) => sum + charge[name], 0n)
  const { billing } = report
  expect(String(total('expectedCredits'))).toBe(billing.expectedCredits)
  expect(String(total('claimedCredits'))).toBe(billing.claimedCredits)
  expect(Number(total('expectedPicoUsd')) / 1e12).toBeCloseTo(Number(billing.expectedUsd), 11)
  expect(Number(total('claimedPicoUsd')) / 1e12).toBeCloseTo(Number(billing.claimedUsd), 11)
  expect(gauges.charges().map(({ call, network }) => `${call} ${network}`)).toEqual(
    expect.arrayContaining(['chat none', 'rpc ethereum-mainnet', 'single zksync-mainnet']),
  )
  expect(gauges.balances()).toHaveLength(16)
  expect(new Set(gauges.remaining().map(({ scope }) => scope.split(':')[0]))).toEqual(
    new Set(['chat', 'rpc', 'control']),
  )
})

test('the response that was written last counts, even if it ended first', () => {
  const gauges = createGauges(documentedContract)
  const shown = (usd: string, remaining: string, headersMs: number) =>
    gauges.add(
      anObservation({
        request: rpc,
        headersMs,
        response: response({ 'x-service-balance-usd': usd, 'x-ratelimit-remaining-requests': remaining }),
      }),
    )
  shown('9.5', '50', 30)
  shown('9.9', '90', 10)
  expect(gauges.balances()).toEqual([{ caller: 'c0', usd: 9.5, diem: null }])
  expect(gauges.remaining()).toEqual([{ caller: 'c0', scope: 'rpc', tier: 'default', requests: 50, tokens: null }])
  shown('9.4', '49', 40)
  expect(gauges.balances()).toEqual([{ caller: 'c0', usd: 9.4, diem: null }])
})

test('a header that is not a number gives no value', () => {
  const gauges = createGauges(documentedContract)
  const junk = { 'x-service-balance-usd': 'NaN', 'x-ratelimit-remaining-requests': 'soon' }
  gauges.add(anObservation({ request: rpc, response: response(junk) }))
  expect(gauges.balances()).toEqual([{ caller: 'c0', usd: null, diem: null }])
  expect(gauges.remaining()).toMatchObject([{ requests: null, tokens: null }])
})

test('responses of the abuse block are counted by caller', () => {
  const gauges = createGauges(documentedContract)
  gauges.add(anObservation({ request: rpc, response: response({}, 429) }))
  gauges.add(anObservation({ request: rpc, response: response({}, 200) }))
  gauges.add(anObservation({ request: rpc, response: null }))
  expect([...gauges.blocks()]).toEqual([['c0', 1]])
})
