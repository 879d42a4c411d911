import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { probeOf } from '../../../src/contract/probes.ts'
import { profileJsonSchema } from '../../../src/contract/profile.ts'
import { sampleSizeWarning } from '../../../src/plan/describe-plan.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { loadScenario } from '../../../src/scenario/load-scenario.ts'
import { scenarioJsonSchema } from '../../../src/scenario/schema.ts'
import { contractFor } from '../../support/contract-for.ts'
import { tableUnder } from '../../support/markdown.ts'

const noFlags = { seed: null, target: null, budgetUsd: null }
/** Stages that exceed a limit on purpose, and the whole run for each such limit. */
const beyond: Readonly<Record<string, readonly string[]>> = {
  smoke: ['chat-limit', 'rpc-limit', '(run)', '(run)'],
  'abuse-block': ['rate-limited', '(run)'],
  races: ['whole-limit', '(run)'],
  'partner-tiers': ['up-to-large', '(run)'],
  'rate-limit': [
    ...['up-to-chat', 'up-to-rpc', 'up-to-small', 'up-to-extra-small', 'up-to-medium', 'second-chat', 'second-rpc'],
    ...Array.from({ length: 5 }, () => '(run)'),
  ],
}
/** Scenarios that wait for the end of a window or of a second block, search for a rate, or need many samples. */
const maxMs: Readonly<Record<string, number>> = {
  'abuse-block': 80_000,
  'rate-limit': 110_000,
  capacity: 130_000,
  nightly: 160_000,
  'llm-server': 90_000,
}
/** Scenarios for targets without prices and limits. */
const forOthers: readonly string[] = ['llm-server', 'llm-conformance', 'rpc-node', 'node-conformance', 'rpc-coherence']

const documented = tableUnder(readFileSync('docs/scenarios.md', 'utf8'), 'Shipped scenarios')

const files = readdirSync('scenarios').filter(file => file.endsWith('.yaml'))

describe.each(files)('scenarios/%s', file => {
  const contract = contractFor(`scenarios/${file}`)
  const scenario = loadScenario(`scenarios/${file}`, contract)
  const plan = makePlan(scenario, contract, noFlags)
  const isForOthers = forOthers.includes(scenario.name)

  test('has the name of its file and a question', () => {
    expect(`${scenario.name}.yaml`).toBe(file)
    expect(scenario.question).toMatch(/\?$/)
  })

  test('lasts at most a minute, with listed exceptions', () => {
    expect(plan.forecast.durationMs).toBeLessThan(maxMs[scenario.name] ?? 60_000)
  })

  test.runIf(isForOthers)('has neither a price nor a limit, and needs neither a budget nor a second key', () => {
    const { forecast, limits, budgetUsd, callers } = plan
    expect(forecast).toMatchObject({ worstUsd: null, credits: 0, limits: [], failures: [] })
    expect(limits.scopes.filter(({ profile, target }) => profile !== null || target !== null)).toEqual([])
    expect([budgetUsd, callers.names.length]).toEqual([null, 1])
  })

  test.skipIf(isForOthers)('has one caller where docs/scenarios.md says that it needs one key', () => {
    const question = documented.find(row => row.Scenario === `\`${scenario.name}\``)?.Question ?? ''
    expect(plan.callers.names.length === 1).toBe(question.endsWith('Needs one key.'))
  })

  test.skipIf(isForOthers)('costs less than half of its budget in the worst case', () => {
    expect(Number(plan.forecast.worstUsd)).toBeLessThan(Number(plan.budgetUsd) / 2)
  })

  test('sends enough requests to prove each threshold', () => {
    expect(
      plan.thresholds.map(threshold => sampleSizeWarning(plan, threshold)).filter(problem => problem !== null),
    ).toEqual([])
  })

  test('stays within every limit, except on purpose', () => {
    const over = plan.forecast.limits.filter(({ perMinute, limit }) => perMinute > limit)
    expect(over.map(({ stage }) => stage)).toEqual(beyond[scenario.name] ?? [])
  })

  test('has thresholds on violations, unexpected-429 and failures', () => {
    const expressions = scenario.thresholds.map(({ expression }) => expression.replace(/ in (moderate|steady) /, ' '))
    const wanted = ['violations == 0', 'incomplete == 0', ...(isForOthers ? [] : ['unexpected-429 == 0'])]
    expect(expressions).toEqual(expect.arrayContaining(wanted))
  })
})

test('smoke provokes at most 20 refusals per caller, so that none is blocked', () => {
  const { stages, forecast } = makePlan(
    loadScenario('scenarios/smoke.yaml', documentedContract),
    documentedContract,
    noFlags,
  )
  const bursts = forecast.limits.filter(({ stage, perMinute, limit }) => stage.endsWith('-limit') && perMinute > limit)
  expect(bursts.map(({ stage, perMinute, limit }) => [stage, perMinute - limit])).toEqual([
    ['chat-limit', 6],
    ['rpc-limit', 5],
  ])
  // The callers of bursts and probes do nothing else, so their refusals do not add up.
  const taken = stages.filter(
    ({ load }) => load.model === 'sequence' || (load.model === 'open' && load.shape.kind === 'burst'),
  )
  const callers = taken.flatMap(({ firstCaller, callers: count }) =>
    Array.from({ length: count }, (_, i) => firstCaller + i),
  )
  expect(callers).toEqual([12, 13, 14, 15])
  expect(stages.flatMap(({ load }) => (load.model === 'sequence' ? load.calls : [])).length).toBeLessThan(20)
})

test('conformance asks each network of the list for a call, and for a method that is not supported', () => {
  const { rpc, paths } = documentedContract
  const { stages, calls } = makePlan(
    loadScenario('scenarios/conformance.yaml', documentedContract),
    documentedContract,
    noFlags,
  )
  const [called, refused] = [new Set<string>(), new Set<string>()]
  for (const name of stages.flatMap(({ load }) => (load.model === 'sequence' ? load.calls : []))) {
    const call = calls[name]
    if (call?.kind === 'rpc') called.add(call.network)
    if (call?.kind !== 'probe') continue
    const { clause, request } = probeOf(call.probe)
    const network = request(documentedContract).path.replace(paths.rpc.replace('{network}', ''), '')
    if (clause === 'rpc.network.listed') called.add(network)
    if (clause.startsWith('rpc.unsupported-method')) refused.add(network)
  }
  const listed = new Set(Object.keys(rpc.networks))
  expect([called, refused]).toEqual([listed, listed])
})

test.each([
  ['scenario', scenarioJsonSchema],
  ['profile', profileJsonSchema],
])('the published schema of a %s is up to date', (what, schema) => {
  const file = `scenarios/${what}.schema.json`
  const current = `${JSON.stringify(schema(), null, 2)}\n`
  expect(readFileSync(file, 'utf8'), `write the output of "turnpike schema --of ${what}" to ${file}`).toBe(current)
})
