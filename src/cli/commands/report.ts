import { readReport } from '../../storage/run-directory.ts'
import { text, type Values } from '../flags.ts'
import { exitCodeOf, showReport } from '../print.ts'

export async function reportCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const report = readReport(directory)
  showReport(report, directory, values)
  return exitCodeOf(report)
}
