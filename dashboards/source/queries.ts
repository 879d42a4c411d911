import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'

/** Expressions work in Prometheus 2.42 and later, and do not need the recording rules. */
export type Query = { readonly expr: string; readonly legend: string; readonly format: 'series' | 'table' | 'heatmap' }

export const source = { type: 'prometheus', uid: '$datasource' }

const run = 'job=~"$job",instance=~"$instance"'

/** The series of the selected runs, calls and stages. */
export const ofRun = (metric: string, ...more: readonly string[]): string => `${metric}{${[run, ...more].join(',')}}`
export const ofCalls = (metric: string, ...more: readonly string[]): string =>
  ofRun(metric, 'call=~"$call"', 'stage=~"$stage"', ...more)
export const ofCallers = (metric: string, ...more: readonly string[]): string =>
  ofRun(metric, 'caller=~"$caller"', 'scope=~"$scope"', ...more)

export const rate = (series: string): string => `rate(${series}[$__rate_interval])`

/** A part divided by its whole, from 0 to 1. No value while the whole is 0. */
export const ratio = (part: string, whole: string, by = ''): string => {
  const sum = (series: string) => `sum${by} (${rate(series)})`
  return `(${sum(part)} or ${sum(whole)} * 0) / (${sum(whole)} > 0)`
}

/** One quantile over all selected series, because quantiles cannot be averaged. `>= 0` drops NaN. */
export const quantile = (q: number, metric: string, by = ''): string => {
  const labels = by === '' ? 'le' : `le, ${by}`
  return `histogram_quantile(${q}, sum by (${labels}) (${rate(ofCalls(`${metric}_bucket`))})) >= 0`
}

export const series = (expr: string, legend: string): Query => ({ expr, legend, format: 'series' })
export const table = (expr: string, legend: string): Query => ({ expr, legend, format: 'table' })

export const quantiles = (metric: string): readonly Query[] =>
  [0.5, 0.95, 0.99].map(q => series(quantile(q, metric), `p${q * 100}`))

/** `refId` identifies a query within its panel. */
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
