import { writeFileSync } from 'node:fs'
import { plural } from '../lib/format.ts'
import { whyUnreadable } from '../lib/read-text.ts'
import { UsageError } from '../lib/usage-error.ts'
import { oneLine } from '../lib/visible.ts'
import type { Report } from '../report/document.ts'
import { type ChosenFinding, exampleOf } from '../report/numbered-findings.ts'
import { reproScript } from '../run/repro-script.ts'
import { type Sequence, sequenceOf } from '../run/sequence.ts'
import { readJudgedRun } from '../storage/run-directory.ts'

/** Writes a script that sends the requests of a finding again, to a new file or to stdout. */
export async function writeFindingScript(
  directory: string,
  report: Report,
  listed: ChosenFinding,
  out: string | null,
): Promise<void> {
  const { number, name, text: sentence } = listed
  const example = exampleOf(listed)
  const judged = readJudgedRun(directory, report)
  const sequence = await sequenceOf(example, judged)
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

/** Writes a script that this user may run. Throws a UsageError unless the file is new, and writable. */
function writeNewScript(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o700 })
  } catch (cause) {
    throw new UsageError({ where: path, got: whyUnreadable(cause), expected: 'a new file' })
  }
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
