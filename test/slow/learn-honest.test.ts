import { expect, test } from 'vitest'
import { parseProfile } from '../../src/contract/profile.ts'
import { learn } from '../../src/learn/learn.ts'
import { learnedProfile } from '../../src/learn/profile-text.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { undiciTransport } from '../../src/produce/transport/undici.ts'
import { startService } from '../honest/service/server.ts'
import { describeChanges, randomVariant, singleChanges, type Variant, variant } from '../honest/service/variant.ts'
import { todays } from '../support/nightly.ts'

/** What is learned from an honest service that was written from the document alone. */
async function learnHonest(changes: Partial<Variant>) {
  const service = await startService(variant(changes), {}, [])
  const clock = systemClock()
  const transport = undiciTransport({ baseUrl: service.target, clock, maxConnections: 2 })
  try {
    const caller = { kind: 'key' as const, name: 'learn', keys: ['hk-c0-1'] }
    const lesson = await learn({ send: transport.send, clock, caller, zeroBalanceKey: 'hk-zero-1', budgetPico: null })
    return { ...lesson, ...learnedProfile(lesson, service.target) }
  } finally {
    await transport.close()
    await service.close()
  }
}

/** Turnpike does not keep more than 128 headers of a response, so it learns nothing there. */
const readable = [{}, ...singleChanges].filter(({ extraHeaders }) => extraHeaders !== 300)
const combined = Array.from({ length: 20 }, (_, seed) => ({
  ...randomVariant(seed + 1, 0.2),
  extraHeaders: 0 as const,
}))

test.each(
  todays([...readable, ...combined], 6).map(changes => [describeChanges(changes) || 'as usual', changes] as const),
)('an honest service differs from the document in nothing: %s', async (_, changes) => {
  const { differences, nothing, replies, yaml } = await learnHonest(changes)
  expect({ differences, nothing }).toEqual({ differences: [], nothing: null })
  expect(replies.length).toBeLessThanOrEqual(60)
  expect(replies.filter(({ status }) => status === 429)).toEqual([])
  expect(() => parseProfile(yaml, 'x')).not.toThrow()
})

test('responses with too many headers teach nothing, and the reason is said', async () => {
  const { nothing } = await learnHonest({ extraHeaders: 300 })
  expect(nothing).toBe('no response could be read (it has more headers than are read)')
})
