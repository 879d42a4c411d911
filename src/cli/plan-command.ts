import { describePlan } from '../plan/describe-plan.ts'
import { exitCodes, text, type Values } from './command.ts'
import { contractOf, loadPlan } from './load-plan.ts'

export async function planCommand(values: Values): Promise<number> {
  const plan = await loadPlan(text(values, 'scenario') ?? '', contractOf(values), values)
  const json = text(values, 'format') === 'json'
  process.stdout.write(json ? `${JSON.stringify(plan, null, 2)}\n` : describePlan(plan))
  return exitCodes.pass
}
