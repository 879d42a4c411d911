import { type Format, renderers } from '../report/renderers.ts'
import type { Report } from '../report/report.ts'
import { exitCodes, text, type Values } from './command.ts'

const widestColumns = 120

/** Writes the report to stdout, in the format that the flags name. */
export function showReport(report: Report, directory: string | null, values: Values): void {
  const { stdout } = process
  const columns = Math.min(stdout.columns ?? 100, widestColumns)
  const colour = stdout.isTTY === true && process.env.NO_COLOR === undefined
  stdout.write(renderers[(text(values, 'format') ?? 'text') as Format](report, { columns, colour, directory }))
}

/** The verdict as an exit code. An interrupted run says so, whatever it had found. */
export function exitCodeOf({ verdict, run }: Report): number {
  return run.ended === 'interrupted' ? exitCodes.interrupted : exitCodes[verdict]
}
