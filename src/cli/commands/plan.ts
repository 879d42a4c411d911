import { loadAddedSecrets } from '../../contract/requests/additions.ts'
import { defaultCriteria } from '../../judge/compare/comparison.ts'
import { minSlices, spreadOf } from '../../judge/compare/estimates.ts'
import { noisiness } from '../../judge/compare/significance.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { visible } from '../../lib/visible.ts'
import { budgetMistake, type DraftPlan } from '../../library/draft.ts'
import { describePlan } from '../../plan/describe-plan.ts'
import { assertPower, describeDetection, detect, parseChange, usualSpread } from '../../plan/detect.ts'
import { describeEarlyEnd, earlyEndOf } from '../../plan/until-decided.ts'
import { assertMaySendKeys, loadKeys } from '../../produce/callers/api-keys.ts'
import { loadWalletKeys, loadWallets } from '../../produce/callers/wallet-keys.ts'
import { notThere } from '../../produce/transport/suggest-target.ts'
import { discoverAt, nothingDiscovered } from '../../run/discovery.ts'
import { readComparedRun } from '../../storage/recorded-run.ts'
import { exitCodes, number, text, type Values } from '../flags.ts'
import { draftPlan } from '../load-plan.ts'
import { printJson, stdoutLayout, wantsJson } from '../print.ts'
import { hidden } from '../secrets.ts'

export async function planCommand(values: Values): Promise<number> {
  const draft = await draftPlan(text(values, 'scenario') ?? '', values)
  const noticing = await noticingOf(values, draft)
  const { plan, contract, refusal, suggestedTarget } = await plannedRun(draft, text(values, 'target'))
  if (suggestedTarget !== null)
    process.stderr.write(`${notThere(hidden(plan.target ?? ''), hidden(suggestedTarget))}\n`)
  const detection = noticing && detect(plan, contract, noticing.change, noticing)
  const noticed = detection && describeDetection(detection, noticing.noise)
  if (wantsJson(values))
    printJson({ ...plan, refused: refusal, untilDecided: earlyEndOf(plan), ...(detection && { detection }) })
  else
    process.stdout.write(
      visible([describePlan(plan, refusal, stdoutLayout().columns), describeEarlyEnd(plan), noticed].join('')),
    )
  return exitCodes.pass
}

/** The change that --detect names, and how runs vary; null: none is named. Throws a UsageError. */
async function noticingOf(values: Values, { plan }: DraftPlan) {
  const [named, path] = [text(values, 'detect'), text(values, 'baseline')]
  if (named === null) {
    const flag = (['power', 'baseline'] as const).find(name => values[name] !== undefined)
    if (flag === undefined) return null
    throw new UsageError({
      where: `--${flag}`,
      got: 'no --detect',
      expected: 'a change, such as --detect "p95 ttft +5%"',
    })
  }
  const change = parseChange(named, plan)
  const power = assertPower(number(values, 'power') ?? 0.9)
  const noise = defaultCriteria.noiseFloor * noisiness({ kind: 'time', percent: change.percent })
  if (path === null) return { change, power, noise, spread: usualSpread(change.percent) }
  const found = spreadOf((await readComparedRun(path)).slices, change)
  const expected = `a run with enough values of it in at least ${minSlices} slices of a stage`
  if (found === null) throw new UsageError({ where: '--baseline', got: path, expected })
  return {
    change,
    power,
    noise,
    spread: { ...found, assumption: `values vary as in ${path}, which has ${found.values} of them` },
  }
}

type PlannedRun = Pick<DraftPlan, 'plan' | 'contract'> & {
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
    loadAddedSecrets(contract, process.env, plan.target === null)
  })
  // Only --target permits discovery. A target in the scenario does not.
  if (named === null || plan.target === null) return { plan, contract, refusal, suggestedTarget: null }
  if (refusal !== null) {
    const why = 'the limits of the target are unknown, since a run would be refused'
    const unknown = replan({ ...nothingDiscovered, limits: { kind: 'not-asked', why } })
    return { ...unknown, refusal, suggestedTarget: null }
  }
  const { callers: keyed } = loadKeys(plan, contract, 'plan')
  const wallets = await loadWallets(plan, loadWalletKeys(plan, contract.wallets, 'plan'))
  const discovery = await discoverAt(
    plan.target,
    [...keyed, ...wallets],
    plan,
    contract,
    loadAddedSecrets(contract, process.env, false),
  )
  const discovered = replan(discovery)
  return {
    ...discovered,
    refusal: refusalOf(() => assertBudget(discovered.plan, false)),
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
