import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import { randomStream } from '../../src/lib/random.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { allLies, knownLie } from '../../src/service/lies/lies.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { shrinkVirtually } from '../support/shrink-virtually.ts'
import { virtualRun } from '../support/virtual-run.ts'

const replays = `name: replays
callers: { count: 3 }
calls:
  batch: { kind: rpc-batch, network: ethereum-mainnet, size: 5, failing-items: 2, methods: { eth_call: 1, eth_gasPrice: 1 } }
  hello: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 8 }
  again: { kind: replay, of: batch, duplicates: 2 }
stages:
  - { name: load, shape: constant, duration: 5s, rate: 3/s, mix: { again: 1, hello: 1, batch: 1 } }
`

const failures = `name: failures
callers: { count: 2 }
calls: { rate-limits: { kind: rate-limits } }
stages:
  - name: many
    shape: sequence
    duration: 1s
    callers: 1
    first-caller: 1
    exceed-failure-limit: true
    calls: [10 x unlisted-method, 18 x wrong-media-type, 3 x rate-limits]
`

const limits = `name: limits
callers: { count: 2 }
calls: { large: { kind: chat, stream: false, model-tier: L, prompt-tokens: 10, max-completion-tokens: 4 } }
stages:
  - { name: many, shape: burst, size: 180% of tier, duration: 1s, exceed-tier: true, exceed-failure-limit: true, callers: 1, mix: { large: 1 } }
`

/** A lie, the run that it is found in, and the fewest arrivals that show it. */
const rows = [
  ['rpc.batch.error-price', 'failed-item-in-full', replays, 1],
  ['rpc.replay.header', 'replay-unmarked', replays, 1],
  ['rpc.replay.charge', 'replay-charged-again', replays, 1],
  ['abuse.counts', 'media-types-do-not-count', failures, 22],
  ['abuse.counts', 'block-never', failures, 21],
  ['limit.requests.enforced', 'no-request-limit', limits, 21],
] as const

describe('the smallest scenario', () => {
  test.each(rows)('for %s and the lie %s fails for it alone, and passes with an honest service', async (...row) => {
    const [clause, name, scenario, fewest] = row
    const lie = knownLie(name)
    const { shrunk, withLies } = await shrinkVirtually({ scenario }, clause, lie)
    expect(shrunk).toMatchObject({ ended: 'minimal', violated: 3, tried: 3 })
    expect(shrunk?.arrivals).toBeLessThanOrEqual(fewest + 1)
    const { report: lying } = await withLies(shrunk?.scenario ?? '', [lie])
    const allowed = [clause, ...lie.alsoViolates]
    expect(lying.findings.filter(finding => !allowed.includes(finding.clause))).toEqual([])
    const { report: honest } = await withLies(shrunk?.scenario ?? '', [])
    expect([honest.verdict, honest.findings]).toEqual(['pass', []])
  })

  test('for a fault in one of five runs', async () => {
    const lie = knownLie('failed-item-in-full')
    const random = randomStream(1, 'flaky')
    const { shrunk } = await shrinkVirtually(
      { scenario: replays },
      'rpc.batch.error-price',
      lie,
      () => random.next() < 0.2,
    )
    expect(shrunk).toMatchObject({ ended: 'minimal', arrivals: 1 })
  })

  test('is not found for a fault that no repetition shows', async () => {
    const lie = knownLie('failed-item-in-full')
    const { shrunk } = await shrinkVirtually({ scenario: replays }, 'rpc.batch.error-price', lie, () => false)
    expect(shrunk).toBeNull()
  })
})

const files = ['smoke', 'conformance', 'abuse-block', 'idempotency', 'billing'].map(name => `scenarios/${name}.yaml`)

/** The first run in which a lie violates its clause; null: the service has to be another one for it. */
async function runWith(clause: ClauseId, lie: Lie): Promise<string | null> {
  for (const scenario of files) {
    const { report } = await virtualRun({ scenario, lies: [lie] })
    if (report.findings.some(finding => finding.clause === clause)) return scenario
  }
  return null
}

describe('findings of shipped scenarios', () => {
  const all = { found: 0, repeated: 0, small: 0 }

  test.each(todays(allLies, 48))('$clause: $name is found again by no more than before', async ({ clause, name }) => {
    const lie = knownLie(name)
    const scenario = await runWith(clause, lie)
    if (scenario === null) return
    const { shrunk } = await shrinkVirtually({ scenario }, clause, lie)
    all.found++
    if (shrunk === null) return
    all.repeated++
    if (shrunk.arrivals <= 25) all.small++
    expect(shrunk.ended).toBe('minimal')
    expect(shrunk.arrivals).toBeLessThanOrEqual(shrunk.arrivalsBefore)
  })

  test('most are found again, by few arrivals', () => {
    // Some lies are told by chance, and rarely. By day, one lie is a tenth of those found.
    const share = isNightly ? 0.8 : 0.5
    expect(all.repeated / all.found).toBeGreaterThan(share)
    expect(all.small / all.repeated).toBeGreaterThan(share)
  })
})
