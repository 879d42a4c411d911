import { expect, test } from 'vitest'
import { draftScenario, scenarioAt } from '../../src/library/draft.ts'
import { createSecrets } from '../../src/library/secrets.ts'
import { createMutantRun } from '../../src/prove/mutant-run.ts'
import { honestTerms, isNeverAsked, promisedLies } from '../../src/prove/mutants.ts'
import { todays } from '../support/nightly.ts'

const overrides = { profile: null, target: null, budgetUsd: null, topUpUsd: null, only: [] } as const
const draftOf = (name: string, seed: number | null) =>
  draftScenario(scenarioAt(name), { ...overrides, seed, limitsFrom: 'target' }, createSecrets([]))

/** They differ in what they send. Those that search for a capacity take long. */
const names = ['billing', 'conformance', 'idempotency', 'abuse-block', 'rate-limit', 'smoke', 'stairs', 'resources']
const seeds = Array.from({ length: 200 }, (_, index) => index + 1)
const drawn = seeds.flatMap(seed => names.map(name => ({ name, seed })))

test.each(todays(drawn, 65))('an honest service passes $name with the seed $seed', async ({ name, seed }) => {
  const runMutant = await createMutantRun(await draftOf(name, seed))
  expect(await runMutant({ ...honestTerms, failFast: false })).toMatchObject({ verdict: 'pass', failed: [] })
})

test.each(['billing', 'idempotency', 'abuse-block'])(
  '%s notices no lie that none of its calls could show',
  async name => {
    const draft = await draftOf(name, null)
    const runMutant = await createMutantRun(draft)
    const vain = promisedLies(draft.plan, draft.contract).filter(lie => isNeverAsked(lie, draft.plan))
    expect(vain.length).toBeGreaterThan(50)
    for (const lie of todays(vain, 16))
      expect(await runMutant({ ...honestTerms, lie: lie.name, failFast: false }), lie.name).toMatchObject({
        verdict: 'pass',
      })
  },
)
