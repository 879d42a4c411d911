import { oneOf, UsageError } from '../lib/usage-error.ts'
import type { Report, ReportedExample } from './document.ts'

/** A finding, and the cause of it that a user names. */
export type ChosenFinding = ListedFinding & { readonly example: ReportedExample | undefined }

export type ListedFinding = {
  readonly number: number
  /** The clause, or the kind of the discrepancy. */
  readonly name: string
  readonly text: string | null
  readonly count: number
  readonly message: string
  readonly examples: readonly ReportedExample[]
  /** As in `report.json`. */
  readonly finding: Report['findings'][number] | Report['billing']['discrepancies'][number]
}

/** In the order of the report: first the findings, then the discrepancies. */
export const numberedFindings = ({ findings, billing }: Report): readonly ListedFinding[] =>
  [
    ...findings.map(finding => ({ ...finding, name: finding.clause, finding })),
    ...billing.discrepancies.map(finding => {
      const { kind, count, examples } = finding
      return { name: kind, text: null, count, message: examples[0]?.message ?? '', examples, finding }
    }),
  ].map((listed, index) => ({ ...listed, number: index + 1 }))

/** With several causes, each has a number of its own. */
export const numbersOf = ({ number, examples }: ListedFinding): readonly string[] =>
  examples.length < 2 ? [String(number)] : examples.map((_, index) => `${number}.${index + 1}`)

/**
 * The finding with this number, such as `3`, or one of its causes, such as `3.2`; null: the only one. Throws a UsageError if
 * there is none.
 */
export function pickFinding(all: readonly ListedFinding[], number: string | null): ChosenFinding {
  const chosen = number ?? (all.length === 1 ? '1' : '')
  const [, at, cause = '1'] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(chosen) ?? []
  const found = all[Number(at) - 1]
  const example = found?.examples[Number(cause) - 1]
  if (found !== undefined && (example !== undefined || cause === '1')) return { ...found, example }
  throw new UsageError({
    where: 'number',
    got: chosen === '' ? 'nothing' : JSON.stringify(chosen),
    expected:
      all.length === 0 ? 'nothing, because the run has no findings' : `a finding, ${oneOf(all.flatMap(numbersOf))}`,
  })
}

/** The example of a finding. Throws a UsageError if it has none, so that nothing can be sent again. */
export function exampleOf({ number, example }: ChosenFinding): ReportedExample {
  if (example !== undefined) return example
  throw new UsageError({
    where: `finding ${number}`,
    got: 'a finding about no single request',
    expected: 'one that names requests',
  })
}
