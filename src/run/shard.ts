import { createDraw } from '../arrivals/arrivals.ts'
import { isOwn, part } from '../arrivals/share.ts'
import { expectedRefusals, maxExpectedRefusals } from '../calls/send.ts'
import { type Cab, countInFlight, type InFlight } from '../drivers/driver.ts'
import { createGovernor } from '../drivers/governor.ts'
import { createPurse, type PurseSum } from '../drivers/purse.ts'
import { driveSequence, type Turn } from '../drivers/sequence.ts'
import { ownCalls, statementCall } from '../judging/judgement.ts'
import { sleepPreciselyUntil, sleepUntil } from '../lib/clock.ts'
import { pico } from '../lib/money.ts'
import type { Plan, StagePlan } from '../plan/plan.ts'
import { worstPicoUsd } from '../plan/spend.ts'
import { driveLoad, type LoadDesk } from './drive-load.ts'
import { makeCab, makeSender, type Outfit } from './sender.ts'

/** What carries out the share of a plan that falls to some callers, in three steps. */
export type Shard = {
  readonly inFlight: InFlight
  /** The stage that is under way, or what comes before and after the stages. */
  readonly stage: () => string
  /** Has each of its callers state its balance. */
  readonly open: () => Promise<void>
  /**
   * The stages, of which the first begins at `loadStartMs`. Resolves when nothing is under way any more, with when it
   * really began; null: it did not.
   */
  readonly drive: (loadStartMs: number) => Promise<number | null>
  /** Has each of them state its balance again, as soon as what was charged is in it. */
  readonly close: () => Promise<void>
}

/** Callers of all workers who state their balances side by side, and how long all of them may take. */
const statementLanes = 16
const statementsMs = 120_000

export function createShard(outfit: Outfit, purseSum: PurseSum, quit: AbortSignal): Shard {
  const { plan, contract, callers, clock, ending, share, judgement } = outfit
  const { worker, workers } = share
  const isOurs = isOwn(plan, share)
  const inFlight = countInFlight()
  const calls: Plan['calls'] = { ...plan.calls, ...ownCalls }
  const draw = createDraw({ seed: plan.seed, calls, callers: plan.callers }, share)
  const worst = new Map(Object.entries(calls).map(([name, call]) => [name, worstPicoUsd(call, contract) ?? 0n]))
  const purse = createPurse(plan.budgetUsd === null ? null : pico(plan.budgetUsd), worst, purseSum)
  const governor = createGovernor({ most: maxExpectedRefusals(contract), windowMs: contract.abuse.windowMs })
  const sender = makeSender(outfit, calls, { purse, governor })
  const cab = makeCab(sender, ending, { purse, governor })
  const desk: LoadDesk = {
    plan,
    share,
    cab,
    cabOver: transport => makeCab({ ...sender, transport }, ending, { purse, governor }),
    saturate: outfit.saturate,
    abandoned: ending.abandoned,
    draw,
    inFlight,
    maxInFlight: part(plan.bounds.maxInFlight, worker, workers),
    capacity: () => judgement.search,
    heldUntilMs,
    turnOf,
  }
  let stageName = '(opening)'

  return {
    inFlight,
    stage: () => stageName,
    open: () => takeStatements('(opening)', cab),
    drive: async loadStartMs => {
      /** Stages whose last requests may outlast them. */
      const work: Promise<void>[] = []
      if (clock.nowMs() < loadStartMs) await sleepPreciselyUntil(clock, loadStartMs, ending.halted)
      const beganMs = ending.halted.aborted ? null : clock.nowMs()
      for (const stage of plan.stages) {
        if (ending.halted.aborted) break
        stageName = stage.name
        await driveStage({ ...stage, startMs: stage.startMs + loadStartMs }, work)
      }
      stageName = '(closing)'
      await drain()
      await Promise.all(work)
      return beganMs
    },
    close: async () => {
      await sleepUntil(clock, clock.nowMs() + contract.billing.settleMs, quit)
      // These are sent although the load is over, even where the rest of it had to be abandoned.
      await takeStatements('(closing)', makeCab({ ...sender, stop: quit, abort: quit }, ending, { purse, governor }))
    },
  }

  async function takeStatements(stage: string, within: Cab): Promise<void> {
    const own = [...callers.keys()].filter(isOurs)
    const queues = own.map(caller => [turnOf(stage, statementCall, caller, true)])
    const lanes = Math.max(1, part(statementLanes, worker, workers))
    await driveSequence(within, queues, inFlight, { lanes, endMs: clock.nowMs() + statementsMs })
  }

  /** Resolves when the stage is over, although its last requests may still be under way. */
  async function driveStage(stage: StagePlan, work: Promise<void>[]): Promise<void> {
    const endMs = stage.startMs + stage.durationMs
    const over = sleepUntil(clock, endMs, ending.halted)
    const driven = driveLoad(stage, endMs, desk)
    work.push(driven)
    await Promise.race([driven, over])
    // A search is over when it has found what it looks for, and with the last stage so is the run.
    const isLastSearch = stage.load.model === 'capacity' && stage.name === plan.stages.at(-1)?.name
    if (!isLastSearch) await over
  }

  function turnOf(stage: string, call: string, caller: number, isFree: boolean): Turn {
    const failures = isFree ? 0 : expectedRefusals(calls[call], null, contract)
    return {
      make: dueMs => draw.single(stage, call, caller, dueMs),
      heldUntilMs: nowMs => governor.heldUntilMs(callers[caller]?.name ?? '', failures, nowMs),
    }
  }

  function heldUntilMs(caller: number, failures: number): number | null {
    return governor.heldUntilMs(callers[caller]?.name ?? '', failures, clock.nowMs())
  }

  /** Waits for what is under way, at most as long as the plan allows, and then ends it. */
  async function drain(): Promise<void> {
    const cancel = clock.at(clock.nowMs() + plan.bounds.drainMs, ending.abandon)
    await inFlight.idle()
    cancel()
  }
}
