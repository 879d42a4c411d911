import type { Observation, Sink } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import { isSystemStage } from '../plan/plan.ts'
import { activeMs, type Extent, type Selection } from './active-time.ts'
import { type Cell, createCell, type Figures, type FiguresFacts, sumFigures } from './figures.ts'

/** A fold over observations. Memory is bounded by the calls and stages of the plan, not by the observations. */
export type Metrics = {
  readonly add: Sink
  /** As of now. Stages of the program's own count only where they are asked for by name. */
  readonly select: (selection: Selection) => Figures
  /** Everything, the program's own stages included: what the harness did, not how the service fared. */
  readonly all: () => Figures
  /** One for each call and stage that was seen, stage by stage. */
  readonly cells: () => readonly MetricsCell[]
  /** Milliseconds that the stages of a rate lasted; null where it has none. */
  readonly activeMs: (selection: Selection, extent: Extent) => number | null
  readonly facts: () => MetricsFacts
  readonly absorb: (facts: MetricsFacts) => void
}

/** What a fold has come to, as plain data; another one can go on from there, or add up several. */
export type MetricsFacts = {
  readonly cells: readonly { readonly call: string; readonly stage: string; readonly figures: FiguresFacts }[]
  /** Infinite as long as nothing was due in a stage. */
  readonly loadStartMs: number
  readonly lastEndMs: ReadonlyMap<string, number>
}

export type MetricsCell = { readonly call: string; readonly stage: string; readonly figures: Figures }

/** Names that the plan does not know; they share one cell when there are more than `maxUnknownNames` of them. */
export const OTHER_NAME = '(other)'
const maxUnknownNames = 16

export function createMetrics(plan: Plan): Metrics {
  const cells = new Map<string, Map<string, Cell>>()
  const nameCall = boundNames(Object.keys(plan.calls))
  const nameStage = boundNames(plan.stages.map(stage => stage.name))

  const list = (): readonly MetricsCell[] => each((call, stage, { figures }) => ({ call, stage, figures }))

  const each = <Value>(of: (call: string, stage: string, cell: Cell) => Value): readonly Value[] =>
    [...cells].flatMap(([stage, calls]) => [...calls].map(([call, cell]) => of(call, stage, cell)))

  const cellOf = (o: Pick<Observation, 'call' | 'stage'>): Cell => {
    const stage = nameStage(o.stage)
    const call = nameCall(o.call)
    const ofStage = cells.get(stage) ?? new Map<string, Cell>()
    const cell = ofStage.get(call) ?? createCell(plan.slo[call] ?? {})
    cells.set(stage, ofStage.set(call, cell))
    return cell
  }

  // The program's own requests come before the stages and take as long as they take: the first stage began where the
  // earliest arrival of a stage says that it did.
  let loadStartMs = Number.POSITIVE_INFINITY
  const lastEndMs = new Map<string, number>()
  const stageStartMs = new Map(plan.stages.map(stage => [stage.name, stage.startMs]))

  return {
    add: o => {
      cellOf(o).add(o)
      const startMs = stageStartMs.get(o.stage)
      if (startMs === undefined) return
      loadStartMs = Math.min(loadStartMs, o.dueMs - startMs)
      if (o.endMs !== null) lastEndMs.set(o.stage, Math.max(lastEndMs.get(o.stage) ?? 0, o.endMs))
    },
    select: selection =>
      sumFigures(
        list()
          .filter(cell => isSelected(selection, cell))
          .map(cell => cell.figures),
      ),
    all: () => sumFigures(list().map(cell => cell.figures)),
    cells: list,
    activeMs: (selection, extent) => activeMs(plan, selection, extent, { loadStartMs, lastEndMs }),
    facts: () => ({
      cells: each((call, stage, cell) => ({ call, stage, figures: cell.facts() })),
      loadStartMs,
      lastEndMs: new Map(lastEndMs),
    }),
    absorb: facts => {
      for (const { figures, ...names } of facts.cells) cellOf(names).absorb(figures)
      loadStartMs = Math.min(loadStartMs, facts.loadStartMs)
      for (const [stage, endMs] of facts.lastEndMs) lastEndMs.set(stage, Math.max(lastEndMs.get(stage) ?? 0, endMs))
    },
  }
}

function isSelected(selection: Selection, cell: { readonly call: string; readonly stage: string }): boolean {
  const inStage = selection.stage === null ? !isSystemStage(cell.stage) : cell.stage === selection.stage
  return inStage && (selection.call === null || cell.call === selection.call)
}

function boundNames(known: readonly string[]): (name: string) => string {
  const names = new Set(known)
  const limit = names.size + maxUnknownNames
  return name => {
    if (names.has(name)) return name
    if (names.size >= limit) return OTHER_NAME
    names.add(name)
    return name
  }
}
