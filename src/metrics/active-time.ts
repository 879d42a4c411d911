import { isSystemStage, type Plan, type StagePlan } from '../plan/plan.ts'

/** What a figure is about: one call or all (null), in one stage or in the whole run (null). */
export type Selection = { readonly call: string | null; readonly stage: string | null }

/** How far a run went: whether it ended by itself and, if not, when on its clock. */
export type Extent = { readonly complete: boolean; readonly elapsedMs: number }

/** On the clock of the run: when the first stage began, and when the last request of each stage had ended. */
export type Seen = { readonly loadStartMs: number; readonly lastEndMs: ReadonlyMap<string, number> }

/**
 * Milliseconds of the stages in which the call takes part; null where there are none, and then there is no rate. A run
 * that was cut short did only a part of them, and a stage that saturates the target is over with its last call.
 */
export function activeMs(plan: Plan, selection: Selection, extent: Extent, seen: Seen): number | null {
  const { loadStartMs, lastEndMs } = seen
  const doneMs = ({ name, load, startMs, durationMs }: StagePlan): number => {
    const upTo = (atMs: number) => Math.min(durationMs, Math.max(0, atMs - loadStartMs - startMs))
    const planned = extent.complete ? durationMs : upTo(extent.elapsedMs)
    return load.model === 'saturate' ? Math.min(planned, upTo(lastEndMs.get(name) ?? 0)) : planned
  }
  const stages = plan.stages
    .filter(stage => (selection.stage === null ? !isSystemStage(stage.name) : stage.name === selection.stage))
    .filter(stage => takesPart(stage, selection.call))
  // The trials of a search have rates of their own; all of them together have none.
  if (stages.some(({ load }) => load.model === 'capacity')) return null
  const ms = stages.reduce((sum, stage) => sum + doneMs(stage), 0)
  return ms > 0 ? ms : null
}

export const perSecond = (count: number, ms: number | null): number | null => (ms === null ? null : (count * 1000) / ms)

function takesPart({ load }: StagePlan, call: string | null): boolean {
  if (load.model === 'sequence') return call === null ? load.calls.length > 0 : load.calls.includes(call)
  if (load.model === 'open' && load.shape.kind === 'pause') return false
  return load.mix.some(([name, weight]) => weight > 0 && (call === null || name === call))
}
