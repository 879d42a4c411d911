import type { Row } from './board.ts'
import { chart, grid, heatmap, stacked } from './panels.ts'
import { ofCalls, ofRun, quantile, quantiles, rate, ratio, series, table } from './queries.ts'

const requests = ofCalls('turnpike_requests_total')
const unsuccessful = ofCalls('turnpike_requests_total', 'status_class!="2xx"')

/** Latency, streams and responses of the service. */
export const responseRows: readonly Row[] = [
  {
    title: 'Latency',
    panels: [
      chart({
        title: 'Latency',
        text: 'Time from due to end, for complete 2xx responses: turnpike_request_duration_seconds. Interpolated within buckets; the report has exact percentiles.',
        unit: 's',
        queries: quantiles('turnpike_request_duration_seconds'),
      }),
      heatmap({
        title: 'Latency distribution',
        text: 'Complete 2xx responses by latency: turnpike_request_duration_seconds_bucket.',
        unit: 's',
        queries: [
          {
            expr: `sum by (le) (increase(${ofCalls('turnpike_request_duration_seconds_bucket')}[$__rate_interval]))`,
            legend: '{{le}}',
            format: 'heatmap',
          },
        ],
      }),
      chart({
        title: 'Latency p95 by call',
        text: 'Time from due to end, for complete 2xx responses: turnpike_request_duration_seconds.',
        unit: 's',
        queries: [series(quantile(0.95, 'turnpike_request_duration_seconds', 'call'), '{{call}}')],
      }),
      chart({
        title: 'Service time',
        text: 'Time from sent to end, for complete 2xx responses: turnpike_service_time_seconds. Latency minus service time is the delay of the harness.',
        unit: 's',
        queries: quantiles('turnpike_service_time_seconds'),
      }),
    ],
  },
  {
    title: 'Streams',
    panels: [
      chart({
        title: 'Time to first token',
        text: 'Time from sent to first token: turnpike_ttft_seconds.',
        unit: 's',
        queries: quantiles('turnpike_ttft_seconds'),
        width: 8,
      }),
      chart({
        title: 'Inter-token latency',
        text: 'Gaps between tokens, for streams with one token per chunk (turnpike_inter_token_seconds), and gaps between chunks (turnpike_inter_chunk_seconds).',
        unit: 's',
        queries: [
          ...quantiles('turnpike_inter_token_seconds'),
          series(quantile(0.95, 'turnpike_inter_chunk_seconds'), 'chunks p95'),
        ],
        width: 8,
      }),
      chart({
        title: 'Time per output token',
        text: 'Mean time per token of a stream after its first token: turnpike_time_per_output_token_seconds.',
        unit: 's',
        queries: quantiles('turnpike_time_per_output_token_seconds'),
        width: 8,
      }),
    ],
  },
  {
    title: 'Responses',
    panels: [
      stacked({
        title: 'Responses by status',
        text: 'Requests per second by status class: turnpike_requests_total. The class none is for requests without a complete response.',
        unit: 'reqps',
        queries: [series(`sum by (status_class) (${rate(requests)})`, '{{status_class}}')],
      }),
      chart({
        title: 'Unsuccessful by call',
        text: 'Ratio of requests without a complete 2xx response: turnpike_requests_total.',
        unit: 'percentunit',
        queries: [series(ratio(unsuccessful, requests, ' by (call)'), '{{call}}')],
      }),
      grid({
        title: 'Thresholds',
        text: '1 is met so far, 0 is crossed: turnpike_threshold_ok. Inconclusive thresholds are not shown.',
        unit: 'short',
        queries: [table(ofRun('turnpike_threshold_ok'), 'met')],
        width: 12,
        noValue: 'None is conclusive',
      }),
      grid({
        title: 'Violated clauses',
        text: 'Violations so far, by clause: turnpike_violations_total.',
        unit: 'short',
        queries: [table(`${ofRun('turnpike_violations_total')} > 0`, 'violations')],
        width: 12,
        noValue: 'None so far',
      }),
    ],
  },
]
