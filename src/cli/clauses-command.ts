import { type Clause, clauseIds, clauses } from '../contract/clauses.ts'
import { readReport } from '../report/run-directory.ts'
import { exitCodes, text, type Values } from './command.ts'

export async function clausesCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir')
  process.stdout.write(`${(directory === null ? table() : coverage(directory)).join('\n')}\n`)
  return exitCodes.pass
}

function table(): readonly string[] {
  return clauseIds.map(id => {
    const { section, says, judges, basis }: Clause = clauses[id]
    return `${`§${section}`.padEnd(6)}${id.padEnd(32)}${judges.join(', ').padEnd(28)}${says}${basis === 'profile' ? ' (profile)' : ''}`
  })
}

function coverage(directory: string): readonly string[] {
  return readReport(directory).clauses.map(({ id, section, judged, violated, verdict }) =>
    `${`§${section}`.padEnd(6)}${id.padEnd(32)}${verdict.padEnd(16)}${`${judged} judged`.padEnd(16)}${violated > 0 ? `${violated} violated` : ''}`.trimEnd(),
  )
}
