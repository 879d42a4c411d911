import { type Random, randomStream } from '../lib/random.ts'
import type { CallPlan, Mix, Plan, StagePlan } from '../plan/plan.ts'
import { dueTimes } from './due-times.ts'

/** One call that is due. */
export type Arrival = {
  /** The `seq` of its first request; the others follow it. */
  readonly seq: number
  readonly stage: string
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

/** Draws the arrivals of a run one after the other; each stage, and each replay, has random streams of its own. */
export type Draw = {
  /** The arrivals of an open stage, lazily and in order. */
  readonly open: (stage: StagePlan) => Iterable<Arrival>
  /** Endless arrivals of a closed stage, due when they are asked for. */
  readonly closed: (stage: StagePlan) => (dueMs: number) => Arrival
  /** The next arrival of this very call by this caller. */
  readonly single: (stage: string, call: string, caller: number, dueMs: number) => Arrival
}

export function createDraw(plan: Pick<Plan, 'seed' | 'calls' | 'callers'>): Draw {
  const turns = new Map<number, number>()
  let seq = 0

  const single: Draw['single'] = (stage, call, caller, dueMs) => {
    const what = plan.calls[call]
    const steps =
      what?.kind === 'replay' ? replaySteps(what, randomStream(plan.seed, `replay/${seq}`), plan.callers) : only
    const turn = turns.get(caller) ?? 0
    turns.set(caller, turn + 1)
    const arrival = { seq, stage, call, caller, key: turn % plan.callers.keysEach, dueMs, steps }
    seq += steps.length
    return arrival
  }

  return {
    single,
    open: function* (stage) {
      if (stage.load.model !== 'open') return
      const { shape, mix } = stage.load
      const choice = randomStream(plan.seed, `mix/${stage.name}`)
      let index = 0
      for (const offsetMs of dueTimes(shape, stage.durationMs, randomStream(plan.seed, `arrivals/${stage.name}`))) {
        yield single(
          stage.name,
          choice.weighted(mix),
          stage.firstCaller + (index++ % stage.callers),
          stage.startMs + offsetMs,
        )
      }
    },
    closed: stage => {
      const mix: Mix = stage.load.model === 'closed' ? stage.load.mix : []
      const choice = randomStream(plan.seed, `mix/${stage.name}`)
      let index = 0
      return dueMs => single(stage.name, choice.weighted(mix), stage.firstCaller + (index++ % stage.callers), dueMs)
    },
  }
}

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
