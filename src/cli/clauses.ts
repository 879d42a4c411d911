import { unjudgedClauses } from '../contract/clauses/not-judged.ts'
import { clauseIds, clauses } from '../contract/clauses.ts'
import { plainTable } from '../lib/text-layout.ts'
import { readReport } from '../storage/run-directory.ts'
import { exitCodes, listFlag, type Values } from './flags.ts'

export async function clausesCommand(values: Values): Promise<number> {
  const directories = listFlag(values, 'run-dirs')
  process.stdout.write(`${directories.length === 0 ? list() : coverage(directories)}\n`)
  return exitCodes.pass
}

/** All clauses, and the sentences of the document that no run judges, with the reason. */
function list(): string {
  const judged = clauseIds.map(id => {
    const { section, text, judges, source, needs } = clauses[id]
    const remarks = `${source === 'profile' ? ' (profile)' : ''}${needs === undefined ? '' : ` (needs ${needs})`}`
    return [`§${section}`, id, judges.join(', '), `${text}${remarks}`]
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
    const verdict = violated > 0 ? 'fail' : judged > 0 ? 'pass' : 'not-exercised'
    const { section, needs } = clauses[id]
    const remark = violated > 0 ? `${violated} violated` : judged === 0 && needs !== undefined ? `needs ${needs}` : ''
    return { judged, cells: [`§${section}`, id, verdict, `${judged} judged`, remark] }
  })
  const exercised = rows.filter(({ judged }) => judged > 0).length
  const lines = plainTable(
    [],
    rows.map(({ cells }) => cells),
    Number.POSITIVE_INFINITY,
  )
  return `${lines}\n\n${exercised} of ${clauseIds.length} clauses exercised`
}
