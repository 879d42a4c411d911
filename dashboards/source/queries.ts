import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'

/** Expressions use what Prometheus 2.42 knows, and are as true without the recording rules as with them. */
export type Query = { readonly expr: string; readonly legend: string; readonly format: 'series' | 'table' | 'heatmap' }

export const source = { type: 'prometheus', uid: '$datasource' }

const run = 'job=~"$job",instance=~"$instance"'

/** The series of the runs, calls and stages that are chosen. */
export const ofRun = (metric: string, ...more: readonly string[]): string => `${metric}{${[run, ...more].join(',')}}`
export const ofCalls = (metric: string, ...more: readonly string[]): string =>
  ofRun(metric, 'call=~"$call"', 'stage=~"$stage"', ...more)
export const ofCallers = (metric: string, ...more: readonly string[]): string =>
  ofRun(metric, 'caller=~"$caller"', 'scope=~"$scope"', ...more)

export const rate = (series: string): string => `rate(${series}[$__rate_interval])`

/** What of a whole, from 0 to 1; no value while there is nothing of the whole. */
export const ratio = (part: string, whole: string, by = ''): string => {
  const sum = (series: string) => `sum${by} (${rate(series)})`
  return `(${sum(part)} or ${sum(whole)} * 0) / (${sum(whole)} > 0)`
}

/** Over all that is chosen, for quantiles are never averaged. No number is at least 0, so NaN is no value here. */
export const quantile = (q: number, metric: string, by = ''): string => {
  const labels = by === '' ? 'le' : `le, ${by}`
  return `histogram_quantile(${q}, sum by (${labels}) (${rate(ofCalls(`${metric}_bucket`))})) >= 0`
}

export const series = (expr: string, legend: string): Query => ({ expr, legend, format: 'series' })
export const table = (expr: string, legend: string): Query => ({ expr, legend, format: 'table' })

export const quantiles = (metric: string): readonly Query[] =>
  [0.5, 0.95, 0.99].map(q => series(quantile(q, metric), `p${q * 100}`))

/** `refId` tells the queries of one panel apart. */
export function target({ expr, legend, format }: Query, refId: string, instant: boolean): DataqueryBuilder {
  const query = new DataqueryBuilder().datasource(source).refId(refId).expr(expr).legendFormat(legend)
  const formats = {
    series: PromQueryFormat.TimeSeries,
    table: PromQueryFormat.Table,
    heatmap: PromQueryFormat.Heatmap,
  }
  const formatted = query.format(formats[format])
  return instant ? formatted.instant() : formatted.range()
}
