import { answerRows } from './answer-rows.ts'
import type { Board } from './board.ts'
import { capacityRow } from './capacity-row.ts'
import { harnessRow } from './harness-row.ts'
import { alarm, chart, name, stacked, stat } from './panels.ts'
import { ofCalls, ofRun, quantile, rate, ratio, series } from './queries.ts'

const requests = ofCalls('turnpike_requests_total')
const unsuccessful = ofCalls('turnpike_requests_total', 'status_class!="2xx"')

const heldAgainst = [
  `sum(${ofRun('turnpike_violations_total')} > bool 0)`,
  `(sum(${ofRun('turnpike_discrepancies')}) or vector(0))`,
  `(sum(1 - ${ofRun('turnpike_threshold_ok')}) or vector(0))`,
].join(' + ')

export const runBoard: Board = {
  uid: 'turnpike-run',
  title: 'Turnpike: run',
  question: 'Does the service keep up, and does the harness? What is held against the service so far?',
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
            title: 'Held against the service',
            text: 'Clauses violated, discrepancies and thresholds crossed so far: with any of them the run would fail now. From turnpike_violations_total, turnpike_discrepancies and turnpike_threshold_ok. The verdict itself is in the report.',
            unit: 'short',
            queries: [series(heldAgainst, 'held against it')],
            silence: 'No run',
          },
          'Nothing so far',
        ),
        name({
          title: 'Scenario',
          text: 'What is carried out: turnpike_run_info.',
          unit: 'short',
          queries: [series(ofRun('turnpike_run_info'), '{{scenario}} {{run_id}}')],
          width: 8,
          silence: 'No run',
        }),
        name({
          title: 'Stage',
          text: 'The stage that is under way: turnpike_stage_info. (opening) and (closing) are the statements of the balances.',
          unit: 'short',
          queries: [series(ofRun('turnpike_stage_info'), '{{stage}}')],
          silence: 'No run',
        }),
        stat({
          title: 'Requests a second',
          text: 'Sent, whatever came of it: the rate of turnpike_requests_total.',
          unit: 'reqps',
          queries: [series(`sum(${rate(requests)})`, 'requests')],
        }),
        stat({
          title: 'Unsuccessful',
          text: 'What was no complete 2xx answer, refusals that are right among them, of all that was sent: turnpike_requests_total.',
          unit: 'percentunit',
          queries: [series(ratio(unsuccessful, requests), 'unsuccessful')],
        }),
        stat({
          title: 'Latency p95',
          text: 'From due to end, of complete 2xx answers: turnpike_request_duration_seconds.',
          unit: 's',
          queries: [series(quantile(0.95, 'turnpike_request_duration_seconds'), 'p95')],
        }),
        stat({
          title: 'Time to first token p95',
          text: 'From send to first token of streams: turnpike_ttft_seconds.',
          unit: 's',
          queries: [series(quantile(0.95, 'turnpike_ttft_seconds'), 'p95')],
        }),
        stat({
          title: 'Output tokens a second',
          text: 'Of complete 2xx answers, as the service counts them: the rate of turnpike_output_tokens_total.',
          unit: 'short',
          queries: [series(`sum(${rate(ofCalls('turnpike_output_tokens_total'))})`, 'tokens')],
        }),
        stat({
          title: 'In flight',
          text: 'Sent and not ended: turnpike_in_flight.',
          unit: 'short',
          queries: [series(`sum(${ofRun('turnpike_in_flight')})`, 'in flight')],
          silence: 'No run',
        }),
        alarm(
          {
            title: 'Dropped',
            text: 'Arrivals that were due and never sent: turnpike_arrivals_dropped_total.',
            unit: 'short',
            queries: [series(`sum(${ofCalls('turnpike_arrivals_dropped_total')})`, 'dropped')],
          },
          'None',
        ),
        alarm(
          {
            title: 'Unreachable',
            text: 'Runs that Prometheus is told of and cannot scrape: up. A run that has ended is one.',
            unit: 'short',
            queries: [series('sum(1 - up{job=~"$job"})', 'unreachable')],
            silence: 'No run',
          },
          'None',
        ),
      ],
    },
    {
      title: 'Load',
      panels: [
        chart({
          title: 'Offered against achieved',
          text: 'Arrivals that are due each second (turnpike_offered_rate; none in a closed stage), complete answers (turnpike_requests_total) and good ones, which met every SLO (turnpike_good_responses_total).',
          unit: 'reqps',
          queries: [
            series(`sum(${ofRun('turnpike_offered_rate')})`, 'offered'),
            series(`sum(${rate(ofCalls('turnpike_requests_total', 'outcome="answered"'))})`, 'answered'),
            series(`sum(${rate(ofCalls('turnpike_good_responses_total'))})`, 'good'),
          ],
        }),
        chart({
          title: 'In flight',
          text: 'Sent and not ended: turnpike_in_flight. It grows without end where the service cannot keep up.',
          unit: 'short',
          queries: [series(ofRun('turnpike_in_flight'), '{{instance}}')],
        }),
        stacked({
          title: 'Requests by call',
          text: 'Sent each second: turnpike_requests_total.',
          unit: 'reqps',
          queries: [series(`sum by (call) (${rate(requests)})`, '{{call}}')],
        }),
        chart({
          title: 'Dropped arrivals',
          text: 'Due each second and never sent: turnpike_arrivals_dropped_total.',
          unit: 'reqps',
          queries: [series(`sum by (call) (${rate(ofCalls('turnpike_arrivals_dropped_total'))})`, '{{call}}')],
        }),
      ],
    },
    capacityRow,
    ...answerRows,
    harnessRow,
  ],
}
