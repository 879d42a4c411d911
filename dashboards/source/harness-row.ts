import type { Row } from './board.ts'
import { chart } from './panels.ts'
import { ofRun, quantiles, rate, series } from './queries.ts'

/** Whether the harness is the bottleneck. */
export const harnessRow: Row = {
  title: 'Harness',
  panels: [
    chart({
      title: 'Lateness',
      text: 'Time from due to sent, for every request: turnpike_lateness_seconds. The harness causes it. If it is large, thresholds on time are inconclusive.',
      unit: 's',
      queries: quantiles('turnpike_lateness_seconds'),
      width: 8,
    }),
    chart({
      title: 'Event loop delay',
      text: 'How long the harness stalled, since the last scrape: nodejs_eventloop_lag_p99_seconds and nodejs_eventloop_lag_max_seconds.',
      unit: 's',
      queries: [
        series(`${ofRun('nodejs_eventloop_lag_p99_seconds')} >= 0`, 'p99 {{instance}}'),
        series(`${ofRun('nodejs_eventloop_lag_max_seconds')} >= 0`, 'max {{instance}}'),
      ],
      width: 8,
    }),
    chart({
      title: 'CPU',
      text: 'CPU cores in use: the rate of process_cpu_seconds_total. Near 100 %, the harness is at its limit.',
      unit: 'percentunit',
      queries: [series(rate(ofRun('process_cpu_seconds_total')), '{{instance}}')],
      width: 8,
    }),
    chart({
      title: 'Memory',
      text: 'Resident memory: process_resident_memory_bytes.',
      unit: 'bytes',
      queries: [series(ofRun('process_resident_memory_bytes'), '{{instance}}')],
      width: 8,
    }),
    chart({
      title: 'Scrape duration',
      text: 'Duration of each scrape: scrape_duration_seconds.',
      unit: 's',
      queries: [series(ofRun('scrape_duration_seconds'), '{{instance}}')],
      width: 8,
    }),
    chart({
      title: 'Label overflow',
      text: 'Calls and callers without series of their own, which share (other): turnpike_label_overflow.',
      unit: 'short',
      queries: [series(`sum by (label) (${ofRun('turnpike_label_overflow')})`, '{{label}}')],
      width: 8,
    }),
  ],
}
