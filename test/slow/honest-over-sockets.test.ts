import { describe, expect, test } from 'vitest'
import { accusationsIn, judgeOverSockets } from '../honest/judged.ts'
import { randomVariant, type Variant } from '../honest/service/variant.ts'
import { todays } from '../support/nightly.ts'

/** What only sockets have: how connections end, how bodies are framed, and how headers are written. */
const runs: readonly (readonly [scenario: string, changes: Partial<Variant>])[] = [
  ['scenarios/rate-limit.yaml', { limiter: 'gcra', limits: 'lower', rpc429: 'draft-and-one' }],
  ['scenarios/smoke.yaml', {}],
  ['scenarios/smoke.yaml', { networks: 'other-slugs', listOrder: 'shuffled', connections: 'closed' }],
  ['scenarios/abuse-block.yaml', { abuseWords: 'spelled-out', abuseStatus: 403, framing: 'chunked' }],
  ['test/honest/everyday.yaml', { connections: 'one-second', headerCase: 'upper', headerSpaces: true }],
  ['test/honest/everyday.yaml', { framing: 'chunked', extraHeaders: 300, sse: 'crlf', deltas: 'several-per-write' }],
  ['test/honest/everyday.yaml', randomVariant(1, 0.3)],
  ['test/honest/everyday.yaml', randomVariant(2, 0.3)],
]

describe.concurrent('over sockets', () => {
  test.each(todays(runs, 4))('%s accuses no honest service: %j', async (scenario, changes) => {
    const asWritten = scenario.startsWith('scenarios/')
    expect(accusationsIn(await judgeOverSockets({ changes, scenario, profile: 'none', asWritten }))).toEqual([])
  })

  test('with keys that the program invents, if the service accepts any key', async () => {
    const changes = { unknownKeys: 'accepted' } as const
    const judged = await judgeOverSockets({
      changes,
      scenario: 'scenarios/smoke.yaml',
      profile: 'none',
      keys: 'invented',
    })
    expect(accusationsIn(judged)).toEqual([])
  })

  test('with invented keys that the service does not know, the run is inconclusive', async () => {
    const { verdict, findings, text } = await judgeOverSockets({
      changes: {},
      scenario: 'scenarios/smoke.yaml',
      profile: 'none',
      keys: 'invented',
    })
    expect(verdict).toBe('inconclusive')
    expect(findings.filter(finding => !finding.startsWith('threshold'))).toEqual([])
    expect(text).toContain('TURNPIKE_KEYS')
  })

  test('a scenario that names a network that is not offered ends before its first call', async () => {
    const changes = { networks: 'other-slugs' } as const
    const scenario = 'test/honest/everyday.yaml'
    const { ended } = await judgeOverSockets({ changes, scenario, profile: 'none', asWritten: true })
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('ethereum-mainnet')
  })
})
