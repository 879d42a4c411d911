import { plural } from '../../lib/format.ts'
import { plainTable } from '../../lib/text-layout.ts'
import { oneOf, UsageError } from '../../lib/usage-error.ts'
import { oneLine } from '../../lib/visible.ts'
import type { Report, ReportedExample } from '../../report/document.ts'
import { renderTextPage } from '../../report/render/text.ts'
import { allEvidence, findingBlocks } from '../../report/sections/findings.ts'
import { reproScript } from '../../run/repro-script.ts'
import { type Sequence, sequenceOf } from '../../run/sequence.ts'
import { logFiles, observationsIn, readJudgedPlan, readReport, writeNewScript } from '../../storage/run-directory.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { print, printJson, stdoutLayout, wantsJson } from '../print.ts'

/** Lists the findings of a run, shows one of them, or writes a script that sends its requests again. Sends nothing. */
export async function findingsCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const report = readReport(directory)
  const all = numbered(report)
  const chosen = text(values, 'number')
  const out = text(values, 'out')
  if (out !== null && values.repro !== true)
    throw new UsageError({ where: '--out', got: JSON.stringify(out), expected: '--repro with it' })
  if (values.repro === true) {
    await writeScript(directory, report, pick(all, chosen ?? (all.length === 1 ? '1' : '')), out)
    return exitCodes.pass
  }
  const picked = chosen === null ? null : pick(all, chosen)
  if (wantsJson(values)) printJson(picked === null ? all.map(summary) : { number: picked.number, ...picked.finding })
  else print(picked === null ? list(all) : details(report, picked.number), 'text')
  return exitCodes.pass
}

type Chosen = Listed & { readonly example: ReportedExample | undefined }

type Listed = {
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
const numbered = ({ findings, billing }: Report): readonly Listed[] =>
  [
    ...findings.map(finding => ({ ...finding, name: finding.clause, finding })),
    ...billing.discrepancies.map(finding => {
      const { kind, count, examples } = finding
      return { name: kind, text: null, count, message: examples[0]?.message ?? '', examples, finding }
    }),
  ].map((listed, index) => ({ ...listed, number: index + 1 }))

const summary = ({ number, name, count, message, examples }: Listed) => {
  return { number, name, count, causes: examples.length, message }
}

/** The finding with this number, such as `3`, or one of its causes, such as `3.2`. Throws a UsageError if there is none. */
function pick(all: readonly Listed[], chosen: string): Chosen {
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

function list(all: readonly Listed[]): string {
  if (all.length === 0) return 'The run has no findings.\n'
  const rows = all.flatMap(listed => {
    const { name, count, message, examples } = listed
    return numbersOf(listed).map((number, index) => [
      number,
      name,
      `${examples[index]?.count ?? count} ×`,
      oneLine(examples[index]?.message ?? message),
    ])
  })
  return `${plainTable([], rows, stdoutLayout().columns)}\n`
}

/** With several causes, each has a number of its own. */
const numbersOf = ({ number, examples }: Listed): readonly string[] =>
  examples.length < 2 ? [String(number)] : examples.map((_, index) => `${number}.${index + 1}`)

const details = (report: Report, number: number): string =>
  renderTextPage(
    findingBlocks(report, allEvidence).filter(block => block.number === number),
    stdoutLayout(),
  )

async function writeScript(directory: string, report: Report, listed: Chosen, out: string | null): Promise<void> {
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
