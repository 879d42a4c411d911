import { type Arrival, createDraw } from './arrivals/arrivals.ts'
import { chargeOf } from './audits/charge.ts'
import { failureOf } from './audits/failure.ts'
import type { Caller } from './callers/callers.ts'
import type { SpareKeys } from './callers/spare-keys.ts'
import type { Office } from './calls/call.ts'
import { deliberateFailures } from './calls/deliberate-failures.ts'
import { dropArrival, type Sender, sendArrival } from './calls/send-arrival.ts'
import type { Contract } from './contract/contract.ts'
import { failuresToCause } from './contract/failures-to-cause.ts'
import { driveClosed } from './drivers/closed.ts'
import { type Cab, countInFlight, type InFlight } from './drivers/driver.ts'
import { createEnding, type Ending } from './drivers/ending.ts'
import { createGovernor, type Governor } from './drivers/governor.ts'
import { driveOpen } from './drivers/open.ts'
import { createPurse, type Purse } from './drivers/purse.ts'
import { watchReachability } from './drivers/reachability.ts'
import { driveSequence, type Turn } from './drivers/sequence.ts'
import { createJudgement, type Judgement, ownCalls, statementCall } from './judge.ts'
import { type Clock, sleepUntil } from './lib/clock.ts'
import { pico } from './lib/money.ts'
import type { LogEnd, LogHead } from './observation/log.ts'
import type { Observation, Sink } from './observation/observation.ts'
import type { Plan, StagePlan } from './plan/plan.ts'
import { worstPicoUsd } from './plan/spend.ts'
import type { Report } from './report/report.ts'
import type { Transport } from './transport/transport.ts'

export type RunOptions = {
  readonly plan: Plan
  readonly contract: Contract
  readonly callers: readonly Caller[]
  readonly spareKeys: SpareKeys
  readonly head: LogHead
  readonly clock: Clock
  readonly transport: Transport
  /** Aborted when the load is to end: what is under way is waited for. */
  readonly stop: AbortSignal
  /** Aborted when everything is to end now. */
  readonly quit: AbortSignal
  /** Where the observations go beside the judges. */
  readonly record: {
    readonly write: Sink
    readonly end: (end: LogEnd) => Promise<void>
    readonly recall: () => AsyncIterable<Observation>
  }
  readonly eventLoopDelayMs: () => LogEnd['eventLoopDelayMs']
  /** Told once, before the first request: what a live view may look at. */
  readonly onStart: (live: Live) => void
  /** Where a live view keeps what the judges do not. */
  readonly watch: Sink
}

/** What can be seen of a run while it goes. */
export type Live = {
  readonly judgement: Judgement
  readonly inFlight: InFlight
  /** The stage that is under way, or what comes before and after the stages. */
  readonly stage: () => string
  /** When the stages began, on the clock of the run; null before that. */
  readonly loadStartMs: () => number | null
}

/** Callers who state their balances side by side, and how long all of them may take. */
const statementLanes = 16
const statementsMs = 120_000

/** Carries out a plan: produces observations, judges them while they come, and gives the report. */
export async function carryOut(options: RunOptions): Promise<Report> {
  const { plan, contract, callers, clock, record, quit } = options
  const judgement = createJudgement(plan, contract, options.head)
  const ending = createEnding(options.stop, quit)
  const inFlight = countInFlight()
  const calls: Plan['calls'] = { ...plan.calls, ...ownCalls }
  const draw = createDraw({ seed: plan.seed, calls, callers: plan.callers })
  const worst = new Map(Object.entries(calls).map(([name, call]) => [name, worstPicoUsd(call, contract) ?? 0n]))
  const purse = createPurse(plan.budgetUsd === null ? null : pico(plan.budgetUsd), worst)
  const governor = createGovernor({ most: failuresToCause(contract), windowMs: contract.abuse.windowMs })
  const sender = makeSender(options, calls, judgement, ending, { purse, governor })
  const cab = makeCab(sender, ending, { purse, governor })
  /** Stages whose last requests may outlast them. */
  const work: Promise<void>[] = []
  let stageName = '(opening)'
  let loadStartMs: number | null = null
  options.onStart({ judgement, inFlight, stage: () => stageName, loadStartMs: () => loadStartMs })

  try {
    await takeStatements('(opening)', cab)
    const opening = judgement.metrics.select({ call: null, stage: '(opening)' })
    if (opening.answered === 0) ending.halt('target-unreachable')
    else if (opening.statuses.get(401) === opening.answered) ending.halt('keys-refused')

    loadStartMs = clock.nowMs()
    for (const stage of plan.stages) {
      if (ending.halted.aborted) break
      stageName = stage.name
      await driveStage({ ...stage, startMs: stage.startMs + loadStartMs })
    }
    stageName = '(closing)'
    await drain()
    await Promise.all(work)
    if (ending.why() !== 'target-unreachable' && !quit.aborted) {
      await sleepUntil(clock, clock.nowMs() + contract.billing.settleMs, quit)
      // These are sent although the load is over, even where the rest of it had to be abandoned.
      const closing = makeCab({ ...sender, stop: quit, abort: quit }, ending, { purse, governor })
      await takeStatements('(closing)', closing)
    }
  } finally {
    // Whatever went wrong here, nobody goes on sending.
    ending.abandon()
  }
  const facts = { ended: ending.why(), durationMs: clock.nowMs(), eventLoopDelayMs: options.eventLoopDelayMs() }
  await record.end(facts)
  return judgement.conclude(facts, record.recall)

  async function takeStatements(stage: string, within: Cab): Promise<void> {
    const queues = callers.map((_, caller) => [turnOf(stage, statementCall, caller, true)])
    await driveSequence(within, queues, inFlight, { lanes: statementLanes, endMs: clock.nowMs() + statementsMs })
  }

  /** Resolves when the stage is over, although its last requests may still be under way. */
  async function driveStage(stage: StagePlan): Promise<void> {
    const endMs = stage.startMs + stage.durationMs
    const over = sleepUntil(clock, endMs, ending.halted)
    const spent = spend(stage, endMs)
    work.push(spent)
    await Promise.race([spent, over])
    await over
  }

  function spend(stage: StagePlan, endMs: number): Promise<void> {
    const { load } = stage
    const within: Cab = stage.beyondFailures ? { ...cab, isHeldBack: () => false } : cab
    if (load.model === 'open') return driveOpen(within, draw.open(stage), inFlight, plan.bounds.maxInFlight)
    if (load.model === 'closed') return driveClosed(within, draw.closed(stage), inFlight, { ...load, endMs })
    const queues = Array.from({ length: stage.callers }, (_, index) =>
      load.calls.map(call => turnOf(stage.name, call, stage.firstCaller + index, stage.beyondFailures)),
    )
    return driveSequence(within, queues, inFlight, { lanes: queues.length, endMs })
  }

  function turnOf(stage: string, call: string, caller: number, isFree: boolean): Turn {
    const failures = isFree ? 0 : deliberateFailures(calls[call], null, contract)
    return {
      make: dueMs => draw.single(stage, call, caller, dueMs),
      heldUntilMs: nowMs => governor.heldUntilMs(callers[caller]?.name ?? '', failures, nowMs),
    }
  }

  /** Waits for what is under way, at most as long as the plan allows, and then ends it. */
  async function drain(): Promise<void> {
    const cancel = clock.at(clock.nowMs() + plan.bounds.drainMs, ending.abandon)
    await inFlight.idle()
    cancel()
  }
}

/** What a run may spend, and how often its callers may fail. */
type Restraint = { readonly purse: Purse; readonly governor: Governor }

/** What it takes to send arrivals, with a sink that every observation goes through. */
function makeSender(
  { plan, contract, callers, spareKeys, head, clock, record, transport, watch }: RunOptions,
  calls: Plan['calls'],
  judgement: Judgement,
  ending: Ending,
  { purse, governor }: Restraint,
): Sender {
  const reachability = watchReachability(() => ending.halt('target-unreachable'))
  const isRecorded = (seq: number) =>
    plan.record === 'all' || (plan.record === 'findings' && judgement.docket.names(seq))
  const sink: Sink = observation => {
    judgement.add(observation)
    if (isRecorded(observation.seq)) record.write(observation)
    reachability(observation)
    watch(observation)
    const { caller, endMs } = observation
    if (endMs !== null && failureOf(observation, contract) !== null) governor.note(caller, endMs)
    purse.spend(observation.call, chargeOf(observation, contract)?.most ?? null)
  }
  const office: Office = { contract, bounds: plan.bounds, seed: plan.seed, runId: head.runId }
  const { accountTier } = plan.callers
  const [abort, stop] = [ending.abandoned, ending.halted]
  return { office, calls, callers, spareKeys, accountTier, clock, transport, abort, stop, sink }
}

/** What drivers work with: an arrival goes out as long as the purse holds the worst that it can cost. */
function makeCab(sender: Sender, ending: Ending, { purse, governor }: Restraint): Cab {
  const { clock, callers, calls, office } = sender
  const nameOf = ({ caller }: Arrival) => callers[caller]?.name ?? ''
  const failuresOf = ({ call, steps }: Arrival) => deliberateFailures(calls[call], steps, office.contract)
  return {
    clock,
    signal: sender.stop,
    drop: (arrival, reason) => dropArrival(arrival, reason, sender),
    isHeldBack: arrival => governor.heldUntilMs(nameOf(arrival), failuresOf(arrival), clock.nowMs()) !== null,
    fire: async arrival => {
      if (!purse.reserve(arrival.call)) {
        ending.halt('budget-reached')
        return dropArrival(arrival, 'budget', sender)
      }
      const failures = failuresOf(arrival)
      governor.begin(nameOf(arrival), failures)
      await sendArrival(arrival, sender)
      governor.end(nameOf(arrival), failures)
      purse.release(arrival.call)
    },
  }
}
