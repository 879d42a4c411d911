import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { toObject } from '../../src/lib/json.ts'
import { randomStream } from '../../src/lib/random.ts'
import { UsageError } from '../../src/lib/usage-error.ts'
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

const flaky = rows.flatMap(([clause, name, scenario, fewest]) =>
  [1, 2, 3].map(seed => [clause, name, seed, scenario, fewest] as const),
)

/** Each scenario with one list item or member less, or with one number lower by one. */
function* withoutOnePart(value: unknown, path: string): Generator<{ path: string; left: unknown }> {
  if (Array.isArray(value))
    for (const [at, item] of value.entries()) {
      yield { path: `${path}.${at}`, left: value.toSpliced(at, 1) }
      for (const part of withoutOnePart(item, `${path}.${at}`))
        yield { path: part.path, left: value.toSpliced(at, 1, part.left) }
    }
  const members = toObject(value)
  for (const [key, member] of Object.entries(members ?? {})) {
    const { [key]: _, ...left } = members ?? {}
    yield { path: `${path}.${key}`, left }
    for (const part of withoutOnePart(member, `${path}.${key}`))
      yield { path: part.path, left: { ...members, [key]: part.left } }
  }
  if (typeof value === 'number' && value > 0) yield { path: `${path} - 1`, left: value - 1 }
  const [, times, call] = (typeof value === 'string' && /^(\d+) x (.*)$/.exec(value)) || []
  if (times !== undefined) yield { path: `${path} - 1`, left: `${Number(times) - 1} x ${call}` }
}

/**
 * Without these, a default holds, so nothing is less: who the callers are, as in the run; the network; how a response comes,
 * and the bound of its length; and the definition of a probe that each scenario has.
 */
const hasDefault =
  /^callers\.tier$|^stages\.\d+\.(callers|first-caller)$|^calls\.\w+\.(network|stream|max-completion-tokens)$|^calls\.(wrong-media-type|unlisted-method)$/

function refusal(error: unknown): null {
  if (error instanceof UsageError) return null
  throw error
}

/** In how many of a hundred repetitions a shrunk scenario fails. */
async function timesViolated(
  clause: ClauseId,
  lie: Lie,
  { shrunk, withLies }: Pick<Awaited<ReturnType<typeof shrinkVirtually>>, 'shrunk' | 'withLies'>,
): Promise<number> {
  let violated = 0
  for (let seed = 1; seed <= 100; seed++) {
    const { report } = await withLies(shrunk?.scenario ?? '', [lie], { seed, serviceSeed: 1_000 + seed })
    if (report.findings.some(finding => finding.clause === clause)) violated++
  }
  return violated
}

describe('the smallest scenario', () => {
  test.each(todays(rows, rows.length))('for %s and the lie %s keeps it without any one part', async (...row) => {
    const [clause, name, scenario] = row
    const lie = knownLie(name)
    const { shrunk, withLies } = await shrinkVirtually({ scenario }, clause, lie)
    if (shrunk === null) expect.fail(`${name} is not found again`)
    const whole = toObject(shrunk.scenario) ?? {}
    const parts = Object.entries(whole).filter(([key]) => ['callers', 'calls', 'stages'].includes(key))
    const results: Record<'violated' | 'kept' | 'refused', string[]> = { violated: [], kept: [], refused: [] }
    for (const [key, value] of parts)
      for (const { path, left } of withoutOnePart(value, key)) {
        const run = await withLies({ ...whole, [key]: left }, [lie]).catch(refusal)
        const isViolated = run?.report.findings.some(finding => finding.clause === clause)
        results[run === null ? 'refused' : isViolated ? 'violated' : 'kept'].push(path)
      }
    process.stdout.write(`\n${name}: ${JSON.stringify(results)}\n`)
    expect(
      results.violated.filter(path => !hasDefault.test(path)),
      JSON.stringify(whole),
    ).toEqual([])
    expect(results.kept.length + results.refused.length).toBeGreaterThan(5)
  })

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

  test.each(todays(rows, rows.length))('for %s and the lie %s fails in 95 of 100 repetitions', async (...row) => {
    const [clause, name, scenario] = row
    const lie = knownLie(name)
    expect(await timesViolated(clause, lie, await shrinkVirtually({ scenario }, clause, lie))).toBeGreaterThanOrEqual(
      95,
    )
  })

  test.each(todays(flaky, 3))(
    'for %s and the lie %s in one of five runs, with seed %i',
    async (clause, name, seed, scenario, fewest) => {
      const random = randomStream(seed, 'flaky')
      const { shrunk } = await shrinkVirtually({ scenario }, clause, knownLie(name), () => random.next() < 0.2)
      expect(shrunk?.ended).toBe('minimal')
      expect(shrunk?.arrivals).toBeLessThanOrEqual(fewest + 1)
    },
  )

  test('is not found for a fault that no repetition shows', async () => {
    const lie = knownLie('failed-item-in-full')
    const { shrunk } = await shrinkVirtually({ scenario: replays }, 'rpc.batch.error-price', lie, () => false)
    expect(shrunk).toBeNull()
  })
})

const sessions = `name: sessions
callers: { count: 6 }
calls:
  talk:
    kind: conversation
    stream: false
    model-tier: S
    turns: 3 to 5
    user-tokens: 20 to 40
    max-completion-tokens: 16 to 32
    think: 100ms to 500ms
    system-tokens: 50
    system-groups: 2
    replays: { ratio: 0.4, duplicates: 2 }
  hello: { kind: chat, stream: false, model-tier: S, prompt-tokens: 20, max-completion-tokens: 8 }
stages:
  - { name: load, shape: constant, duration: 10s, rate: 1/s, mix: { talk: 1, hello: 1 } }
`

/** A lie about replays of turns, and the least call that shows it. */
const ofSessions = [
  ['rpc.replay.body', 'replay-of-an-earlier-turn', { turns: 2, replays: { ratio: 1 } }],
  ['rpc.replay.header', 'key-of-the-conversation', { turns: 2, replays: { ratio: 1 } }],
  ['rpc.replay.header', 'replay-unmarked', { turns: 1, replays: { ratio: 1 } }],
  ['rpc.replay.charge', 'replay-charged-again', { turns: 1 }],
] as const

describe('a finding of a session with replays', () => {
  const { idempotency } = documentedContract
  const contract: Contract = { ...documentedContract, idempotency: { ...idempotency, calls: ['rpc', 'chat'] } }

  test.each(todays([...ofSessions], 2))('%s by the lie %s becomes one short session', async (clause, name, least) => {
    const lie = knownLie(name)
    const { shrunk, withLies } = await shrinkVirtually({ scenario: sessions, contract }, clause, lie)
    expect(shrunk).toMatchObject({ ended: 'minimal', arrivals: 1, violated: 3, tried: 3 })
    if (shrunk === null) return
    const { talk, ...others } = toObject(toObject(shrunk.scenario)?.calls) ?? {}
    expect(others).toEqual({})
    expect(talk).toMatchObject({ kind: 'conversation', 'user-tokens': 1, 'max-completion-tokens': 1, ...least })
    // No think time, system prompt or further option is left.
    const kept = ['kind', 'stream', 'model', 'turns', 'user-tokens', 'max-completion-tokens', 'replays']
    expect(Object.keys(toObject(talk) ?? {}).toSorted()).toEqual(kept.toSorted())
    const { report } = await withLies(shrunk.scenario, [])
    expect([report.verdict, report.findings]).toEqual(['pass', []])
    expect(await timesViolated(clause, lie, { shrunk, withLies })).toBeGreaterThanOrEqual(95)
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
