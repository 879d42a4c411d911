import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import { makePlan } from '../../src/plan/make-plan.ts'
import { decisionError, earlyEndOf } from '../../src/plan/until-decided.ts'
import { loadScenario } from '../../src/scenario/load-scenario.ts'
import { defaultLatency } from '../../src/service/capacity.ts'
import { todays } from '../support/nightly.ts'
import { peek } from '../support/peeking.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** Trials of a run. By day, every tenth one. */
const trials = todays(
  Array.from({ length: 10_000 }, (_, index) => index),
  10,
)
const most = 600
const wholeRuns = Array.from({ length: 300 }, (_, index) => index)

/** How often at most, if the true share is `error`: beyond it only one time in a thousand. */
const atMost = (error: number, runs = trials.length) => error + 3.1 * Math.sqrt((error * (1 - error)) / runs)

test.each([
  ['at the bound', 0.05, () => 0.05, ['above', 'below']],
  ['at the bound on average', 0.1, (trial: number) => (trial % 10 === 0 ? 1 : 0), ['above', 'below']],
  ['a little above it', 0.05, () => 0.055, ['below']],
  ['a little below a high one', 0.95, () => 0.945, ['above']],
] as const)('looking after each of many trials decides wrongly in at most 5 %%: %s', (_, bound, chanceOf, wrong) => {
  const sides = trials.map(seed => peek(seed, chanceOf, bound, decisionError, most).side)
  const shares = wrong.map(side => sides.filter(each => each === side).length / sides.length)
  process.stdout.write(
    `\n${bound}: decided wrongly ${shares.map(share => `${(100 * share).toFixed(2)} %`).join(', ')}\n`,
  )
  for (const share of shares) expect(share).toBeLessThanOrEqual(atMost(decisionError))
})

test('four thresholds together are wrong in at most 5 % of runs', () => {
  const chances = [0.055, 0.105, 0.055, 0.205]
  const isWrong = (seed: number) =>
    chances.some((chance, index) => {
      const { side } = peek(4 * seed + index, () => chance, Math.floor(chance * 20) / 20, decisionError / 4, most)
      return side === 'below'
    })
  expect(trials.filter(isWrong).length / trials.length).toBeLessThanOrEqual(atMost(decisionError))
})

const gate = `name: gate
callers: { count: 8 }
calls: { read: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, shape: constant, duration: 60s, rate: 10/s, mix: { read: 1 } }]
thresholds: [{ expect: status(500) <= 5%, why: Users give up. }]
`

test.each([
  ['a little above the bound', 0.055, 'pass'],
  ['a little below it', 0.045, 'fail'],
] as const)(
  'whole runs that may end after each response decide wrongly in at most 5 %%: %s',
  async (_, chance, wrong) => {
    const ended = { wrongly: 0, early: 0 }
    const runs = todays(wholeRuns, 30)
    for (const seed of runs) {
      const faults = [{ status: 500, probability: chance }] as const
      const { report } = await virtualRun({ scenario: gate, seed, faults, untilDecided: true })
      if (report.run.ended !== 'decided') continue
      ended.early++
      if (report.verdict === wrong) ended.wrongly++
    }
    process.stdout.write(`\n${chance}: ${ended.early} of ${runs.length} runs ended early, ${ended.wrongly} wrongly\n`)
    expect(ended.wrongly / runs.length).toBeLessThanOrEqual(atMost(decisionError, runs.length))
  },
)

const shipped = readdirSync('scenarios').filter(name => name.endsWith('.yaml'))
/** That of the profile which the scenario names. */
function contractOf(name: string): Contract {
  const [, profile] = /^profile: (.*)$/m.exec(readFileSync(`scenarios/${name}`, 'utf8')) ?? []
  return profile === undefined ? documentedContract : loadProfile(`scenarios/profiles/${profile}.yaml`)
}
const mayEndEarly = shipped.filter(name => {
  const contract = contractOf(name)
  const scenario = loadScenario(`scenarios/${name}`, contract, () => true)
  return earlyEndOf(makePlan(scenario, contract, { seed: 1, target: null, budgetUsd: null })).whole === null
})

/** How often a caller fails in a window depends on how long the load lasts. A scenario that asks for it names it in `must-judge`. */
const byTime = ['abuse.counts']

test.each(todays(mayEndEarly, mayEndEarly.length))('no clause that all of %s exercises is left out', async name => {
  const judgedIn = async (untilDecided: boolean) => {
    const contract = contractOf(name)
    const run = { scenario: `scenarios/${name}`, seed: 5, serviceSeed: 9, untilDecided }
    const { report } = await virtualRun(contract === documentedContract ? run : { ...run, contract })
    return { report, ids: report.clauses.filter(({ judged }) => judged > 0).map(({ id }) => id) }
  }
  const [whole, early] = [await judgedIn(false), await judgedIn(true)]
  process.stdout.write(`\n${name}: ${early.report.run.ended}, ${early.report.load.sent} of ${whole.report.load.sent}\n`)
  expect(early.report.verdict).toBe(whole.report.verdict)
  expect(whole.ids.filter(id => !early.ids.includes(id) && !byTime.includes(id))).toEqual([])
})

/** How much of the plan clear cases send. */
const services = {
  honest: {},
  slow: { timing: { ...defaultLatency, rpcMs: 1_500 } },
} as const
const seeds = Array.from({ length: 20 }, (_, index) => index + 1)

test.each(Object.keys(services) as (keyof typeof services)[])(
  'a clear case sends at most half of the plan: %s',
  async kind => {
    const shares: number[] = []
    for (const seed of todays(seeds, 5)) {
      const run = { scenario: 'scenarios/nightly.yaml', seed, ...services[kind] }
      const { report, plan } = await virtualRun({ ...run, untilDecided: true })
      expect(report.verdict, report.reasons.join('\n')).toBe(kind === 'honest' ? 'pass' : 'fail')
      expect(report.run.ended).toBe('decided')
      shares.push(report.load.sent / plan.forecast.requests)
    }
    const median = shares.toSorted((a, b) => a - b)[Math.floor(shares.length / 2)] ?? 1
    process.stdout.write(
      `\nnightly, ${kind}: ${shares.map(share => share.toFixed(2)).join(' ')}, median ${median.toFixed(2)}\n`,
    )
    expect(median).toBeLessThanOrEqual(0.5)
  },
)
