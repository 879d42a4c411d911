import type { Series } from '../../judge/metrics/series.ts'
import { count, formatDuration, plural, threeDigits } from '../../lib/format.ts'
import { describeFewerKeys, describeOnly } from '../../plan/describe-plan.ts'
import { isProbe } from '../../plan/plan.ts'
import { type Block, type Curve, chart, code, right, type StageBand, toned } from '../blocks.ts'
import type { PlanFacts, Report, TrialResult } from '../document.ts'

/** The load that the run was to send. */
export function planSection({ plan }: Report): readonly Block[] {
  if (plan === null) return []
  const { only, fewerKeys, callers, budgetUsd, isBudgetUnlimited, forecast, stages, calls } = plan
  const slos = calls.flatMap(({ call, slo }) =>
    Object.entries(slo).map(([timing, ms]) => `${call} ${timing} ≤ ${formatDuration(ms)}`),
  )
  const cost = forecast.worstUsd === null ? 'unknown cost' : `at most $${forecast.worstUsd}`
  const facts = {
    ...(only !== null && { only: describeOnly(only) }),
    ...(fewerKeys !== null && { keys: describeFewerKeys(fewerKeys) }),
    callers: `${count(callers.count)} of tier ${callers.tier}${callers.shared ? ', shared with others' : ''}`,
    forecast: `${count(forecast.requests)} requests, ${count(forecast.credits)} credits, ${cost}`,
    budget: budgetUsd === null ? (isBudgetUnlimited ? 'unlimited' : 'none') : `$${budgetUsd}`,
    calls: callNames(calls),
    'a good response': slos.length === 0 ? 'a complete 2xx response' : slos.join(', '),
  }
  return [
    { kind: 'heading', id: 'plan', text: { html: 'Plan' } },
    {
      kind: 'table',
      in: ['html'],
      folds: true,
      columns: [{ title: 'stage' }, right('from'), right('duration'), right('callers'), { title: 'load', wraps: true }],
      rows: stages.map(stage => ({
        cells: [
          toned('strong', stage.name),
          stage.startMs === 0 ? '0' : formatDuration(stage.startMs),
          formatDuration(stage.durationMs),
          count(stage.callers),
          stage.isWarmUp ? `${stage.load} (warm-up)` : stage.load,
        ],
      })),
    },
    { kind: 'list', in: ['html'], look: 'terms', terms: Object.keys(facts), items: Object.values(facts) },
  ]
}

/** The values that the run used, and who stated them. Those that differ from the document are listed in every medium. */
export function valuesSection({ plan }: Report): readonly Block[] {
  const values = plan?.values ?? []
  const differing = values.filter(({ differs }) => differs !== null)
  if (values.length === 0) return []
  return [
    {
      kind: 'details',
      in: ['html', 'markdown'],
      summary: 'Values, and who stated them',
      blocks: [
        {
          kind: 'table',
          columns: [{ title: 'value' }, { title: '', wraps: true }, { title: 'source' }, { title: 'instead of' }],
          rows: values.map(({ name, text, source, differs }) => ({ cells: [code(name), text, source, differs ?? ''] })),
        },
      ],
    },
    ...(differing.length === 0
      ? []
      : [
          {
            kind: 'text',
            text: `The target states other values than the document or the profile: ${differing
              .map(({ name, text, differs }) => `${name} is ${text} instead of ${differs}`)
              .join(', ')}.`,
          } as const,
        ]),
  ]
}

/** Whether --only selected clauses. Then the others are not listed, and were not judged. */
export const isOfClauses = (plan: Report['plan']): boolean => plan?.only?.clauses != null

/** Probes are only counted, because there may be dozens. */
function callNames(calls: PlanFacts['calls']): string {
  const probes = calls.filter(isProbe).length
  const named = calls
    .filter(call => !isProbe(call))
    .map(({ call, kind }) => (call === kind ? call : `${call} (${kind})`))
  return [...named, ...(probes === 0 ? [] : [plural(probes, 'probe')])].join(', ')
}

/** Where charts over time end: at the end of the last column. */
export const endOf = ({ stepMs, due }: Series): number => Math.max(1, due.length) * stepMs

/** The stages under a chart over time: the warm-up, and the phases of a search, as far as its trials have times. */
export function bandsOf({ series, plan, capacity }: Report): readonly StageBand[] {
  return (series?.stages ?? []).flatMap((stage): readonly StageBand[] => {
    const phases = phasesOf(stage, capacity.find(search => search.stage === stage.name)?.trials ?? [])
    if (phases.length > 0) return phases
    const isWarmUp = plan?.stages.some(({ name, isWarmUp }) => name === stage.name && isWarmUp)
    return isWarmUp ? [{ ...stage, role: 'warm-up' }] : [stage]
  })
}

/** Neighboring trials with the same purpose are one phase, which lasts until the next one. */
function phasesOf(stage: StageBand, trials: readonly TrialResult[]): readonly StageBand[] {
  const timed = trials.filter(({ startMs }) => startMs !== null)
  const firsts = timed.filter(({ purpose }, index) => purpose !== timed[index - 1]?.purpose)
  return firsts.map(({ purpose, startMs }, index) => ({
    name: purpose,
    startMs: index === 0 ? stage.startMs : (startMs ?? 0),
    endMs: firsts[index + 1]?.startMs ?? timed.at(-1)?.endMs ?? stage.endMs,
    ...(purpose === 'confirm' ? { role: 'confirmation' } : {}),
  }))
}

/** At the width of a page, more points would be noise. */
const maxPoints = 150

/** Joins neighboring columns if there are more than `maxPoints`. */
export function coarsely(
  { stepMs }: Series,
  values: readonly number[],
  join: (part: readonly number[]) => number,
): Pick<Curve, 'stepMs' | 'values'> {
  const across = Math.max(1, Math.ceil(values.length / maxPoints))
  const points = Array.from({ length: Math.ceil(values.length / across) }, (_, point) => point * across)
  return { stepMs: stepMs * across, values: points.map(from => join(values.slice(from, from + across))) }
}

/** The offered and the achieved rate, and the requests in flight. */
export function loadSection(report: Report): readonly Block[] {
  const { series } = report
  if (series === null) return []
  const { stepMs, due, answered, refused, failed, dropped } = series
  const rate = (values: readonly number[]) =>
    coarsely(series, values, part => (part.reduce((sum, value) => sum + value, 0) * 1_000) / (part.length * stepMs))
  const optional = [
    { name: 'refused with 429', color: 'amber', values: refused },
    { name: 'failed', color: 'red', values: failed },
    { name: 'dropped (never sent)', color: 'violet', values: dropped },
  ] as const
  const shared = { draw: 'time', endMs: endOf(series), stages: bandsOf(report), height: 200 } as const
  return [
    { kind: 'heading', id: 'load', text: { html: 'Load' } },
    chart({
      ...shared,
      title: 'Offered and achieved rate',
      note: 'requests per second: offered by due time, achieved by response time',
      format: value => `${threeDigits(value)}/s`,
      silence: 'Nothing was due.',
      curves: [
        { name: 'offered', color: 'grey', stroke: 'dashed', ...rate(due) },
        { name: 'achieved', color: 'blue', filled: true, ...rate(answered) },
        ...optional
          .filter(({ values }) => values.some(value => value > 0))
          .map(({ name, color, values }) => ({ name, color, ...rate(values) })),
      ],
    }),
    chart({
      ...shared,
      title: 'In flight',
      note: 'sent and not ended, at the end of each step; the maximum of joined steps',
      format: count,
      silence: 'No request was in flight at the end of any step.',
      curves: [
        {
          name: 'requests',
          color: 'teal',
          filled: true,
          atEnd: true,
          ...coarsely(series, inFlight(series), part => Math.max(...part)),
        },
      ],
    }),
  ]
}

function inFlight({ sent, answered, failed }: Series): readonly number[] {
  let flying = 0
  return sent.map((value, column) => {
    flying += value - (answered[column] ?? 0) - (failed[column] ?? 0)
    return Math.max(0, flying)
  })
}
