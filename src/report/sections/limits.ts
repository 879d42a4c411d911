import type { Series } from '../../judge/metrics/series.ts'
import { count, formatDuration, NO_VALUE } from '../../lib/format.ts'
import { type Block, type Content, chart, code, type Lane, type Row, right, toned } from '../blocks.ts'
import type { Report } from '../document.ts'
import { endOf, isOfClauses } from './load.ts'

type LimitUse = Report['limits'][number]
type LimitLane = Series['limits'][number]

/** The judge whose findings cite unexpected refusals. */
const limiter = 'rate-limits'

/** The limits of each scope over all callers, and the windows of each caller. */
export function limitsSection(report: Report): readonly Block[] {
  const { limits, series, clauses, plan } = report
  const ofLimits = clauses.filter(({ id }) => id.startsWith('limit.'))
  const isUnlimited =
    (ofLimits.length > 0 || isOfClauses(plan)) && ofLimits.every(({ verdict }) => verdict === 'not-promised')
  if (limits.length === 0 || isUnlimited) return []
  const keyOf = ({ scope, tier, windowMs }: LimitUse) => JSON.stringify([scope, tier, windowMs])
  const scopes = [...new Set(limits.map(keyOf))].map(key => limits.filter(use => keyOf(use) === key))
  return [
    { kind: 'heading', id: 'limits', text: 'Limits' },
    {
      kind: 'table',
      folds: true,
      columns: [
        { title: 'scope', wraps: true },
        { title: 'tier', wraps: true },
        right('callers'),
        right('limit'),
        ...['accepted', '429', 'unexpected 429', 'missing 429'].map(right),
      ],
      rows: scopes.map(scopeRow),
    },
    ...(series === null ? [] : windows(report, series)),
  ]
}

function scopeRow(uses: readonly LimitUse[]): Row {
  const sum = (of: (use: LimitUse) => number) => uses.reduce((total, use) => total + of(use), 0)
  /** A count of 0 stands only where all were counted. */
  const suspicious = (of: (use: LimitUse) => number | null): Content => {
    const times = sum(use => of(use) ?? 0)
    if (times > 0) return toned('bad', count(times))
    return uses.some(use => of(use) === null) ? NO_VALUE : count(times)
  }
  const [first] = uses
  return {
    cells: [
      code(first?.scope ?? ''),
      first?.tier ?? '',
      count(new Set(uses.map(({ caller }) => caller)).size),
      allowed(uses),
      count(sum(use => use.accepted)),
      count(sum(use => use.rejected)),
      suspicious(use => use.unexpected429),
      suspicious(use => use.missing429),
    ],
  }
}

/** `50 per 1m00s`; a range if the responses stated different limits. */
function allowed(uses: readonly LimitUse[]): string {
  const limits = uses.map(use => use.limit).filter(value => value !== null)
  if (limits.length === 0) return NO_VALUE
  const [low, high] = [Math.min(...limits), Math.max(...limits)]
  return `${low === high ? count(low) : `${count(low)} to ${count(high)}`} per ${formatDuration(uses[0]?.windowMs ?? null)}`
}

function windows({ limits, findings }: Report, series: Series): readonly Block[] {
  const shown = series.limits.filter(({ limit, refusedMs }) => limit !== null || refusedMs.length > 0)
  if (shown.length === 0) return []
  const cited = findings.filter(({ judge }) => judge === limiter).flatMap(({ examples }) => examples)
  const unexpected = new Set(cited.flatMap(({ requestIds }) => requestIds))
  const left = limits.length > shown.length ? `; the ${shown.length} busiest of ${limits.length}` : ''
  return [
    chart({
      draw: 'lanes',
      title: 'Windows of each caller',
      note: `usage as the responses state it; each line is a 429; those certainly unexpected are red${left}`,
      axis: { scale: 'time', from: 0, to: endOf(series) },
      height: 30,
      lanes: shown.map(lane => {
        const use = limits.find(({ caller, scope }) => caller === lane.caller && scope === lane.scope)
        return callerLane(lane, use, unexpected, series)
      }),
    }),
  ]
}

function callerLane(
  { caller, scope, limit, used, refusedMs, refusedIds }: LimitLane,
  use: LimitUse | undefined,
  cited: ReadonlySet<number>,
  series: Series,
): Lane {
  const { stepMs } = series
  const unexpected = use?.unexpected429 ?? 0
  const peak = Math.max(0, ...used.map(value => value ?? 0))
  const max = Math.max(1, limit ?? 0, peak)
  // Usage lasts until its window ends, even if no later response states it.
  let last = { value: 0, column: Number.NEGATIVE_INFINITY }
  const held = used.map((value, column) => {
    if (value !== null) last = { value, column }
    return value === null && (column - last.column) * stepMs <= (use?.windowMs ?? 0) ? last.value / max : 0
  })
  const isUnexpected = (id: number) => cited.has(id) || (unexpected > 0 && unexpected === use?.rejected)
  const refusals = refusedMs.length === 0 ? '' : `, ${refusedMs.length} × 429`
  return {
    name: [`${caller} `, toned('quiet', scope)],
    label: `Use of ${scope} by ${caller}`,
    end: [
      `${peak} of ${limit ?? NO_VALUE}${refusals}`,
      ...(unexpected === 0 ? [] : [', ', toned('bad', `${unexpected} unexpected`)]),
    ],
    marks: [
      { mark: 'shade', from: 0, to: endOf(series) },
      { mark: 'bars', step: stepMs, shares: held, isPale: true },
      { mark: 'bars', step: stepMs, shares: used.map(value => (value ?? 0) / max), isPale: false },
      ...refusedMs.map((ms, index) => {
        const id = refusedIds[index] ?? -1
        const text = `429 to request ${id} at ${formatDuration(ms)}`
        return { mark: 'refusal', at: ms, isUnexpected: isUnexpected(id), text } as const
      }),
    ],
  }
}
