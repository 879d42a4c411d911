import type { Observation } from '../../observation/observation.ts'
import { longestMs, type Plan } from '../../plan/plan.ts'

/** When a stage started and ended on the clock of the run. */
type StageTime = { readonly startMs: number; readonly endMs: number }

/**
 * When the stages took place, as far as their requests show it. A sequence ends when its last request has ended. If that is
 * later than planned, all later stages start later.
 */
export type StageClock = {
  readonly add: (o: Observation) => void
  /** Infinite until something was due in a stage. */
  readonly loadStartMs: () => number
  /** Of a stage of the plan; before any request, as if the load had started with the run. */
  readonly timeOf: (stage: string) => StageTime
  /** When the last request of a stage ended; 0: none did. */
  readonly lastEndMs: (stage: string) => number
  readonly snapshot: () => StageClockSnapshot
  readonly merge: (snapshot: StageClockSnapshot) => void
}

/** The first due time and the last end of each stage, as plain data. */
export type StageClockSnapshot = {
  readonly firstDueMs: ReadonlyMap<string, number>
  readonly lastEndMs: ReadonlyMap<string, number>
}

export function createStageClock({ stages }: Pick<Plan, 'stages'>): StageClock {
  const planned = new Set(stages.map(({ name }) => name))
  const firstDueMs = new Map<string, number>()
  const lastEndMs = new Map<string, number>()
  /** Forgotten with each change. */
  let known: ReadonlyMap<string, StageTime> | null = null

  const noteDue = (stage: string, dueMs: number) => {
    if (dueMs >= (firstDueMs.get(stage) ?? Number.POSITIVE_INFINITY)) return
    firstDueMs.set(stage, dueMs)
    known = null
  }
  const noteEnd = (stage: string, endMs: number) => {
    if (endMs <= (lastEndMs.get(stage) ?? 0)) return
    lastEndMs.set(stage, endMs)
    known = null
  }
  // System calls precede the stages and take any time, so the earliest arrival of a stage defines when the first one started.
  const loadStartMs = () =>
    Math.min(
      Number.POSITIVE_INFINITY,
      ...stages.map(({ name, startMs }) => (firstDueMs.get(name) ?? Number.POSITIVE_INFINITY) - startMs),
    )

  const times = (): ReadonlyMap<string, StageTime> => {
    const startedMs = loadStartMs()
    let lateMs = Number.isFinite(startedMs) ? startedMs : 0
    const found = new Map<string, StageTime>()
    for (const stage of stages) {
      const { name, startMs: plannedMs, durationMs } = stage
      const startMs = plannedMs + lateMs
      const tookMs = Math.max(durationMs, Math.min(longestMs(stage), (lastEndMs.get(name) ?? 0) - startMs))
      lateMs += tookMs - durationMs
      found.set(name, { startMs, endMs: startMs + tookMs })
    }
    return found
  }

  return {
    add: ({ stage, dueMs, endMs }) => {
      if (!planned.has(stage)) return
      noteDue(stage, dueMs)
      if (endMs !== null) noteEnd(stage, endMs)
    },
    loadStartMs,
    timeOf: stage => {
      known ??= times()
      return known.get(stage) ?? { startMs: 0, endMs: 0 }
    },
    lastEndMs: stage => lastEndMs.get(stage) ?? 0,
    snapshot: () => ({ firstDueMs: new Map(firstDueMs), lastEndMs: new Map(lastEndMs) }),
    merge: snapshot => {
      for (const [stage, ms] of snapshot.firstDueMs) noteDue(stage, ms)
      for (const [stage, ms] of snapshot.lastEndMs) noteEnd(stage, ms)
    },
  }
}
