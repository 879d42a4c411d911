import type { Report } from './document.ts'

/** The machine contract: members in the order of the type, two blanks, a newline at the end; numbers of a list in a row. */
export const renderJson = (report: Report): string =>
  `${JSON.stringify(report, null, 2).replace(plainList, list => list.replace(/\s+/g, ' '))}\n`

/** A list of numbers, nulls and decimals. No string holds a line break as it is, so that none can look like one. */
const plainList = /\[\n\s+(?:(?:-?\d[\d.e+-]*|"-?\d[\d.]*"|null),?\s+)+\]/g
