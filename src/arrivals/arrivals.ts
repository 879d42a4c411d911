import { type Random, randomStream } from '../lib/random.ts'
import { unpackArrivals } from '../plan/packed-arrivals.ts'
import type { CallPlan, Mix, Plan, StagePlan } from '../plan/plan.ts'
import type { Trial } from '../plan/search-terms.ts'
import { dueTimes, trialTimes } from './due-times.ts'
import { isOwn, ownCallers, wholeRun } from './share.ts'

/** One call that is due. */
export type Arrival = {
  /** The `seq` of its first request; that of the others is in `seqOf`. */
  readonly seq: number
  /** The `place` of its first request; the others follow it. */
  readonly place: number
  readonly stage: string
  /** Which trial of a search it is of; null in every other stage. */
  readonly trial: number | null
  readonly call: string
  /** Position in `plan.callers.names`. */
  readonly caller: number
  /** Which of its caller's keys it uses, from 0. */
  readonly key: number
  readonly dueMs: number
  /** The requests that it consists of, in order; all but replays have one. */
  readonly steps: readonly Step[]
}

export type Step = 'only' | 'original' | 'duplicate' | 'other-key' | 'conflict' | 'foreign' | 'again'

/**
 * Draws the arrivals of a worker one after the other. Each stage, and each replay, has random streams of its own, and
 * what a caller sends hangs on how much it has sent before and on nobody else: so it is the same however many workers
 * there are.
 */
export type Draw = {
  /** The own arrivals of an open stage, lazily and in order: those of all workers together are the whole schedule. */
  readonly open: (stage: StagePlan) => Iterable<Arrival>
  /** The arrivals of one trial of a search that begins at `startMs`. */
  readonly trial: (stage: StagePlan, trial: Trial, startMs: number) => Iterable<Arrival>
  /** Endless arrivals of a stage whose answers set the pace, due when they are asked for. */
  readonly closed: (stage: StagePlan) => (dueMs: number) => Arrival
  /** The next arrival of this very call by this caller. */
  readonly single: (stage: string, call: string, caller: number, dueMs: number) => Arrival
}

export function createDraw(plan: Pick<Plan, 'seed' | 'calls' | 'callers'>, share = wholeRun): Draw {
  const { names, keysEach } = plan.callers
  const isOurs = isOwn(plan, share)
  /** What each caller has been given so far. */
  const given = new Map<number, { readonly arrivals: number; readonly requests: number }>()
  let place = 0
  /** Over all trials: a caller who is next after one is next in the one that follows. */
  let tried = 0

  const single: Draw['single'] = (stage, call, caller, dueMs) => {
    const what = plan.calls[call]
    const { arrivals, requests } = given.get(caller) ?? { arrivals: 0, requests: 0 }
    const seq = requests * names.length + caller
    const steps =
      what?.kind === 'replay' ? replaySteps(what, randomStream(plan.seed, `replay/${seq}`), plan.callers) : only
    given.set(caller, { arrivals: arrivals + 1, requests: requests + steps.length })
    const arrival = { seq, place, stage, call, caller, key: arrivals % keysEach, dueMs, steps, trial: null }
    place += steps.length
    return arrival
  }

  return {
    single,
    open: function* (stage) {
      if (stage.load.model !== 'open') return
      const { shape, mix } = stage.load
      if (shape.kind === 'recorded') {
        for (const { offsetMs, call, caller } of unpackArrivals(shape.packed))
          if (isOurs(caller)) yield single(stage.name, mix[call]?.[0] ?? '', caller, stage.startMs + offsetMs)
        return
      }
      const choice = randomStream(plan.seed, `mix/${stage.name}`)
      let index = 0
      for (const offsetMs of dueTimes(shape, stage.durationMs, randomStream(plan.seed, `arrivals/${stage.name}`))) {
        const call = choice.weighted(mix)
        const caller = stage.firstCaller + (index++ % stage.callers)
        if (isOurs(caller)) yield single(stage.name, call, caller, stage.startMs + offsetMs)
      }
    },
    trial: function* (stage, trial, startMs) {
      if (stage.load.model !== 'capacity') return
      const { spacing, mix } = stage.load
      const name = `${stage.name}/${trial.index}`
      const choice = randomStream(plan.seed, `mix/${name}`)
      for (const offsetMs of trialTimes(trial, spacing, randomStream(plan.seed, `arrivals/${name}`))) {
        const caller = stage.firstCaller + (tried++ % stage.callers)
        yield { ...single(stage.name, choice.weighted(mix), caller, startMs + offsetMs), trial: trial.index }
      }
    },
    closed: stage => {
      const mix: Mix = stage.load.model === 'closed' || stage.load.model === 'saturate' ? stage.load.mix : []
      const users = ownCallers(stage, isOurs).map(caller => ({
        caller,
        choice: randomStream(plan.seed, `mix/${stage.name}/${names[caller]}`),
      }))
      let index = 0
      return dueMs => {
        const user = users[index++ % users.length]
        if (user === undefined) throw new RangeError(`${stage.name} has no caller of this worker`)
        return single(stage.name, user.choice.weighted(mix), user.caller, dueMs)
      }
    },
  }
}

/** The `seq` of each request of an arrival: each caller counts its own, and leaves room for those of the others. */
export const seqOf = ({ seq }: Arrival, index: number, callers: number): number => seq + index * callers

const only: readonly Step[] = ['only']

type ReplayPlan = Extract<CallPlan, { kind: 'replay' }>

function replaySteps(call: ReplayPlan, random: Random, { names, keysEach }: Plan['callers']): readonly Step[] {
  const conflict = random.next() < call.conflicting
  const foreign = random.next() < call.foreign && names.length > 1
  const otherKey = random.next() < call.otherKey && keysEach > 1
  return [
    'original',
    ...Array<Step>(call.duplicates).fill('duplicate'),
    ...(otherKey ? (['other-key'] as const) : []),
    ...(conflict ? (['conflict'] as const) : []),
    ...(foreign ? (['foreign'] as const) : []),
    ...(call.againAfterMs === null ? [] : (['again'] as const)),
  ]
}
