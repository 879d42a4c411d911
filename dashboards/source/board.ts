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
  /** Whether it is shut until a person opens it, so that nothing is asked for it. */
  readonly isFolded?: true
}

export type Board = {
  readonly uid: string
  readonly title: string
  readonly question: string
  /** Names of labels, and the metric whose values of it can be chosen. */
  readonly choices: readonly (readonly [label: string, metric: string])[]
  readonly rows: readonly Row[]
}

const tag = 'turnpike'

/** A dashboard of Grafana, in the JSON that it is provisioned with. */
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
  for (const { title, panels, isFolded } of rows) {
    const row = new RowBuilder(title)
    // Grafana looks for the panels of a row within it only where it is folded.
    if (isFolded) for (const panel of panels) row.withPanel(panel)
    builder.withRow(row)
    if (!isFolded) for (const panel of panels) builder.withPanel(panel)
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

/** When one stage ends and the next one begins. */
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

/** The builder gives panels no numbers, and links to a panel need one. */
function numbered(dashboard: Dashboard): Dashboard {
  const panels = (dashboard.panels ?? []).flatMap(panel => ('panels' in panel ? [panel, ...panel.panels] : [panel]))
  for (const [index, panel] of panels.entries()) panel.id = index + 1
  return dashboard
}
