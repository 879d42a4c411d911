/** The tested parts of a dashboard, read from its Grafana JSON. */
export type ReadDashboard = {
  readonly panels: readonly ReadPanel[]
  readonly variables: readonly ReadVariable[]
  /** Expressions of annotations. */
  readonly annotations: readonly string[]
}

export type ReadPanel = {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly exprs: readonly string[]
  readonly unit: string
  readonly noValue: string
  /** Whether null and NaN are displayed as words. A heat map has no such mapping. */
  readonly unlessNumber: boolean
  readonly at: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
}

/** `label_values(series, label)`. */
export type ReadVariable = {
  readonly label: string
  readonly series: string
  readonly metric: string
  readonly allValue: string
}

export function readDashboard(json: string): ReadDashboard {
  const { panels, templating, annotations } = JSON.parse(json)
  return {
    panels: panels.flatMap(unfolded).map(readPanel),
    variables: templating.list.filter((variable: { type: string }) => variable.type === 'query').map(readVariable),
    annotations: annotations.list.flatMap(({ expr }: { expr?: string }) => (expr === undefined ? [] : [expr])),
  }
}

/** A row is not a panel, but a collapsed row contains panels. */
const unfolded = (panel: { readonly type: string; readonly panels?: readonly unknown[] }): readonly unknown[] =>
  panel.type === 'row' ? (panel.panels ?? []) : [panel]

function readPanel(panel: unknown): ReadPanel {
  const { id, title, description = '', type, targets, gridPos, fieldConfig } = JSON.parse(JSON.stringify(panel))
  const { unit = '', noValue = '', mappings = [] } = fieldConfig.defaults
  const options = mappings.map((mapping: { options: { match?: string } }) => mapping.options.match)
  return {
    id,
    title,
    description,
    exprs: targets.map(({ expr }: { expr: string }) => expr),
    unit,
    noValue,
    unlessNumber: options.includes('null+nan') || type === 'heatmap' || type === 'table',
    at: gridPos,
  }
}

function readVariable({ name, query, allValue }: { name: string; query: { query: string }; allValue: string }) {
  const [, series = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(query.query) ?? []
  if (label !== name) throw new Error(`${name} has the values of ${label}`)
  return { label, series, metric: series.replace(/\{.*/, ''), allValue }
}
