import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Contract, contractSchema } from '../contract/contract.ts'
import type { Comparison } from '../judge/compare/comparison.ts'
import { type Slices, slicesSchema } from '../judge/metrics/slices.ts'
import { UsageError } from '../lib/usage-error.ts'
import { hasHeader, type RunInfo, readLog } from '../observation/log.ts'
import type { Observation } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import { type Report, reportSchema } from '../report/document.ts'
import { renderJunit } from '../report/render/junit.ts'
import { comparisonRenderers, renderHtml, renderJson, renderMarkdown, renderText } from '../report/render/renderers.ts'

/** Names that stay as they are, so that scripts can rely on them. */
const files = {
  plan: 'plan.json',
  contract: 'contract.json',
  slices: 'slices.json',
  report: 'report.json',
  text: 'report.txt',
  html: 'report.html',
  junit: 'junit.xml',
  markdown: 'report.md',
  findings: 'findings.ndjson',
} as const

export type RunDirectory = {
  readonly path: string
  /** Where each worker writes its log. */
  readonly logs: readonly string[]
  /** All that the logs hold, worker by worker, in the order in which it ended. */
  readonly readObservations: () => AsyncIterable<Observation>
  readonly writeSlices: (slices: Slices) => Promise<void>
  readonly writeReport: (report: Report) => Promise<void>
}

/** Throws a UsageError when the directory holds a run already. */
export function assertNoRun(path: string): void {
  if (!existsSync(join(path, files.plan))) return
  throw new UsageError({ where: path, got: 'a directory that holds a run', expected: 'a new or an empty directory' })
}

/**
 * Makes the directory of a run. What it will be judged by is in it before the first request, so that it can be read,
 * and judged again, whatever becomes of the run. Throws a UsageError when it holds a run already.
 */
export async function createRunDirectory(
  path: string,
  { plan, contract }: { readonly plan: Plan; readonly contract: Contract },
  workers: number,
): Promise<RunDirectory> {
  assertNoRun(path)
  try {
    await mkdir(path, { recursive: true })
    await writeFile(join(path, files.plan), json(plan))
    await writeFile(join(path, files.contract), json(contract))
  } catch (cause) {
    throw new UsageError({ where: path, got: (cause as Error).message, expected: 'a directory that can be written to' })
  }
  const logs = logFiles(path, workers)
  return {
    path,
    logs,
    readObservations: () => observationsIn(logs),
    writeSlices: slices => replaceFile(join(path, files.slices), `${JSON.stringify(slices)}\n`),
    writeReport: report => writeReport(path, report),
  }
}

/** The logs of a run, one for each of its workers, in their order. */
export function logFiles(path: string, workers: number): readonly string[] {
  const nameOf = (worker: number) => (workers === 1 ? 'observations' : `observations-${worker + 1}`)
  return Array.from({ length: workers }, (_, worker) => join(path, `${nameOf(worker)}.ndjson.gz`))
}

async function writeReport(path: string, report: Report): Promise<void> {
  const lines = report.findings.flatMap(({ examples, ...finding }) =>
    examples.map(example => `${JSON.stringify({ ...finding, ...example })}\n`),
  )
  await replaceFile(join(path, files.findings), lines.join(''))
  await replaceFile(join(path, files.text), renderText(report, { columns: 100, colour: false, directory: path }))
  await replaceFile(join(path, files.html), renderHtml(report))
  await replaceFile(join(path, files.junit), renderJunit(report))
  await replaceFile(join(path, files.markdown), renderMarkdown(report))
  await replaceFile(join(path, files.report), renderJson(report))
}

/** A comparison in every form, into a directory that need not be a run's. */
export async function writeComparison(path: string, comparison: Comparison): Promise<void> {
  try {
    await mkdir(path, { recursive: true })
    for (const { file, render } of Object.values(comparisonRenderers))
      await replaceFile(join(path, file), render(comparison, { columns: 120, colour: false }))
  } catch (cause) {
    throw new UsageError({ where: path, got: (cause as Error).message, expected: 'a directory that can be written to' })
  }
}

/** A reader sees the old file or the new one, never half of it. */
async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

export type RecordedRun = {
  readonly plan: Plan
  readonly contract: Contract
  readonly head: RunInfo
  /** One for each worker; one that was lost early may have none. */
  readonly logs: readonly string[]
}

/** What `path` says a run was to do, and what it was judged by. Throws a UsageError when it is no run directory. */
export function readJudgedPlan(path: string): Pick<RecordedRun, 'plan' | 'contract'> {
  const plan = readJson(path, files.plan) as Plan
  if (plan?.schema !== 1) {
    throw new UsageError({
      where: join(path, files.plan),
      got: `schema ${JSON.stringify(plan?.schema)}`,
      expected: 'schema 1',
    })
  }
  const contract = contractSchema.safeParse(readJson(path, files.contract))
  if (!contract.success) {
    throw new UsageError({
      where: join(path, files.contract),
      got: 'something else',
      expected: 'a contract as a run writes it',
    })
  }
  return { plan, contract: contract.data }
}

/** The same, and where its observations are. Throws a UsageError where there are none. */
export async function openRun(path: string): Promise<RecordedRun> {
  const intent = readJudgedPlan(path)
  // Which of the workers tells of the others does not matter: the first may be the one that was lost.
  for (const name of readdirSync(path).filter(each => /^observations(-\d+)?\.ndjson\.gz$/.test(each))) {
    for await (const line of readLog(join(path, name))) {
      if (line.kind !== 'head') break
      return { ...intent, head: line.head, logs: logFiles(path, line.head.workers) }
    }
  }
  throw new UsageError({ where: path, got: 'no record of a run', expected: 'observations with a head line' })
}

/** The report that a run has written. Throws a UsageError when there is none. */
export function readReport(path: string): Report {
  const read = reportSchema.safeParse(readJson(path, files.report))
  // Names of clauses are left as they were said: those of an older report may be none of today's.
  if (read.success) return read.data as Report
  const [issue] = read.error.issues
  throw new UsageError({
    where: join(path, files.report),
    got: `${issue?.path.join('.') || 'the whole'}: ${issue?.message}`,
    expected: 'a report of schema 1',
  })
}

/** Whether a run came to its report, which is the last that it writes. */
export const hasReport = (path: string): boolean => existsSync(join(path, files.report))

/** What a run can be compared by. Throws a UsageError when there is none, as of an older version. */
export function readSlices(path: string): Slices {
  const read = slicesSchema.safeParse(readJson(path, files.slices))
  if (read.success) return read.data
  const [issue] = read.error.issues
  const got = `${issue?.path.join('.') || 'the whole'}: ${issue?.message}`
  throw new UsageError({ where: join(path, files.slices), got, expected: 'slices of schema 1' })
}

function readJson(path: string, name: string): unknown {
  const file = join(path, name)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    throw new UsageError({
      where: file,
      got: code ?? 'no JSON',
      expected: 'a run directory, as `turnpike run` makes it',
    })
  }
}

/** The observations of a record, worker by worker, in the order in which they ended. */
export async function* observationsIn(logs: readonly string[]): AsyncIterable<Observation> {
  for (const file of logs.filter(hasHeader))
    for await (const line of readLog(file)) if (line.kind === 'observation') yield line.observation
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
