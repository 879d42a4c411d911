import type { Board } from './board.ts'
import { capacityRow } from './capacity-row.ts'
import { harnessRow } from './harness-row.ts'
import { alarm, chart, name, stacked, stat } from './panels.ts'
import { ofCalls, ofRun, quantile, rate, ratio, series } from './queries.ts'
import { responseRows } from './response-rows.ts'

const requests = ofCalls('turnpike_requests_total')
const unsuccessful = ofCalls('turnpike_requests_total', 'status_class!="2xx"')

const failures = [
  `sum(${ofRun('turnpike_violations_total')} > bool 0)`,
  `(sum(${ofRun('turnpike_discrepancies')}) or vector(0))`,
  `(sum(1 - ${ofRun('turnpike_threshold_ok')}) or vector(0))`,
].join(' + ')

export const runBoard: Board = {
  uid: 'turnpike-run',
  title: 'Turnpike: run',
  question: 'Does the service keep up, and does the harness? Would the run fail if it ended now?',
  choices: [
    ['call', 'turnpike_requests_total'],
    ['stage', 'turnpike_requests_total'],
  ],
  rows: [
    {
      title: 'So far',
      panels: [
        alarm(
          {
            title: 'Reasons to fail',
            text: 'Violated clauses, billing discrepancies and crossed thresholds so far: turnpike_violations_total, turnpike_discrepancies and turnpike_threshold_ok. With any of them the run would fail now. The verdict is in the report.',
            unit: 'short',
            queries: [series(failures, 'failures')],
            noValue: 'No run',
          },
          'None so far',
        ),
        name({
          title: 'Scenario',
          text: 'The scenario and the id of the run: turnpike_run_info.',
          unit: 'short',
          queries: [series(ofRun('turnpike_run_info'), '{{scenario}} {{run_id}}')],
          width: 8,
          noValue: 'No run',
        }),
        name({
          title: 'Stage',
          text: 'The current stage: turnpike_stage_info. (opening) and (closing) are the balance checks.',
          unit: 'short',
          queries: [series(ofRun('turnpike_stage_info'), '{{stage}}')],
          noValue: 'No run',
        }),
        stat({
          title: 'Requests per second',
          text: 'Requests sent per second, with any outcome: the rate of turnpike_requests_total.',
          unit: 'reqps',
          queries: [series(`sum(${rate(requests)})`, 'requests')],
        }),
        stat({
          title: 'Unsuccessful',
          text: 'Ratio of requests without a complete 2xx response, including correct refusals: turnpike_requests_total.',
          unit: 'percentunit',
          queries: [series(ratio(unsuccessful, requests), 'unsuccessful')],
        }),
        stat({
          title: 'Latency p95',
          text: 'Time from due to end, for complete 2xx responses: turnpike_request_duration_seconds.',
          unit: 's',
          queries: [series(quantile(0.95, 'turnpike_request_duration_seconds'), 'p95')],
        }),
        stat({
          title: 'Time to first token p95',
          text: 'Time from sent to first token of streams: turnpike_ttft_seconds.',
          unit: 's',
          queries: [series(quantile(0.95, 'turnpike_ttft_seconds'), 'p95')],
        }),
        stat({
          title: 'Output tokens per second',
          text: 'Tokens of complete 2xx responses, as the service counts them: the rate of turnpike_output_tokens_total.',
          unit: 'short',
          queries: [series(`sum(${rate(ofCalls('turnpike_output_tokens_total'))})`, 'tokens')],
        }),
        stat({
          title: 'In flight',
          text: 'Requests that were sent and have not ended: turnpike_in_flight.',
          unit: 'short',
          queries: [series(`sum(${ofRun('turnpike_in_flight')})`, 'in flight')],
          noValue: 'No run',
        }),
        alarm(
          {
            title: 'Dropped',
            text: 'Arrivals that were due but never sent: turnpike_arrivals_dropped_total.',
            unit: 'short',
            queries: [series(`sum(${ofCalls('turnpike_arrivals_dropped_total')})`, 'dropped')],
          },
          'None',
        ),
        alarm(
          {
            title: 'Unreachable',
            text: 'Configured runs that Prometheus cannot scrape: up. This includes runs that have ended.',
            unit: 'short',
            queries: [series('sum(1 - up{job=~"$job"})', 'unreachable')],
            noValue: 'No run',
          },
          'None',
        ),
      ],
    },
    {
      title: 'Load',
      panels: [
        chart({
          title: 'Offered and achieved rate',
          text: 'Per second: arrivals due (turnpike_offered_rate; no value in a closed stage), complete responses (turnpike_requests_total), and good responses, which met every SLO (turnpike_good_responses_total).',
          unit: 'reqps',
          queries: [
            series(`sum(${ofRun('turnpike_offered_rate')})`, 'offered'),
            series(`sum(${rate(ofCalls('turnpike_requests_total', 'outcome="answered"'))})`, 'answered'),
            series(`sum(${rate(ofCalls('turnpike_good_responses_total'))})`, 'good'),
          ],
        }),
        chart({
          title: 'In flight',
          text: 'Requests that were sent and have not ended: turnpike_in_flight. If the service cannot keep up, this number keeps growing.',
          unit: 'short',
          queries: [series(ofRun('turnpike_in_flight'), '{{instance}}')],
        }),
        stacked({
          title: 'Requests by call',
          text: 'Requests sent per second: turnpike_requests_total.',
          unit: 'reqps',
          queries: [series(`sum by (call) (${rate(requests)})`, '{{call}}')],
        }),
        chart({
          title: 'Dropped arrivals',
          text: 'Arrivals per second that were due but never sent: turnpike_arrivals_dropped_total.',
          unit: 'reqps',
          queries: [series(`sum by (call) (${rate(ofCalls('turnpike_arrivals_dropped_total'))})`, '{{call}}')],
        }),
      ],
    },
    capacityRow,
    ...responseRows,
    harnessRow,
  ],
}
