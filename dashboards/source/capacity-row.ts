import type { Row } from './board.ts'
import { chart, name, stacked, stat } from './panels.ts'
import { ofRun, series } from './queries.ts'

const noValue = 'No search'
const ofStages = (metric: string) => ofRun(metric, 'stage=~"$stage"')

/** The progress of a capacity search. Few runs have one, so the row is collapsed. */
export const capacityRow: Row = {
  title: 'Capacity search',
  collapsed: true,
  panels: [
    stat({
      title: 'Capacity',
      text: 'Confirmed arrivals per second: turnpike_capacity_rate. There is no value until the search is over.',
      unit: 'reqps',
      queries: [series(ofStages('turnpike_capacity_rate'), '{{stage}}')],
      width: 8,
      noValue: 'Not confirmed',
    }),
    name({
      title: 'Search phase',
      text: 'The search raises the rate, narrows the range, or confirms a rate: turnpike_capacity_trial_info.',
      unit: 'short',
      queries: [series(ofStages('turnpike_capacity_trial_info'), '{{stage}}: {{purpose}}')],
      width: 8,
      noValue,
    }),
    stat({
      title: 'Good responses in this trial',
      text: 'Ratio of good responses to arrivals due in the latest trial: turnpike_capacity_trial_good_ratio.',
      unit: 'percentunit',
      queries: [series(ofStages('turnpike_capacity_trial_good_ratio'), '{{stage}}')],
      width: 8,
      noValue,
    }),
    chart({
      title: 'Trial rates',
      text: 'Arrivals per second of the latest trial (turnpike_capacity_trial_rate), the highest rate that the target sustained (turnpike_capacity_sustained_rate), the lowest rate that exceeded its capacity (turnpike_capacity_exceeded_rate), and the confirmed rate (turnpike_capacity_rate).',
      unit: 'reqps',
      queries: [
        series(ofStages('turnpike_capacity_trial_rate'), '{{stage}}: trial'),
        series(ofStages('turnpike_capacity_sustained_rate'), '{{stage}}: sustained'),
        series(ofStages('turnpike_capacity_exceeded_rate'), '{{stage}}: exceeded'),
        series(ofStages('turnpike_capacity_rate'), '{{stage}}: confirmed'),
      ],
      noValue,
    }),
    stacked({
      title: 'Trials by outcome',
      text: 'Finished trials: turnpike_capacity_trials. The outcomes harness-late, harness-saturated, rate-limited, blocked and failure-limit show nothing about the target.',
      unit: 'short',
      queries: [series(`sum by (outcome) (${ofStages('turnpike_capacity_trials')})`, '{{outcome}}')],
      noValue,
    }),
  ],
}
