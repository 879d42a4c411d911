import { createDraw } from './arrivals/arrivals.ts'
import { chargeOf } from './audits/charge.ts'
import type { Caller } from './callers/callers.ts'
import type { Office } from './calls/call.ts'
import { dropArrival, type Sender, sendArrival } from './calls/send-arrival.ts'
import type { Contract } from './contract/contract.ts'
import { driveClosed } from './drivers/closed.ts'
import { type Cab, countInFlight, type InFlight } from './drivers/driver.ts'
import { driveOpen } from './drivers/open.ts'
import { createPurse } from './drivers/purse.ts'
import { watchReachability } from './drivers/reachability.ts'
import { driveSequence } from './drivers/sequence.ts'
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
  const { plan, contract, callers, head, clock, record, quit } = options
  const judgement = createJudgement(plan, contract, head)
  const inFlight = countInFlight()
  const halt = new AbortController()
  const abort = new AbortController()
  const outcome: { ended: LogEnd['ended'] } = { ended: 'complete' }
  const end = (why: LogEnd['ended']) => {
    if (outcome.ended === 'complete') outcome.ended = why
    halt.abort()
  }
  onAbort(options.stop, () => end('interrupted'))
  onAbort(quit, () => {
    end('interrupted')
    abort.abort()
  })

  const reachable = watchReachability(() => end('target-unreachable'))
  const sink: Sink = observation => {
    judgement.add(observation)
    if (plan.record === 'all' || (plan.record === 'findings' && judgement.docket.names(observation.seq)))
      record.write(observation)
    reachable(observation)
    purse.spend(chargeOf(observation, contract)?.most ?? worstOf(observation.call))
  }
  const office: Office = { contract, bounds: plan.bounds, seed: plan.seed, runId: head.runId }
  const calls: Plan['calls'] = { ...plan.calls, ...ownCalls }
  const purse = createPurse(plan.budgetUsd === null ? null : pico(plan.budgetUsd))
  const worst = new Map(Object.entries(calls).map(([name, call]) => [name, worstPicoUsd(call, contract) ?? 0n]))
  const worstOf = (name: string): bigint => worst.get(name) ?? 0n
  const { accountTier } = plan.callers
  const sender: Sender = {
    office,
    calls,
    callers,
    accountTier,
    clock,
    transport: options.transport,
    abort: abort.signal,
    stop: halt.signal,
    sink,
  }
  const draw = createDraw({ seed: plan.seed, calls, callers: plan.callers })
  const cab: Cab = {
    clock,
    signal: halt.signal,
    fire: async arrival => {
      const aside = worstOf(arrival.call)
      if (!purse.reserve(aside)) {
        end('budget-reached')
        return dropArrival(arrival, 'budget', sender)
      }
      await sendArrival(arrival, sender)
      purse.release(aside)
    },
    drop: (arrival, reason) => dropArrival(arrival, reason, sender),
  }

  let stageName = '(opening)'
  let loadStartMs: number | null = null
  options.onStart({ judgement, inFlight, stage: () => stageName, loadStartMs: () => loadStartMs })

  await takeStatements('(opening)', cab)
  const opening = judgement.metrics.select({ call: null, stage: '(opening)' })
  if (opening.answered === 0) end('target-unreachable')
  else if (opening.statuses.get(401) === opening.answered) end('keys-refused')

  loadStartMs = clock.nowMs()
  for (const stage of plan.stages) {
    if (halt.signal.aborted) break
    stageName = stage.name
    await driveStage({ ...stage, startMs: stage.startMs + loadStartMs })
  }
  stageName = '(closing)'
  await drain()
  if (outcome.ended !== 'target-unreachable' && !quit.aborted) {
    await sleepUntil(clock, clock.nowMs() + contract.billing.settleMs, quit)
    await takeStatements('(closing)', { ...cab, signal: quit })
  }
  const facts = { ...outcome, durationMs: clock.nowMs(), eventLoopDelayMs: options.eventLoopDelayMs() }
  await record.end(facts)
  return judgement.conclude(facts, record.recall)

  async function takeStatements(stage: string, within: Cab): Promise<void> {
    const queues = callers.map((_, caller) => [(dueMs: number) => draw.single(stage, statementCall, caller, dueMs)])
    await driveSequence(within, queues, inFlight, { lanes: statementLanes, endMs: clock.nowMs() + statementsMs })
  }

  async function driveStage(stage: StagePlan): Promise<void> {
    const endMs = stage.startMs + stage.durationMs
    const { load } = stage
    if (load.model === 'open') await driveOpen(cab, draw.open(stage), inFlight, plan.bounds.maxInFlight)
    else if (load.model === 'closed') await driveClosed(cab, draw.closed(stage), inFlight, { ...load, endMs })
    else {
      const queues = Array.from({ length: stage.callers }, (_, index) =>
        load.calls.map(call => (dueMs: number) => draw.single(stage.name, call, stage.firstCaller + index, dueMs)),
      )
      await driveSequence(cab, queues, inFlight, { lanes: queues.length, endMs })
    }
    await sleepUntil(clock, endMs, halt.signal)
  }

  /** Waits for what is under way, at most as long as the plan allows, and then ends it. */
  async function drain(): Promise<void> {
    const cancel = clock.at(clock.nowMs() + plan.bounds.drainMs, () => abort.abort())
    await inFlight.idle()
    cancel()
  }
}

function onAbort(signal: AbortSignal, then: () => void): void {
  if (signal.aborted) then()
  else signal.addEventListener('abort', then, { once: true })
}
