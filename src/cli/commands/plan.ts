import { loadHeaderValues } from '../../contract/requests/additions.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { visible } from '../../lib/visible.ts'
import { budgetMistake, type DraftPlan } from '../../library/draft.ts'
import { describePlan } from '../../plan/describe-plan.ts'
import { describeEarlyEnd, earlyEndOf } from '../../plan/until-decided.ts'
import { assertMaySendKeys, loadKeys } from '../../produce/callers/api-keys.ts'
import { loadWalletKeys, loadWallets } from '../../produce/callers/wallet-keys.ts'
import { notThere } from '../../produce/transport/suggest-target.ts'
import { discoverAt, nothingDiscovered } from '../../run/discovery.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { draftPlan } from '../load-plan.ts'
import { printJson, wantsJson } from '../print.ts'
import { hidden } from '../secrets.ts'

export async function planCommand(values: Values): Promise<number> {
  const draft = await draftPlan(text(values, 'scenario') ?? '', values)
  const { plan, refusal, suggestedTarget } = await plannedRun(draft, text(values, 'target'))
  if (suggestedTarget !== null)
    process.stderr.write(`${notThere(hidden(plan.target ?? ''), hidden(suggestedTarget))}\n`)
  if (wantsJson(values)) printJson({ ...plan, refused: refusal, untilDecided: earlyEndOf(plan) })
  else process.stdout.write(visible(describePlan(plan, refusal) + describeEarlyEnd(plan)))
  return exitCodes.pass
}

type PlannedRun = Pick<DraftPlan, 'plan'> & {
  /** Why a run would be refused; null if it would not. */
  readonly refusal: string | null
  readonly suggestedTarget: string | null
}

/** The plan of a run, with what the target states if the run is allowed. */
async function plannedRun({ plan, contract, replan }: DraftPlan, named: string | null): Promise<PlannedRun> {
  const refusal = refusalOf(() => {
    assertMaySendKeys(plan, named)
    assertBudget(plan, true)
    loadKeys(plan, contract, 'plan')
    loadWalletKeys(plan, contract.wallets, 'plan')
    loadHeaderValues(contract, process.env, plan.target === null)
  })
  // Only --target permits discovery. A target in the scenario does not.
  if (named === null || plan.target === null) return { plan, refusal, suggestedTarget: null }
  if (refusal !== null) {
    const why = 'the limits of the target are unknown, since a run would be refused'
    const unknown = replan({ ...nothingDiscovered, limits: { kind: 'not-asked', why } })
    return { plan: unknown.plan, refusal, suggestedTarget: null }
  }
  const { callers: keyed } = loadKeys(plan, contract, 'plan')
  const wallets = await loadWallets(plan, loadWalletKeys(plan, contract.wallets, 'plan'))
  const discovery = await discoverAt(
    plan.target,
    [...keyed, ...wallets],
    plan,
    contract,
    loadHeaderValues(contract, process.env, false),
  )
  const discovered = replan(discovery).plan
  return {
    plan: discovered,
    refusal: refusalOf(() => assertBudget(discovered, false)),
    suggestedTarget: discovery.suggestedTarget,
  }
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
