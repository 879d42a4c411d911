import type { Contract } from '../contract/contract.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { checkTarget } from '../scenario/target.ts'
import { parseUsd } from '../scenario/units.ts'
import { planBounds } from './bounds.ts'
import { forecast } from './forecast.ts'
import type { Plan } from './plan.ts'
import { type Granted, planLimits, unasked } from './plan-limits.ts'
import { planStages } from './plan-stages.ts'
import type { Recordings } from './recorded-stage.ts'

/** What the flags say; null where they are silent. A flag wins over the scenario. */
export type Overrides = {
  readonly seed: number | null
  readonly target: string | null
  readonly budgetUsd: string | null
}

/** What was found out for a plan: in the directories of recorded runs, and from the target. */
export type Findings = { readonly recordings: Recordings; readonly granted: Granted }

const nothingFound: Findings = { recordings: new Map(), granted: unasked }

const defaultSeed = 1

/** Decides everything that the scenario leaves open. The same inputs give the same plan, byte for byte. */
export function makePlan(
  scenario: Scenario,
  contract: Contract,
  overrides: Overrides,
  { recordings, granted }: Findings = nothingFound,
): Plan {
  const { limitOf, ...limits } = planLimits(scenario, contract, granted)
  const { count, keys, accountTier, shared, keysFile } = scenario.callers
  const target = targetOf(overrides.target) ?? scenario.target
  checkSaturated(scenario, target)
  const plan = {
    schema: 1,
    scenario: scenario.name,
    question: scenario.question,
    seed: seedOf(overrides.seed) ?? scenario.seed ?? defaultSeed,
    target,
    service: scenario.service,
    profile: contract.name,
    callers: {
      names: Array.from({ length: count }, (_, index) => `c${index}`),
      keysEach: keys,
      accountTier,
      shared,
      keysFile,
    },
    limits,
    calls: scenario.calls,
    stages: planStages(scenario, limitOf, recordings),
    slo: scenario.slo,
    thresholds: scenario.thresholds,
    budgetUsd: budgetOf(overrides.budgetUsd) ?? scenario.budgetUsd,
    bounds: planBounds(scenario.limits),
    record: scenario.record,
  } as const
  return { ...plan, forecast: forecast(plan, contract, limitOf) }
}

function seedOf(seed: number | null): number | null {
  if (seed === null || (Number.isSafeInteger(seed) && seed >= 0)) return seed
  throw new UsageError({ where: '--seed', got: String(seed), expected: 'a whole number from 0' })
}

function targetOf(target: string | null): string | null {
  if (target === null) return null
  return checkTarget(target, problem => {
    throw new UsageError({ where: '--target', ...problem })
  })
}

/** autocannon, which keeps connections busy, verifies no certificate: a key would go to whoever is there. */
function checkSaturated({ stages }: Scenario, target: string | null): void {
  const stage = stages.find(({ shape }) => shape === 'saturate')
  if (stage === undefined || target === null || new URL(target).protocol === 'http:') return
  const expected = 'an http: target, for connections that are kept busy verify no certificate'
  throw new UsageError({ where: `target of the stage ${stage.name}`, got: target, expected })
}

function budgetOf(budgetUsd: string | null): string | null {
  if (budgetUsd === null) return null
  const amount = parseUsd(budgetUsd)
  if (amount !== null && amount !== '0') return amount
  throw new UsageError({
    where: '--budget-usd',
    got: JSON.stringify(budgetUsd),
    expected: 'an amount of dollars above 0, such as 0.25',
  })
}
