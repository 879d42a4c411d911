import { judgeTrial, type TrialState } from '../judge/capacity/judge-trial.ts'
import { nextTrial, type TrialRecord } from '../judge/capacity/next-trial.ts'
import { mergeParts, snapshotOf, type TrialPart } from '../judge/capacity/trial-fold.ts'
import type { Clock } from '../lib/clock.ts'
import type { Plan, SearchTerms, Trial } from '../plan/plan.ts'
import type { LedTrial, SearchLead } from '../produce/drivers/capacity.ts'

/**
 * What a worker reports of the search in a stage. `idle`: nothing of the search is in flight here; with its part of the
 * trial that has ended. `ready`: it could start its trial now. `part`: its part of the running trial so far.
 */
export type SearchReport = { readonly stage: string } & (
  | { readonly kind: 'idle'; readonly part: TrialPart | null }
  | { readonly kind: 'ready' }
  | { readonly kind: 'part'; readonly part: TrialPart }
)
/** What the run tells every worker. `end`: the outcome of the trial with this index is certain. */
export type SearchOrder = { readonly stage: string } & (
  | { readonly kind: 'trial'; readonly led: LedTrial }
  | { readonly kind: 'start'; readonly startMs: number | null }
  | { readonly kind: 'end'; readonly trial: number }
  | { readonly kind: 'over' }
)

/** Time from the decision to start a trial to its start, so that every worker gets the start time early enough. */
const leadMs = 100
/**
 * How often, at most, it is decided whether a trial ends early. A little less than the time between two reports of a
 * worker, so that no report of a single worker is skipped because the one before it took longer.
 */
const decideEveryMs = 90

/**
 * Leads all workers through the searches of a run. `tell` reaches every worker, each in the order of the calls. The result
 * takes the reports of the workers. Messages may take milliseconds; a worker that never reports blocks the search until
 * its stage ends.
 */
export function leadSearches(
  plan: Plan,
  workers: number,
  clock: Clock,
  tell: (order: SearchOrder) => void,
): (worker: number, report: SearchReport) => void {
  const searches = new Map(
    plan.stages.flatMap(({ name, load }) =>
      load.model === 'capacity' ? [[name, createSearch(load.search, workers)] as const] : [],
    ),
  )
  let decidedMs = Number.NEGATIVE_INFINITY
  return (worker, report) => {
    const { stage, kind } = report
    const search = searches.get(stage)
    if (search === undefined) throw new RangeError(`${stage} is not a search`)
    if (kind === 'part') {
      search.report(worker, report.part)
      const isUrgent = report.part.counts.heldBack > 0
      if (!isUrgent && clock.nowMs() < decidedMs + decideEveryMs) return
      decidedMs = clock.nowMs()
      const trial = search.decided()
      if (trial !== null) tell({ stage, kind: 'end', trial })
    } else if (kind === 'idle') {
      if (report.part !== null) search.report(worker, report.part)
      if (!search.arrive(worker)) return
      const led = search.next()
      tell(led === null ? { stage, kind: 'over' } : { stage, kind: 'trial', led })
    } else if (search.arrive(worker)) {
      tell({ stage, kind: 'start', startMs: workers === 1 ? null : clock.nowMs() + leadMs })
    }
  }
}

/** One search: the trials so far, and the parts of the last one. */
function createSearch(terms: SearchTerms, workers: number) {
  const past: TrialRecord[] = []
  const parts = new Map<number, TrialPart>()
  const waiting = new Set<number>()
  let trial: Trial | null = null
  let earlier = 0
  let isDecided = false

  const merged = () => mergeParts([...parts].toSorted(([a], [b]) => a - b).map(([, part]) => part))
  const outcome = (of: Trial, state: Extract<TrialState, 'open' | 'over'>) =>
    judgeTrial(of, snapshotOf(merged(), state === 'open' ? 'open' : 'ended'), terms, state)

  return {
    report: (worker: number, part: TrialPart): void => {
      parts.set(worker, part)
    },
    /** Whether all workers have arrived at this point of the search. */
    arrive: (worker: number): boolean => {
      waiting.add(worker)
      if (waiting.size < workers) return false
      waiting.clear()
      return true
    },
    /** The index of the running trial when its outcome has become certain; else null. */
    decided: (): number | null => {
      if (trial === null || isDecided || parts.size < workers || outcome(trial, 'open') === null) return null
      isDecided = true
      return trial.index
    },
    next: (): LedTrial | null => {
      if (trial !== null) past.push({ trial, outcome: outcome(trial, 'over') ?? 'unfinished' })
      earlier += merged().counts.arrivals
      parts.clear()
      isDecided = false
      const step = nextTrial(terms, past)
      if (step.kind === 'conclusion') return null
      trial = step.trial
      return { trial, earlier }
    },
  }
}

/** The end of the searches in a worker: the lead of its drivers, and the receiver of orders. */
export function followSearches(
  partOf: (stage: string, trial: number) => TrialPart,
  send: (report: SearchReport) => void,
): { readonly lead: SearchLead; readonly obey: (order: SearchOrder) => void } {
  let asked: { readonly stage: string; readonly answer: (order: SearchOrder) => void } | null = null
  let running: { readonly stage: string; readonly trial: Trial; readonly end: () => void } | null = null
  const ask = (report: SearchReport): Promise<SearchOrder> =>
    new Promise(answer => {
      asked = { stage: report.stage, answer }
      send(report)
    })
  return {
    lead: {
      next: async stage => {
        const part = running?.stage === stage ? partOf(stage, running.trial.index) : null
        const order = await ask({ stage, kind: 'idle', part })
        return order.kind === 'trial' ? order.led : null
      },
      start: async (stage, trial, end) => {
        running = { stage, trial, end }
        const order = await ask({ stage, kind: 'ready' })
        return order.kind === 'start' ? order.startMs : null
      },
      report: (stage, { index }) => send({ stage, kind: 'part', part: partOf(stage, index) }),
    },
    obey: order => {
      if (order.kind !== 'end') {
        // A driver whose time was over no longer asks.
        if (asked?.stage === order.stage) asked.answer(order)
      } else if (running?.stage === order.stage && running.trial.index === order.trial) running.end()
    },
  }
}
