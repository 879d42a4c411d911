import type { Clause, ExcusedClause } from '../contract/clause.ts'
import { clauseIds, clauses } from '../contract/clauses.ts'
import { excusedClauses } from '../contract/excused-clauses.ts'
import { readReport } from '../storage/run-directory.ts'
import { exitCodes, texts, type Values } from './command.ts'

export async function clausesCommand(values: Values): Promise<number> {
  const directories = texts(values, 'run-dirs')
  process.stdout.write(`${(directories.length === 0 ? table() : coverage(directories)).join('\n')}\n`)
  return exitCodes.pass
}

function table(): readonly string[] {
  const judged = clauseIds.map(id => {
    const { section, says, judges, basis, needs }: Clause = clauses[id]
    const remarks = `${basis === 'profile' ? ' (profile)' : ''}${needs === undefined ? '' : ` (needs ${needs})`}`
    return `${place(section)}${id.padEnd(idWidth)}${judges.join(', ').padEnd(28)}${says}${remarks}`
  })
  const excused = Object.entries<ExcusedClause>(excusedClauses).map(
    ([id, { section, says, excuse, because }]) =>
      `${place(section)}${id.padEnd(idWidth)}${excuse.padEnd(28)}${says} ${because}`,
  )
  return [...judged, ...excused]
}

/** What the runs looked at, all of them together. */
function coverage(directories: readonly string[]): readonly string[] {
  const tallies = directories.flatMap(directory => readReport(directory).clauses)
  const rows = clauseIds.map(id => {
    const ofClause = tallies.filter(tally => tally.id === id)
    const judged = ofClause.reduce((sum, tally) => sum + tally.judged, 0)
    const violated = ofClause.reduce((sum, tally) => sum + tally.violated, 0)
    const verdict = violated > 0 ? 'fail' : judged > 0 ? 'pass' : 'not-exercised'
    const { section, needs }: Clause = clauses[id]
    const remark = violated > 0 ? `${violated} violated` : judged === 0 && needs !== undefined ? `needs ${needs}` : ''
    return { judged, text: lineOf(section, id, verdict, `${judged} judged`, remark) }
  })
  const exercised = rows.filter(({ judged }) => judged > 0).length
  return [...rows.map(({ text }) => text), '', `${exercised} of ${clauseIds.length} clauses exercised`]
}

const lineOf = (section: string, id: string, verdict: string, judged: string, remark: string): string =>
  `${place(section)}${id.padEnd(idWidth)}${verdict.padEnd(16)}${judged.padEnd(16)}${remark}`.trimEnd()

const idWidth = Math.max(...clauseIds.map(id => id.length)) + 2
const place = (section: string): string => `§${section}`.padEnd(6)
