import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plural } from '../../lib/format.ts'
import { isObject } from '../../lib/json.ts'
import { whyUnreadable } from '../../lib/read-text.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { oneLine } from '../../lib/visible.ts'
import { yamlComment, yamlLines } from '../../lib/write-yaml.ts'
import { type ChosenFinding, numberedFindings, pickFinding } from '../../report/numbered-findings.ts'
import { parseDuration } from '../../scenario/units.ts'
import { type ShrunkFinding, shrinkFinding } from '../../shrink/shrink-finding.ts'
import { readReport } from '../../storage/run-directory.ts'
import { writeFindingScript } from '../finding-script.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { printJson, wantsJson } from '../print.ts'

/**
 * Prints the smallest scenario that gives a finding of a run, or writes it into a folder with a script and a run of it.
 * Exit code 3: sending the requests again does not give the finding, or budget or time ended before the smallest was found.
 */
export async function shrinkCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const report = readReport(directory)
  const chosen = pickFinding(numberedFindings(report), text(values, 'number'))
  const out = text(values, 'out')
  const maxMs = parseDuration(text(values, 'max-time') ?? '')
  if (maxMs === null || maxMs === 0)
    throw new UsageError({
      where: '--max-time',
      got: text(values, 'max-time') ?? '',
      expected: 'a duration such as 10m',
    })
  if (out !== null) makeFolder(out)
  const interrupts = listenForInterrupts()
  const place = { folder: out ?? '.', record: out === null ? null : join(out, 'run') }
  try {
    const terms = { ...flagsOf(values), ...place, maxMs, signal: interrupts.stop }
    const shrunk = await shrinkFinding({ directory, report, chosen }, terms, ({ runs, arrivals, cut, spentUsd }) => {
      const left = cut === null ? 'as in the run' : `without ${oneLine(cut)}`
      process.stderr.write(`${plural(arrivals, 'arrival')} (${left}), ${plural(runs, 'run')} so far, $${spentUsd}\n`)
    })
    return await show(shrunk, chosen, out, values)
  } finally {
    interrupts.dispose()
  }
}

const flagsOf = (values: Values) => ({
  target: text(values, 'target') ?? undefined,
  budgetUsd: text(values, 'budget-usd') ?? undefined,
  topUpUsd: text(values, 'top-up') ?? undefined,
  profile: text(values, 'profile') ?? undefined,
  hasOwnKeys: process.env.TURNPIKE_KEYS !== undefined,
})

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: false })
  } catch (cause) {
    throw new UsageError({ where: '--out', got: whyUnreadable(cause), expected: 'a new folder' })
  }
}

async function show(
  shrunk: ShrunkFinding | null,
  chosen: ChosenFinding,
  out: string | null,
  values: Values,
): Promise<number> {
  if (shrunk === null) {
    const why = `Sending the requests of finding ${chosen.number} (${chosen.name}) again did not give it.`
    process.stderr.write(`${why} It may depend on other requests of the run, or on chance.\n`)
    return exitCodes.inconclusive
  }
  const { scenario, ended, runs, arrivals, arrivalsBefore, violated, tried, spentUsd } = shrunk
  const file = scenarioFileOf(shrunk, chosen)
  if (wantsJson(values))
    printJson({ name: chosen.name, scenario, ended, arrivalsBefore, arrivals, runs, violated, tried, spentUsd })
  else if (out === null) process.stdout.write(file)
  if (out !== null) {
    writeFileSync(join(out, 'scenario.yaml'), file)
    if (ended === 'minimal') await writeScript(join(out, 'run'), chosen, join(out, 'repeat.sh'))
  }
  const fewer = `${arrivalsBefore} to ${plural(arrivals, 'arrival')}, in ${plural(runs, 'run')} for $${spentUsd}`
  const last =
    ended === 'minimal'
      ? `Without any one part the finding is gone.`
      : 'Stopped before the smallest scenario was found.'
  process.stderr.write(`${chosen.name}: from ${fewer}. ${last}\n`)
  return ended === 'minimal' ? exitCodes.pass : exitCodes.inconclusive
}

/** A scenario file, with what it is for above it. */
function scenarioFileOf(
  { scenario, violated, tried, ended }: ShrunkFinding,
  { name, text: sentence }: ChosenFinding,
): string {
  const smallest = ended === 'minimal' ? 'The smallest scenario' : 'A scenario'
  const entries = Object.entries(scenario).flatMap(([key, value]) =>
    key === 'calls' && isObject(value)
      ? Object.entries(value).map(([call, written]) => ({ path: [key, call], value: written, comment: [] }))
      : [{ path: [key], value, comment: [] }],
  )
  return [
    '# yaml-language-server: $schema=../node_modules/turnpike/scenarios/scenario.schema.json',
    '#',
    ...yamlComment(`${smallest} that Turnpike found to violate ${name}: in ${violated} of ${plural(tried, 'run')}.`),
    ...(sentence === null ? [] : yamlComment(oneLine(sentence))),
    ...yamlLines(entries),
    '',
  ].join('\n')
}

/** The script repeats the finding in the last run. A fault that shows itself rarely may be missing there. */
async function writeScript(run: string, { name }: ChosenFinding, path: string): Promise<void> {
  const report = readReport(run)
  const again = numberedFindings(report).find(finding => finding.name === name)
  if (again === undefined) return
  await writeFindingScript(run, report, { ...again, example: again.examples[0] }, path)
}
