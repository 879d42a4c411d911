import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  type Panel,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { ofRun, source } from './queries.ts'

export type Row = {
  readonly title: string
  readonly panels: readonly Builder<Panel>[]
  /** Collapsed until a person opens it; Grafana runs no queries for a collapsed row. */
  readonly collapsed?: true
}

export type Board = {
  readonly uid: string
  readonly title: string
  readonly question: string
  /** Labels to filter by; each takes its values from this metric. */
  readonly choices: readonly (readonly [label: string, metric: string])[]
  readonly rows: readonly Row[]
}

const tag = 'turnpike'

/** A Grafana dashboard, in the JSON form that Grafana provisions. */
export function makeDashboard({ uid, title, question, choices, rows }: Board): Dashboard {
  const builder = new DashboardBuilder(title)
    .uid(uid)
    .description(question)
    .tags([tag])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-15m', to: 'now' })
    .refresh('5s')
    .timezone('browser')
  const variables = [
    new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'),
    choice('job', 'turnpike_run_info'),
    choice('instance', 'turnpike_run_info{job=~"$job"}'),
    ...choices.map(([label, metric]) => choice(label, ofRun(metric))),
  ]
  builder.variables(variables).link(links()).annotation(stages())
  for (const { title, panels, collapsed } of rows) {
    const row = new RowBuilder(title)
    // Grafana expects panels inside a row only if the row is collapsed.
    if (collapsed) for (const panel of panels) row.withPanel(panel)
    builder.withRow(row)
    if (!collapsed) for (const panel of panels) builder.withPanel(panel)
  }
  return numbered(builder.build())
}

const choice = (label: string, metric: string) =>
  new QueryVariableBuilder(label)
    .label(label)
    .datasource(source)
    .query({ qryType: 1, query: `label_values(${metric}, ${label})`, refId: label })
    .definition(`label_values(${metric}, ${label})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: ['All'], value: ['$__all'] })

const links = () =>
  new DashboardLinkBuilder('Turnpike')
    .type(DashboardLinkType.Dashboards)
    .tags([tag])
    .asDropdown(false)
    .includeVars(true)
    .keepTime(true)

/** Marks the start of each stage. */
const stages = () =>
  new AnnotationQueryBuilder()
    .name('Stages')
    .datasource(source)
    .enable(true)
    .hide(false)
    .iconColor('blue')
    .expr(ofRun('turnpike_stage_info'))
    .step('2s')
    .titleFormat('{{stage}}')

/** Gives each panel an id. The builder sets none, and links to a panel need one. */
function numbered(dashboard: Dashboard): Dashboard {
  const panels = (dashboard.panels ?? []).flatMap(panel => ('panels' in panel ? [panel, ...panel.panels] : [panel]))
  for (const [index, panel] of panels.entries()) panel.id = index + 1
  return dashboard
}
