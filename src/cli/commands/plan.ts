import { UsageError } from '../../lib/usage-error.ts'
import { visible, visibleJson } from '../../lib/visible.ts'
import { describePlan } from '../../plan/describe-plan.ts'
import { assertMaySendKeys, loadKeys } from '../../produce/callers/api-keys.ts'
import { discoverAt, nothingDiscovered } from '../../run/discovery.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { budgetMistake, type DraftPlan, draftPlan } from '../load-plan.ts'

export async function planCommand(values: Values): Promise<number> {
  const draft = await draftPlan(text(values, 'scenario') ?? '', values)
  const { plan, refusal } = await plannedRun(draft, text(values, 'target'))
  const json = text(values, 'format') === 'json'
  process.stdout.write(
    visible(
      json ? visibleJson(`${JSON.stringify({ ...plan, refused: refusal }, null, 2)}\n`) : describePlan(plan, refusal),
    ),
  )
  return exitCodes.pass
}

/** The plan of a run, with what the target states if the run is allowed, and why it would be refused; null if it would not. */
async function plannedRun(
  { plan, contract, replan }: DraftPlan,
  named: string | null,
): Promise<Pick<DraftPlan, 'plan'> & { readonly refusal: string | null }> {
  const refusal = refusalOf(() => {
    assertMaySendKeys(plan, named)
    assertBudget(plan, true)
    loadKeys(plan, contract, 'plan')
  })
  // Only --target permits discovery. A target in the scenario does not.
  if (named === null || plan.target === null) return { plan, refusal }
  if (refusal !== null) {
    const why = 'the limits of the target are unknown, since a run would be refused'
    return { plan: replan({ ...nothingDiscovered, limits: { kind: 'not-asked', why } }).plan, refusal }
  }
  const { callers } = loadKeys(plan, contract, 'plan')
  const discovered = replan(await discoverAt(plan.target, callers, plan, contract)).plan
  return { plan: discovered, refusal: refusalOf(() => assertBudget(discovered, false)) }
}

function assertBudget(plan: DraftPlan['plan'], isDraft: boolean): void {
  const mistake = budgetMistake(plan, { isDraft })
  if (mistake !== null) throw new UsageError(mistake)
}

/** The message of the UsageError that a check throws; null if it throws none. */
function refusalOf(check: () => void): string | null {
  try {
    check()
    return null
  } catch (cause) {
    if (cause instanceof UsageError) return cause.message
    throw cause
  }
}
