import { formatRatio, plural } from '../lib/format.ts'
import type { ComparedRow, Comparison, Criteria, Effect, Outcome } from './comparison.ts'

/** Sentences of one sort; the rest is in the rows. */
const mostSentences = 10

/**
 * A single row that has regressed is a regression. Nothing is established where of some call no time can be told at all:
 * that one row or another cannot be told, such as a p99 of few values, is in the nature of rows.
 */
export function concludeComparison(
  rows: readonly ComparedRow[],
  criteria: Criteria,
  baselines: { readonly used: number; readonly leftOut: number },
  isComplete: boolean,
): Pick<Comparison, 'verdict' | 'because'> {
  const aside =
    baselines.leftOut === 0
      ? []
      : [
          `${plural(baselines.leftOut, 'baseline')} proved nothing and ${baselines.leftOut === 1 ? 'was' : 'were'} left out.`,
        ]
  const changed = (verdict: Outcome) =>
    sentences(
      rows.filter(row => row.verdict === verdict),
      verdict,
    )
  const regressions = changed('regressed')
  if (regressions.length > 0) return { verdict: 'regressed', because: [...regressions, ...aside] }
  if (!isComplete) return { verdict: 'cannot-tell', because: ['The run did not end by itself.', ...aside] }
  const untold = untoldCalls(rows)
  if (untold.length > 0) return { verdict: 'cannot-tell', because: [...untold, ...aside] }
  if (rows.length === 0) return { verdict: 'cannot-tell', because: ['There is nothing to compare.', ...aside] }
  const improvements = changed('improved')
  if (improvements.length > 0) return { verdict: 'improved', because: [...improvements, ...aside] }
  const same = rows.filter(({ verdict }) => verdict === 'unchanged').length
  const most = formatRatio(2 * criteria.minimalEffect)
  const against = plural(baselines.used, 'baseline')
  return {
    verdict: 'unchanged',
    because: [`Against ${against} ${same} of ${plural(rows.length, 'number')} are not worse by ${most}.`, ...aside],
  }
}

function sentences(rows: readonly ComparedRow[], verdict: Outcome): readonly string[] {
  const cells = new Map<string, ComparedRow[]>()
  for (const row of rows) {
    const cell = `${row.call} in ${row.stage}`
    cells.set(cell, [...(cells.get(cell) ?? []), row])
  }
  const all = [...cells].map(
    ([cell, ofCell]) =>
      `${cell} ${verdict}: ${ofCell.map(row => `${row.measure}${shownEffect(row.effect)}`).join(', ')}.`,
  )
  return all.length <= mostSentences
    ? all
    : [...all.slice(0, mostSentences), `${plural(all.length - mostSentences, 'more call')} ${verdict}.`]
}

const shownEffect = (effect: Effect | null): string => (effect === null ? '' : ` ${signed(effect.value, effect.kind)}`)

/** `+9.8 %`, or `-1.25 points` between ratios. */
export const signed = (value: number, kind: Effect['kind']): string =>
  `${signedNumber(value, kind)} ${kind === 'relative' ? '%' : 'points'}`

/** The same without its unit. */
export function signedNumber(value: number, kind: Effect['kind']): string {
  const shown = Number((value * 100).toFixed(kind === 'relative' ? 1 : 2))
  return shown === 0 ? '±0' : `${shown < 0 ? '' : '+'}${shown}`
}

/**
 * Calls of which no time can be told in any stage. One that is too rare for any percentile is not missed, unless it was
 * common before.
 */
function untoldCalls(rows: readonly ComparedRow[]): readonly string[] {
  const times = rows.filter(({ unit }) => unit === 'ms')
  const calls = [...new Set(times.map(({ call }) => call))]
  const untold = calls.flatMap(call => {
    const ofCall = times.filter(row => row.call === call && row.base !== null)
    if (ofCall.some(({ verdict }) => verdict !== 'cannot-tell')) return []
    const [best] = ofCall.toSorted((a, b) => width(a) - width(b))
    if (best === undefined) return []
    return [`Of ${call} no time can be told. ${best.measure} in ${best.stage}: ${best.because}.`]
  })
  if (untold.length > 0 || times.length === 0 || times.some(({ base }) => base !== null)) return untold
  return ['There are too few values to compare any time.']
}

const width = ({ effect }: ComparedRow): number =>
  effect === null ? Number.POSITIVE_INFINITY : effect.high - effect.low
