import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { draftScenario, scenarioAt } from '../../src/library/draft.ts'
import { createSecrets } from '../../src/library/secrets.ts'
import { createMutantRun } from '../../src/prove/mutant-run.ts'
import { inlineRuns } from '../../src/prove/mutant-threads.ts'
import { honestTerms } from '../../src/prove/mutants.ts'
import { proveGate } from '../../src/prove/prove.ts'
import { measureSensitivity } from '../../src/prove/sensitivity.ts'
import { plain, tableUnder } from '../support/markdown.ts'
import { todays } from '../support/nightly.ts'

const overrides = { profile: null, target: null, budgetUsd: null, topUpUsd: null, only: [] } as const
const draftOf = (name: string, seed: number | null) =>
  draftScenario(scenarioAt(name), { ...overrides, seed, limitsFrom: 'target' }, createSecrets([]))

/** They differ in what they send. Those that search for a capacity take long. */
const names = [
  'billing',
  'conformance',
  'idempotency',
  'abuse-block',
  'rate-limit',
  'smoke',
  'stairs',
  'resources',
  'wallet-sign-in',
]
const seeds = Array.from({ length: 200 }, (_, index) => index + 1)
const drawn = seeds.flatMap(seed => names.map(name => ({ name, seed })))

test.each(todays(drawn, 65))('an honest service passes $name with the seed $seed', async ({ name, seed }) => {
  const runMutant = await createMutantRun(await draftOf(name, seed))
  const { verdict, reasons, failed } = await runMutant({ ...honestTerms, failFast: false })
  expect(failed).toEqual([])
  // With some seeds, a caller of this scenario gets so few successes between its 429s that it is blocked.
  const isBlocked =
    name === 'rate-limit' && verdict === 'inconclusive' && /came from the abuse block/.test(reasons[0] ?? '')
  if (!isBlocked) expect(verdict, reasons.join('\n')).toBe('pass')
})

/** The median needs fewer requests than a higher percentile. */
const paced = (bound: string) => `name: paced
callers: { count: 3 }
calls:
  read: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  ask: { kind: chat, prompt-tokens: 20, max-completion-tokens: 8 }
stages:
  - { name: steady, shape: constant, duration: 20s, rate: 3/s, mix: { read: 1, ask: 1 } }
thresholds: [{ expect: ${bound}, why: a test }]
`
const bounds = [
  'p(50) latency of read < 12ms',
  'p(75) latency of read < 40ms',
  'p(50) ttft of ask < 200ms',
  'mean ttft of ask < 1s',
]

// 400 runs take long, so half of the days have none.
test.each(todays(bounds, 2 * bounds.length))('the slowdown that %s notices is that which it fails at', async bound => {
  const named = { written: paced(bound), file: 'paced.yaml', isFile: false }
  const draft = await draftScenario(named, { ...overrides, seed: null, limitsFrom: 'target' }, createSecrets([]))
  const runs = await inlineRuns(draft)
  const [found] = await measureSensitivity(draft.plan, runs, () => {})
  const ratio = found?.slowdown ?? 0
  expect(ratio, found?.text).toBeGreaterThan(0.05)
  const count = 400
  let failed = 0
  await runs.run(
    Array.from({ length: count }, (_, run) => {
      return { ...honestTerms, fault: { kind: 'slower', ratio }, serviceSeed: 5_000 + run, failFast: false } as const
    }),
    (_, { verdict }) => {
      if (verdict === 'fail') failed++
    },
  )
  process.stdout.write(`\n${bound} notices ${(100 * ratio).toFixed(1)} %: ${failed} of ${count} runs fail\n`)
  expect(Math.abs(failed / count - 0.9)).toBeLessThanOrEqual(0.05)
})

const scores = tableUnder(readFileSync('docs/prove.md', 'utf8'), 'The shipped scenarios')

test.each(todays(scores, scores.length))(
  'docs/prove.md has the score of $Scenario',
  async ({ Scenario = '', Score }) => {
    const draft = await draftOf(plain(Scenario), null)
    const { score, mutants } = await proveGate(draft, await inlineRuns(draft), {
      minScore: null,
      sensitivity: false,
      suggestions: false,
    })
    expect(mutants.length).toBeGreaterThan(30)
    // A new lie changes a score a little.
    expect(Math.abs(100 * (score ?? 0) - Number.parseInt(Score ?? '', 10))).toBeLessThanOrEqual(2)
  },
)
