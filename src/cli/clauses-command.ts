import type { Clause, ExcusedClause } from '../contract/clause.ts'
import { clauseIds, clauses } from '../contract/clauses.ts'
import { excusedClauses } from '../contract/excused-clauses.ts'
import { readReport } from '../report/run-directory.ts'
import { exitCodes, text, type Values } from './command.ts'

export async function clausesCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir')
  process.stdout.write(`${(directory === null ? table() : coverage(directory)).join('\n')}\n`)
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

function coverage(directory: string): readonly string[] {
  return readReport(directory).clauses.map(({ id, section, judged, violated, verdict }) =>
    `${place(section)}${id.padEnd(idWidth)}${verdict.padEnd(16)}${`${judged} judged`.padEnd(16)}${violated > 0 ? `${violated} violated` : ''}`.trimEnd(),
  )
}

const idWidth = Math.max(...clauseIds.map(id => id.length)) + 2
const place = (section: string): string => `§${section}`.padEnd(6)
