import { unjudgedClauses } from '../../contract/clauses/not-judged.ts'
import { type ClauseId, clauseIds, clauses, isExtra } from '../../contract/clauses.ts'
import { notPromised } from '../../contract/promises.ts'
import { plainTable } from '../../lib/text-layout.ts'
import { UsageError } from '../../lib/usage-error.ts'
import type { Report } from '../../report/document.ts'
import { reasonOf } from '../../report/sections/clauses.ts'
import { readReport } from '../../storage/run-directory.ts'
import { exitCodes, listFlag, type Values } from '../flags.ts'
import { contractOf } from '../load-plan.ts'
import { listColumns, printJson, wantsJson } from '../print.ts'

export async function clausesCommand(values: Values): Promise<number> {
  const directories = listFlag(values, 'run-dirs')
  const clause = directories.find(each => clauseIds.some(id => id === each))
  if (clause !== undefined)
    throw new UsageError({
      where: 'turnpike clauses',
      got: `the clause ${clause}`,
      expected: 'run directories, or nothing for all clauses',
    })
  if (directories.length === 0) {
    const listed = list(notPromised(contractOf(values)))
    if (wantsJson(values)) printJson({ clauses: listed })
    else process.stdout.write(`${listedText(listed)}\n`)
  } else {
    const covered = coverage(directories.flatMap(directory => readReport(directory).clauses))
    if (wantsJson(values)) printJson(covered)
    else process.stdout.write(`${coverageText(covered)}\n`)
  }
  return exitCodes.pass
}

/** A sentence of the document. A run judges it, the profile leaves it out, or no run can observe it. */
type ListedClause = {
  readonly id: string
  readonly section: string
  readonly text: string
  readonly status: 'judged' | 'not-promised' | 'unobservable'
  readonly judges: readonly string[]
  /** Who states the value, if the document leaves it open. */
  readonly source: 'profile' | 'target' | null
  /** What a run needs to exercise it, beside load. */
  readonly needs: string | null
  /** Why no run judges it. */
  readonly reason: string | null
}

/** All clauses, and the sentences of the document that no run judges, with the reason. The profile leaves some out. */
function list(missing: readonly ClauseId[]): readonly ListedClause[] {
  return [
    ...clauseIds.map((id): ListedClause => {
      const { section, text, judges, source = null, needs = null } = clauses[id]
      const status = missing.includes(id) ? 'not-promised' : 'judged'
      return { id, section, text, status, judges, source, needs, reason: null }
    }),
    ...Object.entries(unjudgedClauses).map(([id, { section, text, status, reason }]): ListedClause => {
      return { id, section, text, status, judges: [], source: null, needs: null, reason }
    }),
  ]
}

function listedText(listed: readonly ListedClause[]): string {
  const rows = listed.map(({ id, section, text, status, judges, source, needs, reason }) => {
    const remarks = `${source === null ? '' : ` (${source})`}${needs === null ? '' : ` (needs ${needs})`}`
    const cell = status === 'judged' ? judges.join(', ') : status
    return [`§${section}`, id, cell, `${text}${remarks}${reason === null ? '' : ` ${reason}`}`]
  })
  return plainTable([], rows, listColumns())
}

type Coverage = {
  readonly clauses: readonly {
    readonly id: ClauseId
    readonly section: string
    readonly verdict: 'pass' | 'fail' | 'not-exercised' | 'not-judged' | 'not-promised'
    readonly judged: number
    readonly violated: number
    /** Why the clause was not judged; null if it was, or if the profile does not promise it. */
    readonly reason: string | null
  }[]
  readonly exercised: number
  readonly notPromised: number
}

/** The number of judgements of each clause over all runs. */
function coverage(tallies: Report['clauses']): Coverage {
  const known = clauseIds.filter(id => !isExtra(id) || tallies.some(tally => tally.id === id))
  const rows = known.map(id => {
    const ofClause = tallies.filter(tally => tally.id === id)
    const judged = ofClause.reduce((sum, tally) => sum + tally.judged, 0)
    const violated = ofClause.reduce((sum, tally) => sum + tally.violated, 0)
    const isPromised = ofClause.length === 0 || ofClause.some(tally => tally.verdict !== 'not-promised')
    const because =
      ofClause.find(tally => tally.because?.kind === 'not-judged')?.because ?? ofClause[0]?.because ?? null
    const silence = isPromised ? (because?.kind ?? 'not-exercised') : 'not-promised'
    const verdict = violated > 0 ? 'fail' : judged > 0 ? 'pass' : silence
    const { section, needs } = clauses[id]
    const why = because === null ? null : reasonOf(because)
    const reason = judged === 0 && isPromised ? (why ?? (needs === undefined ? null : `it needs ${needs}`)) : null
    return { id, section, verdict, judged, violated, reason } as const
  })
  return {
    clauses: rows,
    exercised: rows.filter(({ judged }) => judged > 0).length,
    notPromised: rows.filter(({ verdict }) => verdict === 'not-promised').length,
  }
}

function coverageText({ clauses: covered, exercised, notPromised: unpromised }: Coverage): string {
  const rows = covered.map(({ id, section, verdict, judged, violated, reason }) => {
    return [`§${section}`, id, verdict, `${judged} judged`, violated > 0 ? `${violated} violated` : (reason ?? '')]
  })
  const rest = unpromised === 0 ? '' : `, ${unpromised} not promised`
  return `${plainTable([], rows, listColumns())}\n\n${exercised} of ${covered.length} clauses exercised${rest}`
}
