import type { Report } from './report.ts'

/** The machine contract: members in the order of the type, two blanks, a newline at the end. */
export const renderJson = (report: Report): string => `${JSON.stringify(report, null, 2)}\n`
