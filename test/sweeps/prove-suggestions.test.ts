import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { formatRatio } from '../../src/lib/format.ts'
import { type JsonObject, toObject } from '../../src/lib/json.ts'
import { type DraftPlan, draftScenario, scenarioAt } from '../../src/library/draft.ts'
import { createSecrets } from '../../src/library/secrets.ts'
import { scenarioWith } from '../../src/prove/additions.ts'
import type { MutantResult } from '../../src/prove/mutant-run.ts'
import { inlineRuns } from '../../src/prove/mutant-threads.ts'
import { honestTerms, promisedLies } from '../../src/prove/mutants.ts'
import { type GateProof, proveGate } from '../../src/prove/prove.ts'
import { renderProof } from '../../src/prove/render-proof.ts'
import { suggestAdditions } from '../../src/prove/suggest.ts'
import type { MakeRuns } from '../../src/prove/suggest-thresholds.ts'
import { membersOf } from '../../src/scenario/load-scenario.ts'
import { todays } from '../support/nightly.ts'
import { freshDirectory } from '../support/turnpike.ts'

/** Without these promises, no shipped scenario passes. */
const content = ['chat.choice', 'rpc.response', 'billing.conservation']

function draftOf(
  written: JsonObject,
  promises: readonly string[],
  only: readonly string[] = [],
  stated: JsonObject = {},
): Promise<DraftPlan> {
  const profile = join(freshDirectory(), 'profile.yaml')
  writeFileSync(profile, JSON.stringify({ ...stated, promises: { only: [...content, ...promises] } }))
  const overrides = { target: null, seed: null, budgetUsd: null, topUpUsd: null, only }
  return draftScenario(
    { written, file: 'shortened.yaml', isFile: false },
    { ...overrides, profile, limitsFrom: 'target' },
    createSecrets([]),
  )
}

const prove = async (draft: DraftPlan, suggestions: boolean) =>
  proveGate(draft, await inlineRuns(draft), { minScore: null, sensitivity: false, suggestions })

const caughtIn = ({ mutants }: GateProof) => mutants.filter(({ survived }) => survived === null).map(({ name }) => name)

/** A shipped scenario without some calls and what sends them. */
function without(scenario: string, left: readonly string[]) {
  const { written, file } = scenarioAt(scenario)
  const members = membersOf(written, file)
  const stages = (members.stages as readonly JsonObject[]).flatMap(stage => {
    const { mix, calls } = stage
    if (Array.isArray(calls)) return { ...stage, calls: calls.filter(name => !left.includes(String(name))) }
    const kept = Object.entries(toObject(mix) ?? {}).filter(([name]) => !left.includes(name))
    if (mix === undefined) return stage
    return kept.length === 0 ? [] : { ...stage, mix: Object.fromEntries(kept) }
  })
  const calls = Object.entries(members.calls as JsonObject).filter(([name]) => !left.includes(name))
  return { ...members, calls: Object.fromEntries(calls), stages, 'must-judge': [] }
}

/** Half of the conflicts of a batch differ in their last item alone, so the one that an addition sends may miss these. */
const inHalf = ['params-not-compared', 'first-item-compared']

const wide = { columns: 200, color: false }

const removals = [
  { scenario: 'idempotency', calls: ['conflict', 'conflict-of-batch'], promises: ['rpc.replay.conflict'] },
] as const

test.each(removals)(
  'without $calls, $scenario notices less, and each suggestion brings back what it says',
  async ({ scenario, calls, promises }) => {
    const whole = await prove(await draftOf(without(scenario, []), promises), false)
    const draft = await draftOf(without(scenario, calls), promises)
    const less = await prove(draft, true)
    const lost = caughtIn(whole).filter(name => !caughtIn(less).includes(name))
    expect([whole.verdict, less.verdict], less.reasons.join(' ')).toEqual(['pass', 'pass'])
    expect(lost.length, caughtIn(whole).join(' ')).toBeGreaterThan(0)
    // A fault such as a second without service may fall on other requests.
    const gained = less.mutants.filter(({ name, survived }) => survived === null && !caughtIn(whole).includes(name))
    expect(gained.filter(({ clause }) => clause !== null)).toEqual([])
    const difference = (lost.length - gained.length) / whole.mutants.length
    expect((whole.score ?? 0) - (less.score ?? 0)).toBeCloseTo(difference)
    const { suggestions, untried } = less
    expect(untried).toEqual([])
    const noticed = suggestions.flatMap(({ notices }) => notices)
    expect(noticed).toEqual(expect.arrayContaining(lost.filter(name => !inHalf.includes(name))))
    for (const { addition, notices, requests, usd, yaml } of todays(suggestions, 3)) {
      const more = await draft.inPlace(scenarioWith(draft, [addition]))
      expect(more.plan.forecast.requests - draft.plan.forecast.requests, yaml.join('\n')).toBe(requests)
      expect(Number(more.plan.forecast.worstUsd) - Number(draft.plan.forecast.worstUsd)).toBeCloseTo(Number(usd), 9)
      const proof = await prove(more, false)
      expect(proof.verdict).toBe('pass')
      expect(caughtIn(proof), yaml.join('\n')).toEqual(expect.arrayContaining([...caughtIn(less), ...notices]))
      // An addition may also notice what another one is suggested for.
      const told = (caughtIn(less).length + notices.length) / less.mutants.length
      const text = renderProof({ ...less, suggestions: suggestions.filter(each => each.yaml === yaml) }, wide)
      expect(text).toContain(`the score is at least ${formatRatio(told)}`)
      expect(proof.mutants.length).toBe(less.mutants.length)
      expect(proof.score).toBeGreaterThanOrEqual(told)
    }
  },
)

const steady = (thresholds: readonly string[], rate = '10/s'): JsonObject => ({
  name: 'steady',
  callers: { count: 2 },
  calls: { read: { kind: 'rpc', network: 'ethereum-mainnet', methods: { eth_blockNumber: 1 } } },
  stages: [{ name: 'all', shape: 'constant', duration: '20s', rate, mix: { read: 1 } }],
  thresholds: ['violations == 0', ...thresholds].map(each => ({ expect: each, why: 'A test.' })),
})

test('without them, thresholds on times and failures are suggested, and cost nothing', async () => {
  const strict = ['status(500) == 0', 'p(50) latency of read < 12ms']
  const faults = ['slower-by-half', 'three-times-as-slow', 'ten-times-as-slow', 'errors-two-percent']
  const whole = await prove(await draftOf(steady(strict), []), false)
  expect(caughtIn(whole)).toEqual(expect.arrayContaining(faults))
  const draft = await draftOf(steady([]), [])
  const less = await prove(draft, true)
  expect(caughtIn(less).filter(name => faults.includes(name))).toEqual([])
  const { suggestions } = less
  expect(suggestions.flatMap(({ notices }) => notices)).toEqual(expect.arrayContaining(faults))
  for (const { addition, requests, usd, notices } of suggestions) {
    if (addition.stages.length > 0) continue
    expect({ requests, usd }).toEqual({ requests: 0, usd: '0' })
    const proof = await prove(await draft.inPlace(scenarioWith(draft, [addition])), false)
    expect(caughtIn(proof)).toEqual(expect.arrayContaining([...notices]))
  }
  const text = renderProof(less, { columns: 100, color: false })
  expect(text).toContain('What would notice more')
  expect(text).toMatch(/No further request: the score is at least [\d.]+ %, since it notices slower-by-half/)
  const pasted = new Set(suggestions.flatMap(({ yaml }) => yaml.map(line => line.trim())))
  for (const columns of [80, 200])
    for (const line of renderProof(less, { columns, color: false }).split('\n'))
      if (!pasted.has(line.trim())) expect(line.length, line).toBeLessThanOrEqual(columns)
})

const batches: JsonObject = {
  name: 'batches',
  callers: { count: 1 },
  calls: {
    read: { kind: 'rpc', network: 'ethereum-mainnet', methods: { eth_blockNumber: 1 } },
    batch: { kind: 'rpc-batch', network: 'ethereum-mainnet', methods: { eth_blockNumber: 1 }, size: 2 },
  },
  stages: [{ name: 'all', shape: 'sequence', duration: '5s', calls: ['read', 'batch'] }],
  thresholds: [{ expect: 'violations == 0', why: 'A test.' }],
}

test('with --only, additions are about the clauses, and there are none beside the calls that it names', async () => {
  const draftOnly = (...only: readonly string[]) => draftOf(batches, ['rpc.batch.*'], only)
  const { mutants, suggestions } = await prove(await draftOnly('rpc.batch.*'), true)
  // 5 times the tier is 5 credits for each method of this batch, and Solana is another network, so each needs another batch.
  const others = ['failed-item-5-times-tier', 'solana-errors-in-full']
  const ofPrice = mutants
    .filter(({ clause, name }) => clause === 'rpc.batch.error-price' && !others.includes(name))
    .map(({ name }) => name)
  expect(ofPrice).toContain('failed-item-in-full')
  // One addition for all of them.
  expect(suggestions.map(({ notices }) => notices.filter(name => ofPrice.includes(name)))).toContainEqual(ofPrice)
  expect(suggestions.flatMap(({ notices }) => notices)).toContain('solana-errors-in-full')
  const ofCall = await prove(await draftOnly('rpc.batch.*', 'batch'), true)
  expect(ofCall.mutants.length).toBeGreaterThan(ofPrice.length)
  expect(ofCall.suggestions).toEqual([])
})

async function runsOf(draft: DraftPlan): Promise<MakeRuns> {
  const runs = await inlineRuns(draft)
  return async all => {
    const results: MutantResult[] = []
    await runs.run(all, (index, result) => {
      results[index] = result
    })
    return results
  }
}

test('what a long scenario leaves no time for is named', async () => {
  const draft = await draftOf(steady([]), ['rpc.unsupported-method', 'rpc.network', 'rpc.request'])
  const makeRuns = await runsOf(draft)
  const lies = promisedLies(draft.plan, draft.contract).filter(({ clause }) => clause !== 'rpc.response')
  const { suggestions, untried } = await suggestAdditions(draft, makeRuns, lies, 1)
  // One run of the whole scenario checks this many.
  expect(suggestions.length).toBe(8)
  expect(untried.length).toBeGreaterThan(3)
})

/** Limits of this size need no more requests than it says, whatever the document says. */
const small = { rpc: { requestsPerMinute: 30 }, abuse: { failures: 8 } }
const reaching = [
  {
    about: 'a limit',
    promises: ['limit.requests.enforced', 'limit.requests.not-early', 'retry.after-reset'],
    notices: [
      'one-request-too-many',
      'no-request-limit',
      'one-request-too-few',
      'window-ends-late',
      'limit-a-fifth-higher',
    ],
    requests: [31, 80],
  },
  {
    about: 'a limit of tokens',
    promises: ['limit.tokens.*', 'limit.requests.not-early'],
    notices: ['no-token-limit', 'ten-times-the-tokens'],
    requests: [23, 23],
  },
  {
    about: 'a block',
    promises: ['abuse.*'],
    notices: ['block-never', 'block-one-failure-late', 'block-one-failure-early', 'block-two-seconds-short'],
    requests: [10, 80],
  },
] as const

test.each(todays(reaching, reaching.length))(
  'a stage that reaches $about is suggested, with as many requests as the profile says',
  async ({ promises, notices, requests: [least, most] }) => {
    const draft = await draftOf(steady([], '1/s'), promises, [], small)
    const less = await prove(draft, true)
    expect(less.verdict, less.reasons.join(' ')).toBe('pass')
    expect(caughtIn(less).filter(name => notices.some(each => each === name))).toEqual([])
    const of = less.suggestions.filter(suggestion => notices.some(name => suggestion.notices.includes(name)))
    expect(of.flatMap(suggestion => suggestion.notices)).toEqual(expect.arrayContaining([...notices]))
    for (const { addition, notices: said, requests, yaml } of of) {
      expect(requests).toBeGreaterThanOrEqual(least)
      expect(requests).toBeLessThanOrEqual(most)
      const proof = await prove(await draft.inPlace(scenarioWith(draft, [addition])), false)
      expect(proof.verdict).toBe('pass')
      expect(caughtIn(proof), yaml.join('\n')).toEqual(expect.arrayContaining([...caughtIn(less), ...said]))
    }
  },
)

/** A scenario with the lines of a suggestion, as a person adds them: lines in place of others, and stages by their names. */
function pasted(scenario: JsonObject, lines: readonly string[]): JsonObject {
  const { calls, stages, thresholds, ...replaced } = parse(lines.join('\n'))
  const own = scenario.stages as readonly JsonObject[]
  const named = new Map(stages.map((stage: JsonObject) => [stage.name, stage]))
  const added = stages.filter(({ name }: JsonObject) => !own.some(stage => stage.name === name))
  return {
    ...scenario,
    ...replaced,
    calls: { ...toObject(scenario.calls), ...calls },
    stages: [...added, ...own.map(stage => named.get(stage.name) ?? stage)],
    thresholds: [...(scenario.thresholds as readonly JsonObject[]), ...thresholds],
  }
}

const ofWallets = [
  'no-rpc-for-wallets',
  'used-nonce-accepted',
  'requirements-without-header',
  'payment-lost',
  'payment-settles-twice',
  'payment-copies-count',
  'last-payment-header-unread',
  'small-payments-accepted',
  'any-resource-accepted',
]

test('wallets are suggested to a scenario without any, with their payments and the budget for these', async () => {
  const scenario = { ...steady([], '1/s'), budget: { usd: 0.1 } }
  const draft = await draftOf(scenario, ['wallet.*'])
  const lies = promisedLies(draft.plan, draft.contract).filter(({ name }) => ofWallets.includes(name))
  expect(lies).toHaveLength(ofWallets.length)
  const makeRuns = await runsOf(draft)
  const { suggestions, untried } = await suggestAdditions(draft, makeRuns, lies)
  expect(untried).toEqual([])
  expect(suggestions.flatMap(({ notices }) => notices).toSorted()).toEqual(ofWallets.toSorted())
  for (const { yaml, notices, requests, usd } of suggestions) {
    const text = yaml.join('\n')
    const more = await draft.inPlace(pasted(scenario, yaml))
    expect(more.plan.forecast.requests - draft.plan.forecast.requests, text).toBe(requests)
    expect(Number(more.plan.forecast.worstUsd) - Number(draft.plan.forecast.worstUsd), text).toBeCloseTo(Number(usd), 9)
    expect(Number(more.plan.budgetUsd), text).toBeGreaterThanOrEqual(Number(more.plan.forecast.worstUsd))
    for (const line of ['budget: {', '# Wallets pay real money'])
      expect(text.includes(line), text).toBe(Number(usd) > 1)
    const runs = await inlineRuns(more)
    const verdicts: string[] = []
    const told = lies.filter(({ name }) => notices.includes(name)).map(({ terms }) => terms)
    await runs.run(
      [{}, ...told].map(terms => ({ ...honestTerms, ...terms, failFast: false })),
      (index, { verdict }) => {
        verdicts[index] = verdict
      },
    )
    expect(verdicts, text).toEqual(['pass', ...told.map(() => 'fail')])
  }
})

test('wallets of a scenario are used as they are, and pay nothing where paying takes real time', async () => {
  const suggested = async (callers: JsonObject, names: readonly string[]) => {
    const draft = await draftOf({ ...steady([], '1/s'), callers, budget: { usd: 100 } }, ['wallet.*'])
    const lies = promisedLies(draft.plan, draft.contract).filter(({ name }) => names.includes(name))
    const { suggestions } = await suggestAdditions(draft, await runsOf(draft), lies)
    for (const { addition, requests, usd } of suggestions) {
      expect(addition.replaces).toBeUndefined()
      const { forecast } = (await draft.inPlace(scenarioWith(draft, [addition]))).plan
      expect(forecast.requests - draft.plan.forecast.requests).toBe(requests)
      expect(Number(forecast.worstUsd) - Number(draft.plan.forecast.worstUsd)).toBeCloseTo(Number(usd), 9)
    }
    return suggestions.flatMap(({ notices }) => notices)
  }
  const lies = ['used-nonce-accepted', 'payment-settles-twice']
  expect((await suggested({ count: 0, wallets: 1, chain: 'base', 'top-up': 5 }, lies)).toSorted()).toEqual(
    lies.toSorted(),
  )
  expect(await suggested({ count: 2, wallets: 2, chain: ['base', 'solana'] }, ['payment-settles-twice'])).toEqual([])
})
