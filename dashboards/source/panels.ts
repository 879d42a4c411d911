import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphDrawStyle,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  ScaleDistribution,
  ScaleDistributionConfigBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import {
  MappingType,
  SpecialValueMatch,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import {
  PanelBuilder as HeatmapBuilder,
  HeatmapColorMode,
  HeatmapColorOptionsBuilder,
  YAxisConfigBuilder,
} from '@grafana/grafana-foundation-sdk/heatmap'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'
import { type Query, source, target } from './queries.ts'

/** The settings that every panel has. */
export type Face = {
  readonly title: string
  /** The description: what the panel shows, with the name of its metric. */
  readonly text: string
  /** A Grafana unit: `s`, `reqps`, `percentunit`; `short` for counts. */
  readonly unit: string
  readonly queries: readonly Query[]
  /** In columns, out of 24. */
  readonly width?: number
  /** Shown if there is no value. */
  readonly noValue?: string
}

const noTraffic = 'No traffic'

const unless = (noValue: string): ValueMapping => ({
  type: MappingType.SpecialValue,
  options: { match: SpecialValueMatch.NullAndNan, result: { text: noValue } },
})

const steps = (...values: readonly (readonly [from: number | null, color: string])[]) =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(values.map(([value, color]) => ({ value, color })))

const targets = (queries: readonly Query[], instant: boolean) =>
  queries.map((query, index) => target(query, String.fromCharCode(65 + index), instant))

function lines({ title, text, unit, queries, width = 12, noValue = noTraffic }: Face): TimeseriesBuilder {
  return new TimeseriesBuilder()
    .title(title)
    .description(text)
    .datasource(source)
    .targets(targets(queries, false))
    .unit(unit)
    .noValue(noValue)
    .mappings([unless(noValue)])
    .span(width)
    .height(8)
    .fillOpacity(8)
    .lineWidth(1)
    .drawStyle(GraphDrawStyle.Line)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
}

export const chart = (face: Face): TimeseriesBuilder => lines(face).min(0)

/** For values that may be negative. */
export const difference = (face: Face): TimeseriesBuilder => lines(face)

/** For series that add up to a total. */
export const stacked = (face: Face): TimeseriesBuilder =>
  chart(face).fillOpacity(40).stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A'))

export function stat({ title, text, unit, queries, width = 4, noValue = noTraffic }: Face): StatBuilder {
  return new StatBuilder()
    .title(title)
    .description(text)
    .datasource(source)
    .targets(targets(queries, true))
    .unit(unit)
    .noValue(noValue)
    .mappings([unless(noValue)])
    .span(width)
    .height(4)
    .graphMode(BigValueGraphMode.None)
    .colorMode(BigValueColorMode.Value)
    .thresholds(steps([null, 'text']))
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
}

/** Shows the legend instead of the value. */
export const name = (face: Face): StatBuilder => stat(face).textMode(BigValueTextMode.Name)

/** Green at 0, red above 0. */
export const alarm = (face: Face, good: string): StatBuilder =>
  stat(face)
    .colorMode(BigValueColorMode.Background)
    .thresholds(steps([null, 'green'], [1, 'red']))
    .mappings([
      unless(face.noValue ?? noTraffic),
      { type: MappingType.ValueToText, options: { '0': { text: good, index: 0 } } },
    ])

export function heatmap({ title, text, unit, queries, width = 12, noValue = noTraffic }: Face): HeatmapBuilder {
  return new HeatmapBuilder()
    .title(title)
    .description(text)
    .datasource(source)
    .targets(targets(queries, false))
    .unit('short')
    .noValue(noValue)
    .span(width)
    .height(8)
    .calculate(false)
    .color(new HeatmapColorOptionsBuilder().mode(HeatmapColorMode.Scheme).scheme('Turbo').steps(64))
    .yAxis(new YAxisConfigBuilder().unit(unit))
    .cellGap(0)
    .scaleDistribution(new ScaleDistributionConfigBuilder().type(ScaleDistribution.Linear))
}

/** One row for each set of labels. Each query is a column, named by its legend. */
export function grid({ title, text, unit, queries, width = 24, noValue = noTraffic }: Face): TableBuilder {
  const hidden = Object.fromEntries(['Time', '__name__', 'job', 'instance'].map(label => [label, true]))
  const values = queries.map(({ legend }, index) => {
    const refId = String.fromCharCode(65 + index)
    return [queries.length === 1 ? 'Value' : `Value #${refId}`, legend] as const
  })
  return new TableBuilder()
    .title(title)
    .description(text)
    .datasource(source)
    .targets(targets(queries, true))
    .unit(unit)
    .noValue(noValue)
    .span(width)
    .height(9)
    .filterable(true)
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: { excludeByName: hidden, renameByName: Object.fromEntries(values) },
    })
}
