import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { type Contract, contractSchema } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { randomStream } from '../../src/lib/random.ts'
import type { Observation } from '../../src/observation/observation.ts'
import { isAbuseBlock } from '../../src/observation/response.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { type VirtualRun, virtualRun } from '../support/virtual-run.ts'

const crowd = readFileSync('test/slow/crowd.yaml', 'utf8')
const partners = crowd.replace('count: 40', 'count: 40, tier: partner')

/** Most responses are fast and some take seconds, so that they arrive out of order. */
const jittered = (seed: number) => {
  const random = randomStream(seed, 'network')
  return { delayMs: () => (random.next() < 0.05 ? random.next() * 1500 : random.next() * 60) }
}

const shortWindows: Contract = contractSchema.parse({
  ...documentedContract,
  limits: { ...documentedContract.limits, windowMs: 7_000 },
  idempotency: { ...documentedContract.idempotency, ttlMs: 2_000 },
})

const circumstances: readonly (readonly [when: string, run: Omit<VirtualRun, 'scenario'> & { scenario?: string }])[] = [
  ['in the default case', { seed: 1 }],
  ['responses arrive out of order', { seed: 2, network: jittered(2) }],
  ['its clock is three seconds fast', { seed: 3, network: jittered(3), skewMs: 3_000 }],
  ['its clock is three seconds slow', { seed: 4, network: jittered(4), skewMs: -3_000 }],
  ['callers run out of balance', { seed: 5, network: jittered(5), openingBalanceUsd: '0.02' }],
  ['callers are partners', { seed: 6, network: jittered(6), scenario: partners }],
  ['windows and lifetimes are short', { seed: 7, network: jittered(7), contract: shortWindows, skewMs: 1_700 }],
  ['balances are low and windows short', { seed: 8, contract: shortWindows, openingBalanceUsd: '0.01' }],
  ['in the default case with another network', { seed: 9, network: jittered(9) }],
  ['in the default case for partners', { seed: 10, scenario: partners }],
  ['callers pay in DIEM while it lasts', { seed: 11, network: jittered(11), openingBalanceDiem: '0.02' }],
]

const seen = { calls: 0, maxInFlight: 0, blocked: 0, released: 0, rejected: new Map<number, number>() }

const chosen = todays(circumstances, 4)

test.each(chosen)('no clause fails for the honest service: %s', async (_, run) => {
  const { report, observations } = await virtualRun({ scenario: crowd, ...run })
  const { findings, billing, limits } = report
  expect(findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
  expect(billing.discrepancies).toEqual([])
  expect(limits.filter(({ unexpected429, missing429 }) => unexpected429 !== 0 || (missing429 ?? 0) > 0)).toEqual([])
  expect(report.run.ended).toBe('complete')
  count(observations)
})

test('the circumstances were demanding enough', () => {
  expect(seen.calls).toBeGreaterThanOrEqual(isNightly ? 100_000 : 4_000 * chosen.length)
  expect(seen.maxInFlight).toBeGreaterThanOrEqual(200)
  expect(seen.blocked).toBeGreaterThan(100)
  expect(seen.released).toBeGreaterThan(10)
  // Few circumstances run out of balance.
  for (const status of isNightly ? [400, 402, 429] : [429]) expect(seen.rejected.get(status) ?? 0).toBeGreaterThan(100)
})

function count(observations: readonly Observation[]): void {
  const sent = observations.filter(({ sentMs }) => sentMs !== null)
  seen.calls += sent.length
  const blocked = new Set<string>()
  const ofCallers = sent.filter(({ request }) => request.kind !== 'models' && request.kind !== 'networks')
  for (const { response, caller } of ofCallers.toSorted((a, b) => (a.sentMs ?? 0) - (b.sentMs ?? 0))) {
    const status = response?.status ?? 0
    if (response !== null && isAbuseBlock(response, documentedContract)) {
      seen.blocked++
      blocked.add(caller)
    } else if (status === 200 && blocked.delete(caller)) seen.released++
    if (status >= 400) seen.rejected.set(status, (seen.rejected.get(status) ?? 0) + 1)
  }
  const edges = sent
    .flatMap(({ sentMs, endMs }) => [[sentMs ?? 0, 1] as const, [endMs ?? 0, -1] as const])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
  let inFlight = 0
  for (const [, change] of edges) {
    inFlight += change
    seen.maxInFlight = Math.max(seen.maxInFlight, inFlight)
  }
}

afterAll(() => {
  const rejections = [...seen.rejected].map(([status, times]) => `${times} × ${status}`).join(', ')
  process.stdout.write(
    `\n${seen.calls} calls of the honest service, at most ${seen.maxInFlight} in flight, ${rejections}, ${seen.blocked} during blocks, ${seen.released} after a block: no clause failed\n`,
  )
})
