import { UsageError } from '../../lib/usage-error.ts'
import { visible, visibleJson } from '../../lib/visible.ts'
import { describePlan } from '../../plan/describe-plan.ts'
import { loadKeys } from '../../produce/callers/api-keys.ts'
import { notThere } from '../../produce/transport/suggest-target.ts'
import { type Discovery, discoverAt, nothingDiscovered } from '../../run/discovery.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { budgetMistake, type DraftPlan, draftPlan } from '../load-plan.ts'
import { hidden } from '../secrets.ts'

export async function planCommand(values: Values): Promise<number> {
  const draft = await draftPlan(text(values, 'scenario') ?? '', values)
  // Only --target permits discovery. A target in the scenario does not.
  const discovers = text(values, 'target') !== null && draft.plan.target !== null
  const discovery = discovers ? await discover(draft) : null
  const { plan } = discovery === null ? draft : draft.replan(discovery)
  if (typeof discovery?.suggestedTarget === 'string')
    process.stderr.write(`${notThere(hidden(draft.plan.target ?? ''), hidden(discovery.suggestedTarget))}\n`)
  const json = text(values, 'format') === 'json'
  process.stdout.write(visible(json ? visibleJson(`${JSON.stringify(plan, null, 2)}\n`) : describePlan(plan)))
  return exitCodes.pass
}

/** Discovers what the target states, if a run with this plan would be allowed. */
async function discover({ plan, contract }: DraftPlan): Promise<Discovery> {
  try {
    const mistake = budgetMistake(plan, { isDraft: true })
    if (mistake !== null) throw new UsageError(mistake)
    return await discoverAt(plan.target ?? '', loadKeys(plan, contract, 'plan').callers, plan, contract)
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    const why = `the limits of the target are unknown, since a run would be refused (${cause.message})`
    return { ...nothingDiscovered, limits: { kind: 'not-asked', why } }
  }
}
