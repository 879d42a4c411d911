import type { Row } from './board.ts'
import { chart } from './panels.ts'
import { ofRun, quantiles, rate, series } from './queries.ts'

/** Whether the harness is the bottleneck. */
export const harnessRow: Row = {
  title: 'The harness itself',
  panels: [
    chart({
      title: 'Lateness',
      text: 'From due to send, of everything sent: turnpike_lateness_seconds. It is the fault of the harness; bounds on time are inconclusive when it is large.',
      unit: 's',
      queries: quantiles('turnpike_lateness_seconds'),
      width: 8,
    }),
    chart({
      title: 'Event loop delay',
      text: 'How long the harness was deaf: nodejs_eventloop_lag_p99_seconds and nodejs_eventloop_lag_max_seconds, since the last scrape.',
      unit: 's',
      queries: [
        series(`${ofRun('nodejs_eventloop_lag_p99_seconds')} >= 0`, 'p99 {{instance}}'),
        series(`${ofRun('nodejs_eventloop_lag_max_seconds')} >= 0`, 'max {{instance}}'),
      ],
      width: 8,
    }),
    chart({
      title: 'Processor',
      text: 'Cores in use: the rate of process_cpu_seconds_total. Near one, the harness is at its end.',
      unit: 'percentunit',
      queries: [series(rate(ofRun('process_cpu_seconds_total')), '{{instance}}')],
      width: 8,
    }),
    chart({
      title: 'Memory',
      text: 'Resident: process_resident_memory_bytes.',
      unit: 'bytes',
      queries: [series(ofRun('process_resident_memory_bytes'), '{{instance}}')],
      width: 8,
    }),
    chart({
      title: 'What watching costs',
      text: 'Time that a scrape takes: scrape_duration_seconds.',
      unit: 's',
      queries: [series(ofRun('scrape_duration_seconds'), '{{instance}}')],
      width: 8,
    }),
    chart({
      title: 'Values that share a series',
      text: 'Calls and callers beyond those that are shown by name: turnpike_label_overflow.',
      unit: 'short',
      queries: [series(`sum by (label) (${ofRun('turnpike_label_overflow')})`, '{{label}}')],
      width: 8,
    }),
  ],
}
