import { unjudgedClauses } from '../../contract/clauses/not-judged.ts'
import { type ClauseId, clauseIds, clauses } from '../../contract/clauses.ts'
import { notPromised } from '../../contract/promises.ts'
import { plainTable } from '../../lib/text-layout.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { reasonOf } from '../../report/sections/clauses.ts'
import { readReport } from '../../storage/run-directory.ts'
import { exitCodes, listFlag, type Values } from '../flags.ts'
import { contractOf } from '../load-plan.ts'

export async function clausesCommand(values: Values): Promise<number> {
  const directories = listFlag(values, 'run-dirs')
  const clause = directories.find(each => clauseIds.some(id => id === each))
  if (clause !== undefined)
    throw new UsageError({
      where: 'turnpike clauses',
      got: `the clause ${clause}`,
      expected: 'run directories, or nothing for all clauses',
    })
  process.stdout.write(`${directories.length === 0 ? list(notPromised(contractOf(values))) : coverage(directories)}\n`)
  return exitCodes.pass
}

/** All clauses, and the sentences of the document that no run judges, with the reason. The profile leaves some out. */
function list(missing: readonly ClauseId[]): string {
  const judged = clauseIds.map(id => {
    const { section, text, judges, source, needs } = clauses[id]
    const remarks = `${source === undefined ? '' : ` (${source})`}${needs === undefined ? '' : ` (needs ${needs})`}`
    return [`§${section}`, id, missing.includes(id) ? 'not-promised' : judges.join(', '), `${text}${remarks}`]
  })
  const excused = Object.entries(unjudgedClauses).map(([id, { section, text, status, reason }]) => [
    `§${section}`,
    id,
    status,
    `${text} ${reason}`,
  ])
  return plainTable([], [...judged, ...excused], Number.POSITIVE_INFINITY)
}

/** The number of judgements of each clause over all runs. */
function coverage(directories: readonly string[]): string {
  const tallies = directories.flatMap(directory => readReport(directory).clauses)
  const rows = clauseIds.map(id => {
    const ofClause = tallies.filter(tally => tally.id === id)
    const judged = ofClause.reduce((sum, tally) => sum + tally.judged, 0)
    const violated = ofClause.reduce((sum, tally) => sum + tally.violated, 0)
    const isPromised = ofClause.length === 0 || ofClause.some(tally => tally.verdict !== 'not-promised')
    const because =
      ofClause.find(tally => tally.because?.kind === 'not-judged')?.because ?? ofClause[0]?.because ?? null
    const silence = isPromised ? (because?.kind ?? 'not-exercised') : 'not-promised'
    const verdict = violated > 0 ? 'fail' : judged > 0 ? 'pass' : silence
    const { section, needs } = clauses[id]
    const known = because === null ? null : reasonOf(because)
    const silent = judged === 0 && isPromised ? (known ?? (needs === undefined ? '' : `it needs ${needs}`)) : ''
    const remark = violated > 0 ? `${violated} violated` : silent
    return { judged, isPromised, cells: [`§${section}`, id, verdict, `${judged} judged`, remark] }
  })
  const exercised = rows.filter(({ judged }) => judged > 0).length
  const lines = plainTable(
    [],
    rows.map(({ cells }) => cells),
    Number.POSITIVE_INFINITY,
  )
  const unpromised = rows.filter(({ isPromised }) => !isPromised).length
  const rest = unpromised === 0 ? '' : `, ${unpromised} not promised`
  return `${lines}\n\n${exercised} of ${clauseIds.length} clauses exercised${rest}`
}
