import type { JudgeName } from '../contract/clause.ts'
import { type ClauseId, type ClausesOf, clauseIds, clauses } from '../contract/clauses.ts'

/** The voice of one judge: it can speak about its own clauses only. */
export type Say<Name extends JudgeName> = {
  /** The clause was looked at and kept. */
  readonly kept: (clause: ClausesOf<Name>) => void
  /** The clause was looked at and broken. `because` says what was got and what was expected. */
  readonly broken: (clause: ClausesOf<Name>, because: string, seqs: readonly number[]) => void
}

export type ClauseTally = {
  readonly id: ClauseId
  readonly section: string
  readonly judged: number
  readonly violated: number
  readonly verdict: 'pass' | 'fail' | 'not-exercised'
}

/** All violations of one clause that one judge saw, with the first few of them. */
export type Finding = {
  readonly clause: ClauseId
  readonly section: string
  readonly judge: JudgeName
  readonly count: number
  readonly because: string
  readonly examples: readonly Example[]
}

export type Example = { readonly because: string; readonly seqs: readonly number[] }

export const maxExamples = 5
/** A target can make a sentence, or a list of requests, as long as it likes. */
const longestBecause = 600
const mostSeqs = 24

/** Collects what all judges say. Bounded in the number of observations: it counts, and keeps `maxExamples` a finding. */
export type Docket = {
  readonly voice: <Name extends JudgeName>(judge: Name) => Say<Name>
  /** In the order of the table of clauses. */
  readonly tallies: () => readonly ClauseTally[]
  readonly findings: () => readonly Finding[]
  /** Whether an example names the observation with this `seq`. */
  readonly names: (seq: number) => boolean
  /** Violations so far, over all clauses. */
  readonly violations: () => number
}

/** An example that stays small whatever a target says. */
export const shorten = ({ because, seqs }: Example): Example => ({
  because: because.length > longestBecause ? `${because.slice(0, longestBecause)}...` : because,
  seqs: seqs.slice(0, mostSeqs),
})

export function createDocket(): Docket {
  const named = new Set<number>()
  let violations = 0
  const judged = new Map(clauseIds.map(id => [id, { count: 0 }]))
  const findings = new Map<string, { clause: ClauseId; judge: JudgeName; count: number; examples: Example[] }>()

  const voice = <Name extends JudgeName>(judge: Name): Say<Name> => {
    const kept = (clause: ClauseId) => {
      const sum = judged.get(clause)
      if (sum !== undefined) sum.count++
    }
    return {
      kept,
      broken: (clause, because, seqs) => {
        kept(clause)
        const key = `${clause}/${judge}`
        const finding = findings.get(key) ?? { clause, judge, count: 0, examples: [] }
        findings.set(key, finding)
        finding.count++
        violations++
        if (finding.examples.length >= maxExamples) return
        const example = shorten({ because, seqs })
        finding.examples.push(example)
        for (const seq of example.seqs) named.add(seq)
      },
    }
  }

  return {
    voice,
    names: seq => named.has(seq),
    violations: () => violations,
    tallies: () =>
      clauseIds.map(id => {
        const violated = [...findings.values()].filter(f => f.clause === id).reduce((sum, f) => sum + f.count, 0)
        const count = judged.get(id)?.count ?? 0
        const verdict = violated > 0 ? 'fail' : count > 0 ? 'pass' : 'not-exercised'
        return { id, section: clauses[id].section, judged: count, violated, verdict }
      }),
    findings: () =>
      [...findings.values()]
        .sort((a, b) => clauseIds.indexOf(a.clause) - clauseIds.indexOf(b.clause))
        .map(f => ({ ...f, section: clauses[f.clause].section, because: f.examples[0]?.because ?? '' })),
  }
}
