import { describe, expect, test } from 'vitest'
import { objections } from './judged.ts'
import { randomVariant, type Variant } from './service/variant.ts'

const changes: readonly Partial<Variant>[] = [
  {},
  { limiter: 'gcra', limits: 'lower', rpc429: 'draft-and-one' },
  { abuseWords: 'spelled-out', abuseStatus: 403 },
  { charges: 'diem-first', balanceDecimals: 12 },
  { costMember: 'never' },
  { replayRequestId: 'new', replayCredits: 'zero' },
  ...[201, 202, 203, 204].map(seed => ({ ...randomVariant(seed, 0.2), networks: 'many' as const })),
]

describe.each([
  'rate-limit',
  'conformance',
  'abuse-block',
  'smoke',
  'billing',
  'idempotency',
  'conversations',
  'twins',
  'races',
  'hang-ups',
])('%s', scenario => {
  test.each(changes)('does not accuse the honest service: %j', async changes => {
    expect(
      await objections({ changes, scenario: `scenarios/${scenario}.yaml`, profile: 'none', asWritten: true }),
    ).toEqual([])
  })
})
