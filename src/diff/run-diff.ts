import { join } from 'node:path'
import { systemClock } from '../lib/clock.ts'
import { isLoopback } from '../lib/loopback.ts'
import { formatPico, pico } from '../lib/money.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type DraftOverrides, type DraftPlan, draftScenario, type NamedScenario } from '../library/draft.ts'
import type { DiffProgress, RunProgress } from '../library/options.ts'
import { assertMayRun, type DraftIo, type DraftJob, runDraft, type WatchRun } from '../library/run-draft.ts'
import { progressOutput } from '../library/run-scenario.ts'
import type { Secrets } from '../library/secrets.ts'
import type { Plan } from '../plan/plan.ts'
import type { Variables } from '../produce/callers/api-keys.ts'
import type { StartWorker, WorkerHandle } from '../run/messages.ts'
import type { RunIo } from '../run/run.ts'
import { type ReservedDirectory, reserveRunDirectory, writeDiff } from '../storage/run-directory.ts'
import { reserveTemporaryRecord } from '../storage/temporary-record.ts'
import type { DiffSide } from './compare-numbers.ts'
import { compareSides, type TargetDiff } from './compare-sides.ts'
import type { Margins } from './margins.ts'
import { type DiffLoad, shadowScenario } from './shadow.ts'

/** Two targets, and what both get: plain data. The budget is for both together. */
export type DiffJob = {
  readonly load: DiffLoad
  readonly overrides: Omit<DraftOverrides, 'target'>
  /** The base URLs of OLD and NEW. */
  readonly targets: readonly [string, string]
  readonly margins: Margins
  /** The environment, with the keys. */
  readonly variables: Variables
  readonly warmUp: boolean
  /** A new folder for both runs and the diff; null: nothing is kept. */
  readonly directory: string | null
}

export type DiffIo = Pick<RunIo, 'startWorker' | 'stop' | 'quit' | 'log'> & {
  readonly secrets: Secrets
  readonly unwritten: DraftIo['unwritten']
  readonly onProgress: (progress: DiffProgress) => void
}

/** The keys of NEW, if it knows others than OLD. */
export const newKeysVariable = 'TURNPIKE_NEW_KEYS'

/** The side that is first changes this often, and the other one waits for so long. */
const turnMs = 250
const lagMs = 1

const names = ['old', 'new'] as const
type SideIndex = 0 | 1

/** Sends the same requests to two targets at the same time, and compares what they answer. Throws a UsageError. */
export async function runDiff(job: DiffJob, io: DiffIo): Promise<TargetDiff> {
  assertApart(job)
  const drafts = await draftsOf(job, io)
  const terms = drafts.map((_, side) => termsOf(side as SideIndex, job))
  const stopBoth = new AbortController()
  const stop = AbortSignal.any([io.stop, stopBoth.signal])
  const paired = pairWorkers(() => stopBoth.abort())
  const clock = systemClock()
  const failures: unknown[] = []
  const kept: (DiffSide | null)[] = [null, null]
  const latest: (RunProgress | null)[] = [null, null]
  const onFailure = (cause: unknown) => {
    failures.push(cause)
    stopBoth.abort()
  }
  const show = (side: SideIndex) => (progress: RunProgress) => {
    latest[side] = progress
    const [old, fresh] = latest
    if (old && fresh) io.onProgress({ old, new: fresh })
  }
  const planned = createPromise<Plan>()
  const bothReady = createPromise<null>()
  // Without OLD, no side waits.
  bothReady.promise.catch(() => {})

  const ioOf = (side: SideIndex): DraftIo => ({
    ...{ clock, startWorker: paired.pair(io.startWorker), secrets: io.secrets, unwritten: io.unwritten },
    ...{ refused: () => {}, limit: halved, spend: () => {}, childStderr: 'ignore', elsewhere: null },
    reserve: (_, { contract }) =>
      keeping(
        job.directory === null
          ? reserveTemporaryRecord()
          : reserveRunDirectory(join(job.directory, names[side]), io.secrets.json(contract)),
        whole => {
          kept[side] = whole
        },
      ),
    watch: watchOf(side),
  })
  const watchOf =
    (side: SideIndex): WatchRun =>
    async ({ plan }) => {
      if (side === 0) planned.resolve(plan)
      else bothReady.resolve(null)
      // Until both may start, nothing is sent to either.
      await bothReady.promise
      const output = progressOutput(plan, clock, show(side), onFailure)
      const log = (line: string) => io.log(`${names[side].toUpperCase()}: ${line}`)
      return { stop, quit: io.quit, outputs: [output], log, close: output.close }
    }

  drafts.forEach((draft, side) => {
    assertMayRun(draft, terms[side] as DraftJob, ioOf(side as SideIndex))
  })
  const runSide = async (side: SideIndex, draft: DraftPlan) => {
    try {
      await withSideNames(side, () => runDraft(draft, terms[side] as DraftJob, ioOf(side)))
    } catch (cause) {
      planned.reject(cause)
      bothReady.reject(cause)
      paired.cancel()
      stopBoth.abort()
      throw cause
    }
  }
  const first = runSide(0, drafts[0])
  first.catch(() => {})
  const second = planned.promise.then(plan => runSide(1, withLoadOf(plan, drafts[1])))
  const ended = await Promise.allSettled([second, first])
  for (const each of ended) if (each.status === 'rejected') throw each.reason
  if (failures.length > 0) throw failures[0]
  const [old, fresh] = kept
  if (!old || !fresh) throw new RangeError('a side ended without its report')
  const diff = compareSides(old, fresh, job.margins)
  if (job.directory !== null) io.unwritten(await writeDiff(job.directory, diff))
  return diff
}

/** The plans of both sides before discovery. They contain recorded traffic, so that its files are no longer needed. */
async function draftsOf(job: DiffJob, io: DiffIo): Promise<readonly [DraftPlan, DraftPlan]> {
  const { load, overrides } = job
  if ('scenario' in load) return [await draftFor(0, load.scenario, job, io), await draftFor(1, load.scenario, job, io)]
  const { scenario, remove } = await shadowScenario(load.shadow, overrides.profile)
  try {
    return [await draftFor(0, scenario, job, io), await draftFor(1, scenario, job, io)]
  } finally {
    remove()
  }
}

function draftFor(
  side: SideIndex,
  scenario: NamedScenario,
  { overrides, targets }: DiffJob,
  { secrets }: DiffIo,
): Promise<DraftPlan> {
  return withSideNames(side, () =>
    draftScenario(scenario, { ...overrides, target: targets[side], topUpUsd: '0' }, secrets),
  )
}

const termsOf = (side: SideIndex, { targets, variables, warmUp }: DiffJob): DraftJob => ({
  named: targets[side],
  ...{ workers: 1, warmUp, failFast: false, untilDecided: false, traces: false, baselines: null },
  variables:
    side === 1 && variables[newKeysVariable] ? { ...variables, TURNPIKE_KEYS: variables[newKeysVariable] } : variables,
  turns: { side, turnMs, lagMs },
})

/** NEW gets the load that fits OLD, whatever it states about itself. */
function withLoadOf({ calls, stages, callers, forecast }: Plan, draft: DraftPlan): DraftPlan {
  return {
    ...draft,
    replan: discovery => {
      const { plan, contract } = draft.replan(discovery)
      return { contract, plan: { ...plan, calls, stages, callers, forecast } }
    },
  }
}

/** Each side gets half of the budget, so that neither can take what the other needs. Throws a UsageError. */
function halved(plan: Plan): Plan {
  const { budgetUsd, forecast } = plan
  if (budgetUsd === null) return plan
  if (forecast.worstUsd !== null && 2n * pico(forecast.worstUsd) > pico(budgetUsd))
    throw new UsageError({
      where: 'budget',
      got: `$${budgetUsd} for two targets`,
      expected: `at least $${formatPico(2n * pico(forecast.worstUsd))}, twice the worst case of the forecast`,
      hint: 'raise the budget, or send less',
    })
  return { ...plan, budgetUsd: formatPico(pico(budgetUsd) / 2n) }
}

/** Throws a UsageError if both sides would share the limits and the balances of the same accounts. */
function assertApart({ targets: [old, fresh], variables }: DiffJob): void {
  const isSame = URL.canParse(old) && URL.canParse(fresh) && new URL(old).href === new URL(fresh).href
  if (!isSame || variables[newKeysVariable]) return
  if (isLoopback(old) && !variables.TURNPIKE_KEYS) return
  throw new UsageError({
    where: newKeysVariable,
    got: 'nothing',
    expected: 'other keys for NEW, since the same keys at the same URL share their limits and balances',
  })
}

/** Passes on what a run writes at its end. */
function keeping(reserved: ReservedDirectory, keep: (side: DiffSide) => void): ReservedDirectory {
  return {
    ...reserved,
    create: (judged, workers) => {
      const directory = reserved.create(judged, workers)
      return {
        ...directory,
        write: (report, slices) => {
          keep({ report, slices })
          return directory.write(report, slices)
        },
      }
    },
  }
}

/** The same work. Its mistakes name the address of a side as the command does. */
async function withSideNames<Value>(side: SideIndex, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    const named = (where: string) => (where === '--target' ? names[side] : where)
    throw new UsageError(cause.mistakes.map(mistake => ({ ...mistake, where: named(mistake.where) })))
  }
}

/** A promise that its owner settles. */
function createPromise<Value>() {
  let resolve: (value: Value) => void = () => {}
  let reject: (cause: unknown) => void = () => {}
  const promise = new Promise<Value>((resolveIt, rejectIt) => {
    resolve = resolveIt
    reject = rejectIt
  })
  return { promise, resolve, reject }
}

/** Two runs that start their load together and stop together. */
type PairedStart = {
  /** How one of the two starts its worker. */
  readonly pair: (startWorker: StartWorker) => StartWorker
  /** Neither sends its load, because one of them cannot. */
  readonly cancel: () => void
}

/**
 * Makes the worker of each side wait for the other before its load, so that both start it at the same instant of a clock
 * that they share. `onStop` is called when a side stops, since what the other sends alone compares with nothing.
 */
export function pairWorkers(onStop: () => void): PairedStart {
  const opened = createMeeting()
  return {
    cancel: opened.cancel,
    pair: startWorker => (job, events) => {
      /** What ends after its last request ends without stopping the other. */
      let isOver = false
      const stopOther = () => {
        if (!isOver) onStop()
      }
      const handle: WorkerHandle = startWorker(job, {
        ...events,
        onStop: reason => {
          events.onStop(reason)
          stopOther()
        },
        onLost: why => {
          events.onLost(why)
          opened.cancel()
          stopOther()
        },
      })
      return {
        ...handle,
        drive: async loadStartMs => {
          const startMs = await opened.come(loadStartMs)
          return startMs === null ? null : await handle.drive(startMs)
        },
        stop: reason => {
          handle.stop(reason)
          stopOther()
        },
        finish: end => {
          isOver = true
          return handle.finish(end)
        },
        cancel: () => {
          opened.cancel()
          handle.cancel()
        },
      }
    },
  }
}

/** Where two wait for each other. Both get the later of the times that they bring; null: it was cancelled. */
function createMeeting() {
  const waiting: ((startMs: number | null) => void)[] = []
  let latestMs = 0
  let cancelled = false
  const leave = (startMs: number | null) => {
    for (const resolve of waiting.splice(0)) resolve(startMs)
  }
  return {
    come: (startMs: number) =>
      new Promise<number | null>(resolve => {
        if (cancelled) return resolve(null)
        latestMs = Math.max(latestMs, startMs)
        waiting.push(resolve)
        if (waiting.length === 2) leave(latestMs)
      }),
    cancel: () => {
      cancelled = true
      leave(null)
    },
  }
}
