import type { AccountTier, Contract } from '../contract/contract.ts'
import { notPromised } from '../contract/promises.ts'
import { createAudits } from '../judge/audits/audits.ts'
import { createChecks } from '../judge/checks/checks.ts'
import { createFindingLog, type FindingLog } from '../judge/findings/findings.ts'
import type { Answer } from './asker.ts'
import { cite, type Fact } from './question.ts'

export type Difference = Extract<Fact, { readonly kind: 'difference' }>

/** How the answers were asked for. */
export type AnswerContext = {
  readonly accountTier: AccountTier
  /** Answers that no check applies to. The audits see them, too, since they drew on limits. */
  readonly unjudged: readonly Answer[]
  /** Unix time in milliseconds at which the clock of the observations is 0. */
  readonly startedAtMs: number
}

/** The promised clauses of the contract that the answers break, by all judges of a run. */
export function judgeAnswers(
  answers: readonly Answer[],
  contract: Contract,
  { accountTier, unjudged, startedAtMs }: AnswerContext,
): readonly Difference[] {
  const findingLog = createFindingLog(notPromised(contract))
  const checks = createChecks(contract, findingLog)
  // Others may use the account, too.
  const audits = createAudits({ contract, shared: true, startedAtMs }, findingLog)
  for (const answer of answers) {
    if (answer.observation === null) continue
    const observation = { ...answer.observation, accountTier }
    audits.add(observation)
    if (!unjudged.includes(answer)) checks(observation)
  }
  audits.finish(true)
  return differencesIn(findingLog, answers)
}

/** The clauses that single answers break, whether or not they are promised. */
export function brokenClauses(answers: readonly Answer[], contract: Contract): readonly Difference[] {
  const findingLog = createFindingLog()
  const checks = createChecks(contract, findingLog)
  for (const { observation } of answers) if (observation !== null) checks(observation)
  return differencesIn(findingLog, answers)
}

function differencesIn(findingLog: FindingLog, answers: readonly Answer[]): readonly Difference[] {
  const findings = findingLog.findings()
  return findingLog.tallies().flatMap(({ id, judged, violated }) => {
    const example = findings.find(({ clause }) => clause === id)?.examples[0]
    if (example === undefined) return []
    const shown = answers.filter(({ call }) => example.requestIds.includes(call)).map(cite)
    const times = judged === 1 ? '' : `${violated} of ${judged} times, such as `
    const evidence = `${times}${shown.join('; ')}`
    return { kind: 'difference', clause: id, text: example.message, evidence, always: violated >= judged } as const
  })
}
