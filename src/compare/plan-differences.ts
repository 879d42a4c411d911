import type { Contract } from '../contract/contract.ts'
import type { Plan } from '../plan/plan.ts'

/** What a run was to do, and what it was judged by. */
export type Intent = { readonly plan: Plan; readonly contract: Contract }

export type Difference = { readonly path: string; readonly base: string; readonly run: string }

/**
 * In what two runs were to do something else, so that their numbers are not of the same thing. Target and seed may differ,
 * and so may name, question, budget, thresholds and what is recorded; of the contract, its name and how things are
 * spelled there.
 */
export const planDifferences = (base: Intent, run: Intent): readonly Difference[] =>
  differences(material(base), material(run), '')

function material({ plan, contract }: Intent) {
  const { callers, calls, stages, slo, bounds } = plan
  const { accounts, models, resources, resourceLimits, chat, rpc, idempotency, limits, abuse, billing } = contract
  return {
    callers: {
      count: callers.names.length,
      'keys-each': callers.keysEach,
      tier: callers.accountTier,
      shared: callers.shared,
    },
    calls,
    stages: Object.fromEntries(stages.map(stage => [stage.name, stage])),
    slo,
    limits: bounds,
    contract: { accounts, models, resources, resourceLimits, chat, rpc, idempotency, limits, abuse, billing },
  }
}

/** Leaf by leaf, by their paths. */
function differences(base: unknown, run: unknown, path: string): readonly Difference[] {
  if (isBranch(base) && isBranch(run) && Array.isArray(base) === Array.isArray(run)) {
    const keys = [...new Set([...Object.keys(base), ...Object.keys(run)])]
    return keys.flatMap(key =>
      differences(Reflect.get(base, key), Reflect.get(run, key), path === '' ? key : `${path}.${key}`),
    )
  }
  const [was, is] = [shown(base), shown(run)]
  return was === is ? [] : [{ path, base: was, run: is }]
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null

const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value))
