import type { Row } from './board.ts'
import { chart, grid, heatmap, stacked } from './panels.ts'
import { ofCalls, ofRun, quantile, quantiles, rate, ratio, series, table } from './queries.ts'

const requests = ofCalls('turnpike_requests_total')
const unsuccessful = ofCalls('turnpike_requests_total', 'status_class!="2xx"')

/** How the service fares: how long answers take, how streams flow, what was answered. */
export const answerRows: readonly Row[] = [
  {
    title: 'Latency',
    panels: [
      chart({
        title: 'Latency',
        text: 'From due to end, of complete 2xx answers: turnpike_request_duration_seconds. Interpolated in buckets; the report has the exact ones.',
        unit: 's',
        queries: quantiles('turnpike_request_duration_seconds'),
      }),
      heatmap({
        title: 'Latency, every answer',
        text: 'Answers by their latency: turnpike_request_duration_seconds_bucket.',
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
        text: 'From due to end, of complete 2xx answers: turnpike_request_duration_seconds.',
        unit: 's',
        queries: [series(quantile(0.95, 'turnpike_request_duration_seconds', 'call'), '{{call}}')],
      }),
      chart({
        title: 'Service time',
        text: 'From send to end, of complete 2xx answers: turnpike_service_time_seconds. What latency has beyond it is the delay of the harness.',
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
        text: 'From send to first token: turnpike_ttft_seconds.',
        unit: 's',
        queries: quantiles('turnpike_ttft_seconds'),
        width: 8,
      }),
      chart({
        title: 'Between tokens',
        text: 'Gaps between tokens where each chunk held one (turnpike_inter_token_seconds), and between chunks (turnpike_inter_chunk_seconds).',
        unit: 's',
        queries: [
          ...quantiles('turnpike_inter_token_seconds'),
          series(quantile(0.95, 'turnpike_inter_chunk_seconds'), 'chunks p95'),
        ],
        width: 8,
      }),
      chart({
        title: 'Time per output token',
        text: 'The pace of a stream after its first token: turnpike_time_per_output_token_seconds.',
        unit: 's',
        queries: quantiles('turnpike_time_per_output_token_seconds'),
        width: 8,
      }),
    ],
  },
  {
    title: 'Answers',
    panels: [
      stacked({
        title: 'Answers by status',
        text: 'Each second; none is a request without a complete answer: turnpike_requests_total.',
        unit: 'reqps',
        queries: [series(`sum by (status_class) (${rate(requests)})`, '{{status_class}}')],
      }),
      chart({
        title: 'Unsuccessful by call',
        text: 'What was no complete 2xx answer, of all that was sent: turnpike_requests_total.',
        unit: 'percentunit',
        queries: [series(ratio(unsuccessful, requests, ' by (call)'), '{{call}}')],
      }),
      grid({
        title: 'Thresholds',
        text: '1 holds so far, 0 is crossed; one that is not established is not shown: turnpike_threshold_ok.',
        unit: 'short',
        queries: [table(ofRun('turnpike_threshold_ok'), 'holds')],
        width: 12,
        silence: 'None is established',
      }),
      grid({
        title: 'Clauses violated',
        text: 'How often so far: turnpike_violations_total.',
        unit: 'short',
        queries: [table(`${ofRun('turnpike_violations_total')} > 0`, 'violations')],
        width: 12,
        silence: 'None so far',
      }),
    ],
  },
]
