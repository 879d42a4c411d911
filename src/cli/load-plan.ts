import type { Contract } from '../contract/contract.ts'
import { documented } from '../contract/documented.ts'
import { loadProfile } from '../contract/profile.ts'
import { notDiscovered, type PublishedLimits } from '../plan/limits.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Plan } from '../plan/plan.ts'
import type { Recording } from '../plan/recorded-load.ts'
import { loadScenario } from '../scenario/load-scenario.ts'
import { readRecording } from '../storage/recorded-run.ts'
import { number, text, type Values } from './command.ts'

/** The contract that the flags name. */
export function contractOf(values: Values): Contract {
  const profile = text(values, 'profile')
  return profile === null ? documented : loadProfile(profile)
}

/** A plan as it is before the target was asked, and how it is made again when that has said what it grants. */
export type Draft = { readonly plan: Plan; readonly replan: (granted: PublishedLimits) => Plan }

/** The plan of a scenario file under the flags. */
export async function draftPlan(file: string, contract: Contract, values: Values): Promise<Draft> {
  const overrides = {
    seed: number(values, 'seed'),
    target: text(values, 'target'),
    budgetUsd: text(values, 'budget-usd'),
  }
  const scenario = loadScenario(file, contract)
  const recordings = new Map<string, Recording>()
  for (const stage of scenario.stages)
    if (stage.shape === 'recorded') recordings.set(stage.name, await readRecording(stage.name, stage))
  const replan = (granted: PublishedLimits) =>
    makePlan(scenario, contract, overrides, { recordings, publishedLimits: granted })
  return { plan: replan(notDiscovered), replan }
}
