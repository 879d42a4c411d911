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

/** Stable file names that scripts can rely on. */
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
  /** The log file of each worker. */
  readonly logs: readonly string[]
  /** All observations in the logs, worker by worker, in the order of their end. */
  readonly readObservations: () => AsyncIterable<Observation>
  readonly writeSlices: (slices: Slices) => Promise<void>
  readonly writeReport: (report: Report) => Promise<void>
}

/** Throws a UsageError if the directory already contains a run. */
export function assertNoRun(path: string): void {
  if (!existsSync(join(path, files.plan))) return
  throw new UsageError({ where: path, got: 'a directory that holds a run', expected: 'a new or empty directory' })
}

/**
 * Creates the directory of a run. Writes the plan and the contract before the first request, so that the run can be
 * read and judged again even after a crash. Throws a UsageError if the directory already contains a run.
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
    throw new UsageError({ where: path, got: (cause as Error).message, expected: 'a writable directory' })
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

/** The logs of a run, one for each worker, in order. */
export function logFiles(path: string, workers: number): readonly string[] {
  const nameOf = (worker: number) => (workers === 1 ? 'observations' : `observations-${worker + 1}`)
  return Array.from({ length: workers }, (_, worker) => join(path, `${nameOf(worker)}.ndjson.gz`))
}

async function writeReport(path: string, report: Report): Promise<void> {
  const lines = report.findings.flatMap(({ examples, ...finding }) =>
    examples.map(example => `${JSON.stringify({ ...finding, ...example })}\n`),
  )
  await replaceFile(join(path, files.findings), lines.join(''))
  await replaceFile(join(path, files.text), renderText(report, { columns: 100, color: false, directory: path }))
  await replaceFile(join(path, files.html), renderHtml(report))
  await replaceFile(join(path, files.junit), renderJunit(report))
  await replaceFile(join(path, files.markdown), renderMarkdown(report))
  await replaceFile(join(path, files.report), renderJson(report))
}

/** Writes a comparison in every format. The directory need not be a run directory. */
export async function writeComparison(path: string, comparison: Comparison): Promise<void> {
  try {
    await mkdir(path, { recursive: true })
    for (const { file, render } of Object.values(comparisonRenderers))
      await replaceFile(join(path, file), render(comparison, { columns: 120, color: false }))
  } catch (cause) {
    throw new UsageError({ where: path, got: (cause as Error).message, expected: 'a writable directory' })
  }
}

/** Replaces a file atomically: a reader sees the old file or the new one. */
async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

export type RecordedRun = {
  readonly plan: Plan
  readonly contract: Contract
  readonly head: RunInfo
  /** One for each worker. The file of a worker that was lost early may not exist. */
  readonly logs: readonly string[]
}

/** The plan and the contract of the run at `path`. Throws a UsageError if `path` is not a run directory. */
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
      got: 'an invalid contract',
      expected: 'a contract that a run wrote',
    })
  }
  return { plan, contract: contract.data }
}

/** The plan, contract, header and logs of the run at `path`. Throws a UsageError if it has no observations. */
export async function openRun(path: string): Promise<RecordedRun> {
  const judgedPlan = readJudgedPlan(path)
  // Any log has the run header. The first worker may be lost, so try all of them.
  for (const name of readdirSync(path).filter(each => /^observations(-\d+)?\.ndjson\.gz$/.test(each))) {
    for await (const line of readLog(join(path, name))) {
      if (line.kind !== 'head') break
      return { ...judgedPlan, head: line.head, logs: logFiles(path, line.head.workers) }
    }
  }
  throw new UsageError({
    where: path,
    got: 'no recorded observations',
    expected: 'a log that starts with a header line',
  })
}

/** The report of the run at `path`. Throws a UsageError if there is none. */
export function readReport(path: string): Report {
  const read = reportSchema.safeParse(readJson(path, files.report))
  // Clause names are not validated, because an older report may contain removed ones.
  if (read.success) return read.data as Report
  const [issue] = read.error.issues
  throw new UsageError({
    where: join(path, files.report),
    got: `${issue?.path.join('.') || 'the document'}: ${issue?.message}`,
    expected: 'a report of schema 1',
  })
}

/** Whether the run wrote its report, which is the last file that it writes. */
export const hasReport = (path: string): boolean => existsSync(join(path, files.report))

/** The slices of the run at `path`, for comparisons. Throws a UsageError if there are none, as from older versions. */
export function readSlices(path: string): Slices {
  const read = slicesSchema.safeParse(readJson(path, files.slices))
  if (read.success) return read.data
  const [issue] = read.error.issues
  const got = `${issue?.path.join('.') || 'the document'}: ${issue?.message}`
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
      got: code ?? 'invalid JSON',
      expected: 'a run directory, as written by `turnpike run`',
    })
  }
}

/** The observations of a record, worker by worker, in the order of their end. */
export async function* observationsIn(logs: readonly string[]): AsyncIterable<Observation> {
  for (const file of logs.filter(hasHeader))
    for await (const line of readLog(file)) if (line.kind === 'observation') yield line.observation
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
