import { plural } from '../lib/format.ts'
import type { Report } from '../report/document.ts'

/** A clause, or a kind of discrepancy of the ledger, that at least one side violated. */
export type ComparedClause = {
  readonly name: string
  /** The sentence of the document; null: a discrepancy. */
  readonly text: string | null
  readonly old: SideOfClause
  readonly new: SideOfClause
  readonly verdict: 'worse' | 'same' | 'better' | 'cannot-tell'
}

type SideOfClause = {
  /** How often it was judged; null: a discrepancy, which the whole run shows. */
  readonly judged: number | null
  readonly violated: number
  /** The first violation, as its finding says it; null: there is none. */
  readonly message: string | null
  /** Why it was not judged; null: it was. */
  readonly because: string | null
}

/** Whatever one side violated, by how often the other did. */
export function compareClauses(old: Report, fresh: Report): readonly ComparedClause[] {
  const names = [...new Set([old, fresh].flatMap(namesIn))]
  return names.map(name => {
    const [before, now] = [sideOf(name, old), sideOf(name, fresh)]
    const text = [fresh, old].flatMap(({ findings }) => findings).find(({ clause }) => clause === name)?.text ?? null
    return { name, text, old: before, new: now, verdict: verdictOf(before, now) }
  })
}

const namesIn = ({ findings, billing }: Report): readonly string[] => [
  ...findings.map(({ clause }) => clause),
  ...billing.discrepancies.filter(({ count }) => count > 0).map(({ kind }) => kind),
]

function sideOf(name: string, { clauses, findings, billing }: Report): SideOfClause {
  const clause = clauses.find(({ id }) => id === name)
  const finding = findings.find(each => each.clause === name)
  const discrepancy = billing.discrepancies.find(({ kind }) => kind === name)
  const hidden = clause !== undefined && clause.judged === 0 && clause.because?.kind === 'not-judged'
  return {
    judged: clause?.judged ?? null,
    violated: finding?.count ?? discrepancy?.count ?? 0,
    message: finding?.message ?? discrepancy?.examples[0]?.message ?? null,
    because: hidden ? (clause.because?.text ?? null) : null,
  }
}

/** Equal rates differ by more than this many standard errors in one of 3,000 cases. */
const maxDeviations = 3.4

function verdictOf(old: SideOfClause, fresh: SideOfClause): ComparedClause['verdict'] {
  if (fresh.violated > 0 && old.violated === 0) return old.because === null ? 'worse' : 'cannot-tell'
  if (fresh.violated === 0) return 'better'
  // Both got the same requests, so that equal services violate it about equally often.
  const deviations = (fresh.violated - old.violated) / Math.sqrt(fresh.violated + old.violated)
  return deviations > maxDeviations ? 'worse' : 'same'
}

/** In one sentence. */
export function whyClause({ name, old, new: fresh, verdict }: ComparedClause): string {
  const times = ({ judged, violated }: SideOfClause) => (judged === null ? `${violated}` : `${violated} of ${judged}`)
  const said = fresh.message === null ? '' : ` ${fresh.message}`
  if (verdict === 'cannot-tell')
    return `NEW violates ${name}, and whether OLD does was not judged: ${old.because}.${said}`
  return old.violated === 0
    ? `Only NEW violates ${name} (${plural(fresh.violated, 'time')}${old.judged === null ? '' : `, OLD 0 of ${old.judged}`}).${said}`
    : `NEW violates ${name} more often: ${times(fresh)}, OLD ${times(old)}.${said}`
}

/** A limit that the sides state differently. */
export type ComparedLimit = {
  readonly scope: string
  readonly tier: string
  readonly windowMs: number
  readonly old: number
  readonly new: number
  readonly verdict: 'worse' | 'better'
  readonly text: string
}

export function compareLimits(old: Report, fresh: Report): readonly ComparedLimit[] {
  const [before, now] = [statedBy(old), statedBy(fresh)]
  return [...before].flatMap(([key, { scope, tier, windowMs, limit }]) => {
    const other = now.get(key)?.limit ?? limit
    if (other === limit) return []
    const verdict = other < limit ? 'worse' : 'better'
    const text = `The limit of ${scope} is ${other < limit ? 'lower' : 'higher'}: ${limit} in OLD, ${other} in NEW, per ${windowMs / 1000} s.`
    return [{ ...{ scope, tier, windowMs, verdict, text }, old: limit, new: other }]
  })
}

/** The limits that a run used. Callers of a tier share their number. */
function statedBy({ limits }: Report) {
  return new Map(
    limits.flatMap(({ scope, tier, windowMs, limit }) =>
      limit === null ? [] : [[`${scope} ${tier} ${windowMs}`, { scope, tier, windowMs, limit }] as const],
    ),
  )
}
