import { count, formatDuration, plural } from '../../lib/format.ts'
import { type Block, right, toned } from '../blocks.ts'
import type { PlanFacts, Report } from '../document.ts'

/** What the run was to send. */
export function planSection({ plan }: Report): readonly Block[] {
  if (plan === null) return []
  const { callers, budgetUsd, forecast, stages, calls } = plan
  const slos = calls.flatMap(({ call, slo }) =>
    Object.entries(slo).map(([timing, ms]) => `${call} ${timing} ≤ ${formatDuration(ms)}`),
  )
  const cost = forecast.worstUsd === null ? 'of unknown cost' : `$${forecast.worstUsd} at worst`
  const facts = {
    callers: `${count(callers.count)} of tier ${callers.tier}${callers.shared ? ', shared with others' : ''}`,
    forecast: `${count(forecast.requests)} requests, ${count(forecast.credits)} credits, ${cost}`,
    budget: budgetUsd === null ? 'none' : `$${budgetUsd}`,
    calls: callNames(calls),
    'a good answer': slos.length === 0 ? 'a complete 2xx answer' : slos.join(', '),
  }
  return [
    { kind: 'heading', id: 'plan', text: { html: 'The plan' } },
    {
      kind: 'table',
      in: ['html'],
      folds: true,
      columns: [{ title: 'stage' }, right('from'), right('lasts'), right('callers'), { title: 'load', wraps: true }],
      rows: stages.map(stage => ({
        cells: [
          toned('strong', stage.name),
          stage.startMs === 0 ? '0' : formatDuration(stage.startMs),
          formatDuration(stage.durationMs),
          count(stage.callers),
          stage.load,
        ],
      })),
    },
    { kind: 'list', in: ['html'], look: 'terms', terms: Object.keys(facts), items: Object.values(facts) },
  ]
}

/** Probes by number alone: there may be dozens. */
function callNames(calls: PlanFacts['calls']): string {
  const probes = calls.filter(({ kind }) => kind === 'probe').length
  const named = calls
    .filter(({ kind }) => kind !== 'probe')
    .map(({ call, kind }) => (call === kind ? call : `${call} (${kind})`))
  return [...named, ...(probes === 0 ? [] : [plural(probes, 'probe')])].join(', ')
}
