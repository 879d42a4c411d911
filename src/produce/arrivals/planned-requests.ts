import {
  type ArrivalStep,
  balanceCheckOf,
  keyCallers,
  keysOfCaller,
  type Plan,
  type StagePlan,
  systemCallsOf,
  topUpCall,
} from '../../plan/plan.ts'
import { pairedCallerOf } from '../../plan/shard.ts'
import { type Arrival, createArrivalSource, requestIdOf, turnIn } from './arrivals.ts'

/** A request as the plan and the seed decide it. */
export type PlannedRequest = {
  readonly id: number
  /** The id of the first request of its arrival. */
  readonly firstId: number
  readonly step: ArrivalStep
  readonly turn?: { readonly number: number; readonly turns: number; readonly group?: number }
  /** The position of its arrival in a stage that repeats a trace; missing: its call decides its prompt. */
  readonly recorded?: number
  readonly stage: string
  readonly call: string
  readonly caller: string
  /** Which key of its caller it uses, from 0. */
  readonly key: number
  /** Milliseconds after the load of the run starts. In a stage that waits for responses, the start of the stage. */
  readonly dueMs: number
}

/**
 * The requests of a run without its record, stage by stage. Ends before the first stage in which the responses decide
 * how many requests there are. `hasBalanceChecks`: each caller has checked its balance first.
 */
export function* plannedRequests(plan: Plan, hasBalanceChecks: boolean): Iterable<PlannedRequest> {
  const { names, wallets } = plan.callers
  const source = createArrivalSource({ ...plan, calls: { ...plan.calls, ...systemCallsOf(plan) } })
  for (const caller of wallets?.topUpUsd == null ? [] : names.keys())
    if (caller >= keyCallers(plan.callers)) yield* requestsOf(source.single('(opening)', topUpCall, caller, 0))
  if (hasBalanceChecks)
    for (const caller of names.keys())
      yield* requestsOf(source.single('(opening)', balanceCheckOf(plan.callers, caller), caller, 0))
  for (const stage of plan.stages) {
    const arrivals = arrivalsOf(stage)
    if (arrivals === null) return
    for (const arrival of arrivals) yield* requestsOf(arrival)
  }

  function arrivalsOf(stage: StagePlan): Iterable<Arrival> | null {
    const { load, name, firstCaller, callers, startMs } = stage
    if (load.model === 'open') return source.open(stage)
    if (load.model !== 'sequence') return null
    const ofCaller = (caller: number) => load.calls.map(call => source.single(name, call, caller, startMs))
    return Array.from({ length: callers }, (_, index) => ofCaller(firstCaller + index)).flat()
  }

  function* requestsOf(arrival: Arrival): Iterable<PlannedRequest> {
    const { id: firstId, stage, call, dueMs, prompt } = arrival
    const recorded = prompt && { recorded: prompt.index }
    for (const [index, step] of arrival.steps.entries()) {
      const caller = step === 'other-caller' ? pairedCallerOf(arrival.caller, names.length) : arrival.caller
      const key = (arrival.key + (step === 'other-key' ? 1 : 0)) % keysOfCaller(plan.callers, caller)
      const id = requestIdOf(arrival, index, names.length)
      const turn = turnIn(arrival, index, names.length)
      yield {
        id,
        firstId,
        step,
        ...(turn && { turn }),
        ...recorded,
        stage,
        call,
        caller: names[caller] ?? '',
        key,
        dueMs,
      }
    }
  }
}
