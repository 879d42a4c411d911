import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import { callFilterOf } from '../../src/judge/not-judged.ts'
import { type DraftPlan, draftScenario } from '../../src/library/draft.ts'
import { createSecrets } from '../../src/library/secrets.ts'
import type { Plan } from '../../src/plan/plan.ts'
import { createMutantRun } from '../../src/prove/mutant-run.ts'
import { inlineRuns } from '../../src/prove/mutant-threads.ts'
import { honestTerms, promisedLies } from '../../src/prove/mutants.ts'
import { type GateProof, proveGate } from '../../src/prove/prove.ts'
import { renderProof } from '../../src/prove/render-proof.ts'
import { knownLie } from '../../src/service/lies/lies.ts'
import { freshDirectory } from '../support/turnpike.ts'
import { virtualRun } from '../support/virtual-run.ts'

type Changes = {
  readonly calls?: readonly string[]
  readonly threshold?: string
  readonly promises?: readonly string[]
}

const calls: Readonly<Record<string, string>> = {
  ask: '{ kind: chat, stream: false, prompt-tokens: 20, max-completion-tokens: 8 }',
  read: '{ kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }',
  again: '{ kind: replay, of: read, duplicates: 1 }',
}

/** Without a promise about what responses contain, no run passes. */
const content: readonly string[] = ['chat.choice', 'rpc.response']

/** A scenario with a few calls, each of which is sent three times. */
const scenarioOf = ({ calls: names = Object.keys(calls), threshold = 'violations == 0' }: Changes) => `name: few-calls
callers: { count: 1 }
calls:
${names.map(name => `  ${name}: ${calls[name]}`).join('\n')}
stages:
  - { name: all, shape: sequence, duration: 20s, calls: [${names.flatMap(name => [name, name, name]).join(', ')}] }
thresholds: [{ expect: "${threshold}", why: a test }]
`

function draftOf(changes: Changes) {
  const { promises } = changes
  const profile = promises === undefined ? null : join(freshDirectory(), 'profile.yaml')
  if (profile !== null)
    writeFileSync(profile, `promises: { only: ${JSON.stringify([...content, ...(promises ?? [])])} }`)
  const overrides = { profile, target: null, seed: null, budgetUsd: null, topUpUsd: null, only: [] }
  return draftScenario(
    { written: scenarioOf(changes), file: 'few-calls.yaml', isFile: false },
    { ...overrides, limitsFrom: 'target' },
    createSecrets([]),
  )
}

const replayed = { promises: ['rpc.replay.*', 'chat.usage.*'] } as const

const proofOf = async (changes: Changes, minScore: number | null = null) => prove(await draftOf(changes), minScore)
const prove = async (draft: DraftPlan, minScore: number | null = null) =>
  proveGate(draft, await inlineRuns(draft), { minScore, sensitivity: false, suggestions: false })
const caughtIn = ({ mutants }: GateProof) => mutants.filter(({ survived }) => survived === null).map(({ name }) => name)

/** Whether a call of the plan asks about the clause. */
function isExercisable(id: ClauseId, { calls: planned }: Plan): boolean {
  const filter = callFilterOf(id)
  return filter === null || Object.values(planned).some(call => filter.matches(call))
}

const whole = await proofOf(replayed)

describe('the score', () => {
  test('falls by the lies that only a removed call would show', async () => {
    const without = await draftOf({ ...replayed, calls: ['ask', 'read'] })
    const part = await prove(without)
    expect(whole.verdict).toBe('pass')
    const predicted = whole.mutants
      .filter(({ survived, clause }) => survived === null && clause !== null && !isExercisable(clause, without.plan))
      // It marks calls without a key, too.
      .filter(({ name }) => name !== 'every-call-marked')
      .map(({ name }) => name)
    expect(predicted.length).toBeGreaterThanOrEqual(5)
    expect(caughtIn(whole).filter(name => !caughtIn(part).includes(name))).toEqual(predicted)
    expect((whole.score ?? 0) - (part.score ?? 0)).toBeCloseTo(predicted.length / whole.mutants.length)
  })

  test('is the share of noticed lies, of all and by group', async () => {
    const { score, mutants, groups } = whole
    const caught = mutants.filter(({ survived }) => survived === null)
    expect(score).toBe(caught.length / mutants.length)
    expect(groups.map(({ group }) => group)).toEqual(['chat', 'rpc', 'faults'])
    expect(groups.reduce((sum, group) => sum + group.all, 0)).toBe(mutants.length)
    expect(groups.reduce((sum, group) => sum + group.caught, 0)).toBe(caught.length)
    expect(caught.length).toBeGreaterThan(5)
    for (const { caughtBy } of caught) expect(caughtBy).not.toEqual([])
  })

  test('below --min-score is a failure', async () => {
    const promises = ['chat.usage.sum']
    expect(await proofOf({ promises }, 0.3)).toMatchObject({ verdict: 'pass', minScore: 0.3 })
    const below = await proofOf({ promises: ['chat.usage.sum', 'abuse.counts'] }, 0.9)
    expect(below.verdict).toBe('fail')
    expect(below.reasons[0]).toMatch(/^The gate noticed \d+ of \d+ wrong services, less than 90 %\.$/)
  })
})

describe('a lie that was not noticed', () => {
  test('was never asked about, or was asked about without a response that shows it', async () => {
    const { mutants } = await proofOf({ promises: ['rpc.replay.conflict', 'limit.requests.enforced'] })
    const kinds = new Map(mutants.map(({ name, survived }) => [name, survived]))
    expect(kinds.get('conflict-runs')).toEqual({
      kind: 'never-asked',
      text: 'no call of this run repeats a request with another body (conflict-ratio)',
    })
    expect(kinds.get('no-request-limit')).toEqual({
      kind: 'too-rarely',
      text: '9 of 101 needed: rpc in a minute, for the busiest caller',
    })
  })

  test('is noticed at requests that do not ask about its clause', async () => {
    const draft = await draftOf({ calls: ['ask'], promises: ['header.request-timestamp'] })
    expect(isExercisable('header.request-timestamp', draft.plan)).toBe(false)
    expect(caughtIn(await prove(draft))).toContain('request-timestamp-for-all')
  })
})

describe('a fault of quantity', () => {
  const ofTimes = ['slower-by-half', 'three-times-as-slow', 'ten-times-as-slow', 'one-slow-worker']
  const survivals = async (threshold: string) => {
    const { mutants, verdict } = await proofOf({ threshold, promises: [] })
    expect(verdict).toBe('pass')
    return new Map(mutants.map(({ name, survived }) => [name, survived]))
  }

  test('of times is noticed by a threshold on times alone, and the reason says how loose it is', async () => {
    const without = await survivals('violations == 0')
    for (const name of ofTimes)
      expect(without.get(name)).toEqual({ kind: 'no-threshold', text: 'no threshold measures it' })
    const measured = await survivals('max latency of read < 60ms')
    expect(ofTimes.filter(name => measured.get(name) === null)).toEqual(['ten-times-as-slow'])
    expect(measured.get('three-times-as-slow')?.kind).toBe('too-loose')
    expect(measured.get('three-times-as-slow')?.text).toMatch(
      /^it is within max latency of read < 60ms, which had [\d.]+ ms$/,
    )
  })

  test('of connections is noticed by a threshold on failures', async () => {
    expect((await survivals('violations == 0')).get('lost-second')).toMatchObject({ kind: 'inconclusive' })
    expect((await survivals('failed == 0')).get('lost-second')).toBeNull()
  })

  test('of charges is noticed by balances, if they are promised', async () => {
    const { mutants } = await proofOf({ promises: ['billing.conservation'] })
    expect(mutants.find(({ name }) => name === 'charge-off-by-a-unit')).toMatchObject({
      survived: null,
      caughtBy: expect.arrayContaining(['billing.conservation']),
    })
    expect(whole.mutants.map(({ name }) => name)).not.toContain('charge-off-by-a-unit')
  })
})

test('a lie that changes no reply is not run, and ends as if it were', async () => {
  const draft = await draftOf({})
  const runMutant = await createMutantRun(draft)
  const honest = await runMutant({ ...honestTerms, failFast: false })
  const sample = promisedLies(draft.plan, draft.contract).filter((_, index) => index % 12 === 0)
  let same = 0
  for (const { name } of sample) {
    const result = await runMutant({ ...honestTerms, lie: name, failFast: false })
    if (result === honest) same++
    const { report } = await virtualRun({ scenario: scenarioOf({}), lies: [knownLie(name)] })
    expect(result.verdict, name).toBe(report.verdict)
    expect(result.reasons, name).toEqual(report.reasons)
    expect(
      result.clauses.map(({ judged }) => judged),
      name,
    ).toEqual(report.clauses.map(({ judged }) => judged))
  }
  expect(same).toBeGreaterThan(sample.length / 4)
  expect(same).toBeLessThan(sample.length)
})

describe('a gate that an honest service cannot pass', () => {
  test('is told why, and no lie is told', async () => {
    const proof = await proofOf({ threshold: 'max latency of read < 1ms' })
    expect(proof).toMatchObject({ verdict: 'fail', score: null, mutants: [] })
    expect(proof.reasons[0]).toBe('The gate can never pass: against a service that keeps every promise, it fails.')
    expect(proof.reasons[1]).toContain('max latency of read < 1ms')
  })

  test('may be inconclusive instead', async () => {
    const proof = await proofOf({ threshold: 'p(99.9) latency of read < 1s' })
    expect(proof).toMatchObject({ verdict: 'inconclusive', score: null })
  })
})

describe('the sensitivity of a threshold', () => {
  test('is measured until the last stage that it is about, with the times of the whole run', async () => {
    const again = '  - { name: later, shape: sequence, duration: 20s, calls: [ask, read] }\n'
    const written = scenarioOf({ threshold: 'max latency of read in all < 1s' }).replace(
      'thresholds:',
      `${again}thresholds:`,
    )
    const draft = await draftOf({})
    const runMutant = await createMutantRun(await draft.inPlace(written))
    const slower = { ...honestTerms, fault: { kind: 'slower', ratio: 0.5 }, serviceSeed: 3, failFast: false } as const
    const whole = await runMutant(slower)
    const timed = await runMutant({ ...slower, timesUntil: 'all' })
    expect(whole.thresholds[0]?.value).toBeGreaterThan(8)
    expect(timed.thresholds[0]?.value).toBe(whole.thresholds[0]?.value)
    expect(whole.clauses.some(({ judged }) => judged > 0)).toBe(true)
    expect(timed.clauses.filter(({ judged }) => judged > 0)).toEqual([])
  })

  const measured = async (threshold: string) => {
    const draft = await draftOf({ threshold, promises: [] })
    const proof = await proveGate(draft, await inlineRuns(draft), {
      minScore: null,
      sensitivity: true,
      suggestions: false,
    })
    return { proof, ratio: proof.sensitivity[0]?.slowdown ?? null }
  }

  test('is a slowdown that grows with its bound, and is shown', async () => {
    const { proof, ratio } = await measured('mean latency of read < 40ms')
    const looser = await measured('mean latency of read < 80ms')
    expect(proof.verdict).toBe('pass')
    expect(ratio).toBeGreaterThan(2)
    expect(looser.ratio).toBeGreaterThan(1.6 * (ratio ?? 0))
    expect(renderProof(proof, { columns: 120, color: false })).toMatch(
      /mean latency of read < 40ms: notices a slowdown of [\d.]+ % or more with power 0.9/,
    )
  })

  test('is unknown for a bound that no slowdown crosses, and nothing is measured for other thresholds', async () => {
    expect((await measured('mean latency of read < 60s')).proof.sensitivity).toMatchObject([
      { slowdown: null, text: 'it notices no slowdown of up to 100 times' },
    ])
    expect((await measured('violations == 0')).proof.sensitivity).toEqual([])
  })
})

test('a page for a terminal has the score, the groups and why each lie survived', async () => {
  const proof = await proofOf({ promises: ['chat.usage.sum', 'abuse.counts'] })
  const text = renderProof(proof, { columns: 100, color: false })
  expect(text).toMatch(/^PASS {2}few-calls\n/)
  expect(text).toMatch(/\n {2}all +\d+ +\d+ +\d+ +[\d.]+ %\n/)
  expect(text).toContain('Never asked: no caller failed often enough')
  for (const { name, survived } of proof.mutants) expect(text.includes(name), name).toBe(survived !== null)
})
