import { describe, expect, test } from 'vitest'
import { type ClauseId, clauseIds } from '../../src/contract/clauses.ts'
import { compareRuns } from '../../src/judge/compare/compare-runs.ts'
import { defaultCriteria } from '../../src/judge/compare/comparison.ts'
import { randomStream } from '../../src/lib/random.ts'
import { defaultLatency, scaleLatency } from '../../src/service/capacity.ts'
import { lies } from '../../src/service/lies/lies.ts'
import { diffVirtually } from '../support/diff-virtually.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { type Setting, settings } from '../support/settings.ts'
import { type VirtualRun, virtualRun } from '../support/virtual-run.ts'

const pairs = Array.from({ length: 300 }, (_, index) => index + 1)
/** Some of the pairs fail now and then, at the same rate. */
const faults = [
  { status: 500, probability: 0.02 },
  { status: 503, probability: 0.02 },
] as const

test('of 300 pairs of equal services, at most 1 % are called worse', async () => {
  const worse: string[] = []
  for (const seed of todays(pairs, 29)) {
    const { diff } = await diffVirtually({
      scenario: 'test/e2e/short.yaml',
      seed,
      faults: seed % 3 === 0 ? faults : [],
      margins: seed % 2 === 0 ? { 'p95.ttft': 0.05, 'p90.latency': 0.1 } : {},
    })
    if (diff.verdict === 'worse') worse.push(`${seed}: ${diff.reasons.join(' ')}`)
  }
  expect(worse.length, worse.join('\n')).toBeLessThanOrEqual(isNightly ? pairs.length / 100 : 1)
})

/** The clauses that a setting exercises with an honest service, once it is asked for. */
const exercised = new Map<Setting, Promise<ReadonlySet<ClauseId>>>()
function clausesOf(setting: Setting): Promise<ReadonlySet<ClauseId>> {
  const known = exercised.get(setting)
  if (known !== undefined) return known
  const asked = virtualRun(setting.run).then(
    ({ report }) => new Set(report.clauses.filter(({ judged }) => judged > 0).map(({ id }) => id)),
  )
  exercised.set(setting, asked)
  return asked
}

describe('a lie on one side is named on that side', () => {
  const firstLies = clauseIds.flatMap(clause => lies[clause].slice(0, 1).map(lie => ({ clause, name: lie.name, lie })))
  test.each(todays(firstLies, 80))('$clause: $name', async ({ clause, name, lie }) => {
    for (const setting of settings) {
      if (!(await clausesOf(setting)).has(clause)) continue
      const { diff } = await diffVirtually(setting.run, {}, { lies: [lie] })
      const named = diff.clauses.find(each => each.name === clause)
      if (named === undefined) continue
      expect([named.verdict, diff.verdict]).toEqual(['worse', 'worse'])
      expect(diff.reasons.join('\n')).toContain(`Only NEW violates ${clause} `)
      const { diff: mirrored } = await diffVirtually(setting.run, { lies: [lie] }, {})
      expect(mirrored.clauses.find(each => each.name === clause)?.verdict).toBe('better')
      expect(mirrored.reasons.join('\n')).not.toContain(clause)
      return
    }
    expect.fail(`${name} was named in no setting`)
  })
})

const chatsFor = (seconds: number) => `name: chats
callers: { count: 20, tier: default }
calls: { chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 4 } }
stages:
  - { name: steady, duration: ${seconds}s, shape: constant, rate: 20/s, exceed-tier: true, mix: { chat: 1 } }
thresholds: [{ expect: violations == 0, why: The service documents each rule. }]
`

/** The hour: it slows down both sides of a pair, by 2 % as the standard deviation. */
const hours = [0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03] as const

test('1,200 requests to each side tell 5 % more TTFT from none, whatever the hour', async () => {
  const slower = { timing: scaleLatency(defaultLatency, 0.05) }
  const muchSlower = { timing: scaleLatency(defaultLatency, 0.1) }
  const seeds = todays(
    Array.from({ length: 40 }, (_, index) => index + 1),
    20,
  )
  let [found, spared, tails] = [0, 0, 0]
  for (const [index, seed] of seeds.entries()) {
    const hour = hours[seed % hours.length] ?? 1
    const both = { scenario: chatsFor(60), seed, margins: { ttft: 0.05 }, slowness: () => hour }
    const verdictOf = (name: string, { numbers }: Awaited<ReturnType<typeof diffVirtually>>['diff']) =>
      numbers.find(({ measure, call }) => measure === name && call === null)?.verdict
    const ofTtft = (diff: Parameters<typeof verdictOf>[1]) => verdictOf('ttft', diff)
    const ofTail = { ...both, margins: { 'p95.ttft': 0.05 } }
    // A percentile needs a larger change. A fourth of the pairs shows it.
    if (index % 4 === 0 && verdictOf('p95.ttft', (await diffVirtually(ofTail, {}, muchSlower)).diff) === 'worse')
      tails++
    if (ofTtft((await diffVirtually(both, {}, slower)).diff) === 'worse') found++
    if (ofTtft((await diffVirtually(both)).diff) === 'no-worse') spared++
  }
  expect([found / seeds.length, spared / seeds.length].map(share => share >= 0.5)).toEqual([true, true])
  expect(tails / (seeds.length / 4)).toBeGreaterThanOrEqual(0.4)
  if (isNightly) expect([found, spared].every(count => count >= 0.85 * seeds.length)).toBe(true)
})

/** Whether a separate run, in an hour of its own, shows that the service is slower. */
async function foundApart(seconds: number, seed: number, timing: typeof defaultLatency): Promise<boolean> {
  const runOf = async (index: number, ofService: Partial<VirtualRun>) => {
    const hour = hours[Math.floor(randomStream(seed, `hour ${index}`).next() * hours.length)] ?? 1
    const slowness = () => hour
    const virtual = { scenario: chatsFor(seconds), seed, serviceSeed: 2 * seed + index, slowness, ...ofService }
    const { plan, slices, report } = await virtualRun(virtual)
    const info = { id: `run-${index}`, startedAt: '2026-01-02T03:04:05.000Z', target: 't', version: '0', seed }
    return { info, plan, slices, isComplete: true, verdict: report.verdict }
  }
  const [old, fresh] = [await runOf(0, {}), await runOf(1, { timing })]
  const { rows } = compareRuns([old], fresh, { ...defaultCriteria, minEffect: 0.025 })
  return rows.some(({ measure, verdict }) => measure.startsWith('TTFT') && verdict === 'regressed')
}

test('5 % more TTFT is found with a third of the requests of two separate runs', async () => {
  expect(await foundApart(30, 1, scaleLatency(defaultLatency, 0.5)), 'a service that is slower by half').toBe(true)
  const timing = scaleLatency(defaultLatency, 0.05)
  const seeds = todays(
    Array.from({ length: 20 }, (_, index) => index + 1),
    4,
  )
  let [together, apart] = [0, 0]
  for (const seed of seeds) {
    const hour = hours[seed % hours.length] ?? 1
    const both = { scenario: chatsFor(30), seed, margins: { ttft: 0.05 }, slowness: () => hour }
    const { diff } = await diffVirtually(both, {}, { timing })
    const isFound = diff.numbers.find(({ measure, call }) => measure === 'ttft' && call === null)?.verdict === 'worse'
    const isFoundApart = await foundApart(90, seed, timing)
    if (isFound) together++
    if (isFoundApart) apart++
  }
  process.stdout.write(`\n600 requests side by side: ${together} of ${seeds.length}; 1,800 apart: ${apart}\n`)
  expect(together).toBeGreaterThan(0)
  if (isNightly) expect(together).toBeGreaterThanOrEqual(1.5 * apart)
})
