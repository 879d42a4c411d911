import type { Row } from './board.ts'
import { chart, name, stacked, stat } from './panels.ts'
import { ofRun, series } from './queries.ts'

const silence = 'No search'
const ofStages = (metric: string) => ofRun(metric, 'stage=~"$stage"')

/** How a search for the capacity of the target goes on. Few runs have one, so the row is folded. */
export const capacityRow: Row = {
  title: 'Capacity search',
  isFolded: true,
  panels: [
    stat({
      title: 'Capacity',
      text: 'Arrivals a second that were confirmed: turnpike_capacity_rate. There is none until a search has come to its end.',
      unit: 'reqps',
      queries: [series(ofStages('turnpike_capacity_rate'), '{{stage}}')],
      width: 8,
      silence: 'Not confirmed',
    }),
    name({
      title: 'What it does',
      text: 'Raises the rate, narrows what it found, or confirms it: turnpike_capacity_trial_info.',
      unit: 'short',
      queries: [series(ofStages('turnpike_capacity_trial_info'), '{{stage}}: {{purpose}}')],
      width: 8,
      silence,
    }),
    stat({
      title: 'Good in this trial',
      text: 'Good answers of all that was due in the latest trial: turnpike_capacity_trial_good_ratio.',
      unit: 'percentunit',
      queries: [series(ofStages('turnpike_capacity_trial_good_ratio'), '{{stage}}')],
      width: 8,
      silence,
    }),
    chart({
      title: 'Rates that were tried',
      text: 'Arrivals a second of the latest trial (turnpike_capacity_trial_rate), between the highest that held (turnpike_capacity_sustained_rate) and the lowest that broke (turnpike_capacity_exceeded_rate); and what was confirmed in the end (turnpike_capacity_rate).',
      unit: 'reqps',
      queries: [
        series(ofStages('turnpike_capacity_trial_rate'), '{{stage}}: tried'),
        series(ofStages('turnpike_capacity_sustained_rate'), '{{stage}}: held'),
        series(ofStages('turnpike_capacity_exceeded_rate'), '{{stage}}: broke'),
        series(ofStages('turnpike_capacity_rate'), '{{stage}}: confirmed'),
      ],
      silence,
    }),
    stacked({
      title: 'Trials by what came of them',
      text: 'Trials that are over: turnpike_capacity_trials. With harness-late, harness-full, rate-limited, blocked or failure-limit nothing was learnt of the target.',
      unit: 'short',
      queries: [series(`sum by (outcome) (${ofStages('turnpike_capacity_trials')})`, '{{outcome}}')],
      silence,
    }),
  ],
}
