import { plural } from '../lib/format.ts'
import { oneOf, UsageError } from '../lib/usage-error.ts'
import { oneLine } from '../lib/visible.ts'
import type { Report, ReportedExample } from '../report/document.ts'
import { reproScript } from '../run/repro-script.ts'
import { type Sequence, sequenceOf } from '../run/sequence.ts'
import { logFiles, observationsIn, readJudgedPlan, writeNewScript } from '../storage/run-directory.ts'

/** A finding, and the cause of it that a command line names. */
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

/** The finding with this number, such as `3`, or one of its causes, such as `3.2`. Throws a UsageError if there is none. */
export function pickFinding(all: readonly ListedFinding[], chosen: string): ChosenFinding {
  const [, number, cause = '1'] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(chosen) ?? []
  const found = all[Number(number) - 1]
  const example = found?.examples[Number(cause) - 1]
  if (found !== undefined && (example !== undefined || cause === '1')) return { ...found, example }
  throw new UsageError({
    where: 'number',
    got: chosen === '' ? 'nothing' : JSON.stringify(chosen),
    expected:
      all.length === 0 ? 'nothing, because the run has no findings' : `a finding, ${oneOf(all.flatMap(numbersOf))}`,
  })
}

/** Writes a script that sends the requests of a finding again, to a new file or to stdout. */
export async function writeFindingScript(
  directory: string,
  report: Report,
  listed: ChosenFinding,
  out: string | null,
): Promise<void> {
  const { number, name, text: sentence, example } = listed
  if (example === undefined)
    throw new UsageError({ where: `finding ${number}`, got: 'no requests', expected: 'an example with requests' })
  const judged = readJudgedPlan(directory)
  const logs = logFiles(directory, Math.max(1, report.load.workers.length))
  const sequence = await sequenceOf(example, { ...judged, observations: () => observationsIn(logs) })
  if (sequence.requests.length === 0)
    throw new UsageError({
      where: `finding ${number}`,
      got: 'no recorded request',
      expected: 'a run with "record: all" or "record: findings"',
    })
  const script = reproScript({ number, name, text: sentence, example, run: report.run }, sequence, judged)
  if (out === null) process.stdout.write(script)
  else writeNewScript(out, script)
  for (const line of notes(sequence, out)) process.stderr.write(`${line}\n`)
}

function notes({ requests, missing, omitted }: Sequence, out: string | null): readonly string[] {
  const unrecorded = requests.filter(({ outcome }) => outcome === null).length
  const lost = missing.length + omitted
  return [
    ...(out === null
      ? []
      : [
          `Wrote ${oneLine(out)}, which sends ${plural(requests.length, 'request')}. Its top names the keys that it needs.`,
        ]),
    ...(unrecorded === 0
      ? []
      : [`${plural(unrecorded, 'request')} had no record, and the script builds them again from the plan.`]),
    ...(lost === 0
      ? []
      : [
          `The script is incomplete: ${plural(lost, 'request')} of the finding had no record, and the plan does not decide them.`,
        ]),
  ]
}
