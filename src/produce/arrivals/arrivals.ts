import { inMicroseconds } from '../../lib/clock.ts'
import { type Random, randomStream } from '../../lib/random.ts'
import {
  type ArrivalStep,
  type Call,
  keysOfCaller,
  type Mix,
  type Plan,
  repeatedTurn,
  replaysOf,
  type StagePlan,
  type Trial,
  traitsOf,
} from '../../plan/plan.ts'
import { promptReader, type RecordedPrompt, unpackArrivals } from '../../plan/recorded-load.ts'

export type { RecordedPrompt }

import { callersOfShard, ownsCaller, singleShard } from '../../plan/shard.ts'
import { dueTimes, trialDueTimes } from './due-times.ts'

/** One call that is due. */
export type Arrival = {
  /** The id of its first request; see `requestIdOf` for the others. */
  readonly id: number
  /** The `seq` of its first request; the others follow. It gets its number when it is sent or dropped, 0 until then. */
  seq: number
  readonly stage: string
  /** The index of its trial in a capacity search; null in other stages. */
  readonly trial: number | null
  readonly call: string
  /** Index into `plan.callers.names`. */
  readonly caller: number
  /** Which key of its caller it uses, from 0. */
  readonly key: number
  /** In whole microseconds. */
  readonly dueMs: number
  /** Its requests in order. Only replays, payments, races and conversations have more than one. */
  readonly steps: readonly ArrivalStep[]
  /** Missing: its call decides its prompt. */
  readonly prompt?: RecordedPrompt
}

/**
 * Makes the arrivals of one shard. Each stage and each replay has its own random streams, and the next request of a
 * caller depends only on its earlier requests. So a caller sends the same requests with any number of workers.
 */
export type ArrivalSource = {
  /** The arrivals of an open stage that belong to this shard, lazily and in order of due time. */
  readonly open: (stage: StagePlan) => Iterable<Arrival>
  /**
   * The arrivals of one trial of a capacity search that belong to this shard. It starts at `startMs`, and `earlier`
   * arrivals of other trials precede it: callers take turns across trials.
   */
  readonly trial: (stage: StagePlan, trial: Trial, startMs: number, earlier: number) => Iterable<Arrival>
  /** The next arrival of a closed or saturate stage, due at the given time. Never ends. */
  readonly closed: (stage: StagePlan) => (dueMs: number) => Arrival
  /** The next arrival of the given call and caller. */
  readonly single: (stage: string, call: string, caller: number, dueMs: number) => Arrival
}

export function createArrivalSource(
  plan: Pick<Plan, 'seed' | 'calls' | 'callers'>,
  shard = singleShard,
): ArrivalSource {
  const { names } = plan.callers
  const isOwn = ownsCaller(plan, shard)
  /** The number of arrivals and requests of each caller so far. */
  const sent = new Map<number, { readonly arrivals: number; readonly requests: number }>()
  const single: ArrivalSource['single'] = (stage, call, caller, dueMs) => {
    const planned = plan.calls[call]
    const { arrivals, requests } = sent.get(caller) ?? { arrivals: 0, requests: 0 }
    const id = requests * names.length + caller
    const keys = keysOfCaller(plan.callers, caller)
    const steps = planned === undefined ? (['only'] as const) : stepsOf(planned, id, keys)
    sent.set(caller, { arrivals: arrivals + 1, requests: requests + steps.length })
    const key = arrivals % keys
    return { id, seq: 0, stage, call, caller, key, dueMs: inMicroseconds(dueMs), steps, trial: null }
  }

  const stepsOf = (call: Call, id: number, keys: number): readonly ArrivalStep[] =>
    traitsOf(call).steps({ random: () => randomOfSteps(plan.seed, id), callers: names.length, keys })

  return {
    single,
    open: function* (stage) {
      if (stage.load.model !== 'open') return
      const { shape, mix } = stage.load
      if (shape.kind === 'recorded') {
        const promptOf = promptReader(shape, stage.name)
        let position = 0
        for (const { offsetMs, call, caller, prompt: recorded } of unpackArrivals(shape)) {
          const at = position++
          if (!isOwn(caller)) continue
          const arrival = single(stage.name, mix[call]?.[0] ?? '', caller, stage.startMs + offsetMs)
          const prompt = promptOf(recorded, at)
          yield prompt === null ? arrival : { ...arrival, prompt }
        }
        return
      }
      const choice = randomStream(plan.seed, `mix/${stage.name}`)
      let index = 0
      for (const offsetMs of dueTimes(shape, stage.durationMs, randomStream(plan.seed, `arrivals/${stage.name}`))) {
        const call = choice.weighted(mix)
        const caller = stage.firstCaller + (index++ % stage.callers)
        if (isOwn(caller)) yield single(stage.name, call, caller, stage.startMs + offsetMs)
      }
    },
    trial: function* (stage, trial, startMs, earlier) {
      if (stage.load.model !== 'capacity') return
      const { spacing, mix } = stage.load
      const name = `${stage.name}/${trial.index}`
      const choice = randomStream(plan.seed, `mix/${name}`)
      let index = earlier
      for (const offsetMs of trialDueTimes(trial, spacing, randomStream(plan.seed, `arrivals/${name}`))) {
        const call = choice.weighted(mix)
        const caller = stage.firstCaller + (index++ % stage.callers)
        if (isOwn(caller)) yield { ...single(stage.name, call, caller, startMs + offsetMs), trial: trial.index }
      }
    },
    closed: stage => {
      const mix: Mix = stage.load.model === 'closed' || stage.load.model === 'saturate' ? stage.load.mix : []
      const users = callersOfShard(stage, isOwn).map(caller => ({
        caller,
        choice: randomStream(plan.seed, `mix/${stage.name}/${names[caller]}`),
      }))
      let index = 0
      return dueMs => {
        const user = users[index++ % users.length]
        if (user === undefined) throw new RangeError(`this worker has no caller in stage ${stage.name}`)
        return single(stage.name, user.choice.weighted(mix), user.caller, dueMs)
      }
    },
  }
}

/** Decides the steps of the arrival whose first request has this id. */
export const randomOfSteps = (seed: number, firstId: number): Random => randomStream(seed, `replay/${firstId}`)

/** Which turn of a session a request is; null for one of another arrival. `group`: if its turn has replays. */
export function turnIn(
  arrival: Arrival,
  number: number,
  callers: number,
): { readonly number: number; readonly turns: number; readonly group?: number } | null {
  const { steps } = arrival
  if (steps[0] !== 'turn') return null
  const turn = repeatedTurn(steps, number)
  const hasKey = replaysOf(steps, turn) > 0
  return { number, turns: steps.lastIndexOf('turn') + 1, ...(hasKey && { group: requestIdOf(arrival, turn, callers) }) }
}

/** The id of request `index` of an arrival. The ids of one caller are `callers` apart, so callers never collide. */
export const requestIdOf = ({ id }: Arrival, index: number, callers: number): number => id + index * callers
