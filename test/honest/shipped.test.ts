import { describe, expect, test } from 'vitest'
import { acquitted, judge, verdictOn } from './judged.ts'
import { randomVariant, type Variant } from './service/variant.ts'

const runs: readonly (readonly [scenario: string, changes: Partial<Variant>])[] = [
  ['rate-limit', {}],
  ['rate-limit', { limiter: 'gcra', limits: 'lower', rpc429: 'draft-and-one' }],
  ['conformance', {}],
  ['conformance', randomVariant(201, 0.2)],
  ['abuse-block', { abuseWords: 'spelled-out', abuseStatus: 403 }],
  ['smoke', {}],
  ['smoke', randomVariant(202, 0.2)],
  ['smoke', { networks: 'other-slugs', listOrder: 'shuffled' }],
  ['billing', { charges: 'diem-first', balanceDecimals: 12 }],
  ['idempotency', { replayRequestId: 'new', replayCredits: 'zero' }],
]

describe.concurrent('a shipped scenario does not accuse the honest service', () => {
  test.each(runs)('%s %j', async (scenario, changes) => {
    const judged = await judge({ changes, scenario: `scenarios/${scenario}.yaml`, profile: 'none', asWritten: true })
    expect(verdictOn(judged)).toEqual(acquitted)
  })

  test('with keys that the program invents, if the service accepts any key', async () => {
    const changes = { unknownKeys: 'accepted' } as const
    const judged = await judge({ changes, scenario: 'scenarios/smoke.yaml', profile: 'none', keys: 'invented' })
    expect(verdictOn(judged)).toEqual(acquitted)
  })

  test('with invented keys that the service does not know, the run is inconclusive', async () => {
    const judged = await judge({ changes: {}, scenario: 'scenarios/smoke.yaml', profile: 'none', keys: 'invented' })
    expect({ code: judged.code, findings: judged.findings.filter(isFinding) }).toEqual({ code: 3, findings: [] })
    expect(`${judged.stdout}${judged.stderr}`).toContain('TURNPIKE_KEYS')
  })

  test('a scenario that names a network that is not offered ends before its first call', async () => {
    const changes = { networks: 'other-slugs' } as const
    const scenario = 'test/honest/everyday.yaml'
    const judged = await judge({ changes, scenario, profile: 'none', asWritten: true })
    expect(judged.code).toBe(2)
    expect(judged.stderr).toContain('ethereum-mainnet')
  })
})

const isFinding = (text: string): boolean => !text.startsWith('threshold')
