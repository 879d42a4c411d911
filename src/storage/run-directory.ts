import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type Contract, contractSchema } from '../contract/contract.ts'
import { recordedContract } from '../contract/profile.ts'
import type { JudgedPlan } from '../judge/compare/comparable.ts'
import type { Comparison } from '../judge/compare/comparison.ts'
import { type Slices, slicesSchema } from '../judge/metrics/slices.ts'
import { sleepUntil, systemClock } from '../lib/clock.ts'
import { hasHugeNumber, isNestedDeeper } from '../lib/json.ts'
import { readText, whyUnreadable } from '../lib/read-text.ts'
import { parseValid } from '../lib/schemas.ts'
import { nearest, UsageError } from '../lib/usage-error.ts'
import { visibleJson } from '../lib/visible.ts'
import { hasHeader, readLog } from '../observation/log.ts'
import type { RunInfo } from '../observation/log-lines.ts'
import type { Observation } from '../observation/observation.ts'
import { planSchema } from '../plan/plan.ts'
import { type Report, reportSchema } from '../report/document.ts'
import { renderJunit } from '../report/render/junit.ts'
import { comparisonRenderers, renderHtml, renderJson, renderMarkdown, renderText } from '../report/render/renderers.ts'
import { renderSarif } from '../report/render/sarif.ts'

/** Stable file names that scripts can rely on. */
export const files = {
  plan: 'plan.json',
  contract: 'contract.json',
  slices: 'slices.json',
  report: 'report.json',
  text: 'report.txt',
  html: 'report.html',
  junit: 'junit.xml',
  markdown: 'report.md',
  sarif: 'report.sarif',
  findings: 'findings.ndjson',
  diff: 'diff.json',
} as const

export type RunDirectory = {
  readonly path: string
  /** The log file of each worker. */
  readonly logs: readonly string[]
  /** All observations in the logs, worker by worker, in the order of their end. */
  readonly readObservations: () => AsyncIterable<Observation>
  /** Writes what it can, and resolves with the files that it cannot write. */
  readonly write: (report: Report, slices: Slices) => Promise<readonly Unwritten[]>
}

/** A file that could not be written, and the reason. */
export type Unwritten = { readonly file: string; readonly why: string }

/** A directory for a run that has not started. */
export type ReservedDirectory = {
  /** Writes the plan and the contract before the first call, so that the run can be judged again even after a crash. */
  readonly create: (judged: JudgedPlan, workers: number) => RunDirectory
  /** Removes what was created, unless the run started. */
  readonly release: () => void
}

/**
 * Creates the directory of a run, with its contract as the first file: a directory that cannot hold a run is found
 * before anything is sent. Throws a UsageError unless the directory is new or empty, and writable.
 */
export function reserveRunDirectory(path: string, contract: Contract): ReservedDirectory {
  const created = makeDirectory(path)
  let isRun = false
  const release = () => {
    if (isRun) return
    for (const file of [files.plan, files.contract]) rmSync(join(path, file), { force: true })
    if (created !== undefined) removeEmpty(path, created)
  }
  const write = (file: string, value: unknown) => {
    try {
      writeFileSync(join(path, file), json(value), newFile)
    } catch (cause) {
      release()
      throw unwritable(path, cause)
    }
  }
  assertEmpty(path)
  write(files.contract, contract)
  return {
    create: ({ plan, contract: judging }, workers) => {
      rmSync(join(path, files.contract), { force: true })
      write(files.contract, judging)
      write(files.plan, plan)
      isRun = true
      const logs = logFiles(path, workers)
      return {
        path,
        logs,
        readObservations: () => observationsIn(logs),
        write: (report, slices) =>
          writeFiles(path, [[files.slices, () => `${JSON.stringify(slices)}\n`], ...reportFiles(path, report)]),
      }
    },
    release,
  }
}

/**
 * The log file of one shard of a run, in the directory that all shards of the run on this machine share. With the logs of
 * the other machines, it becomes a run directory. Throws a UsageError if it cannot be written.
 */
export function shardLogFile(path: string, { plan, contract }: JudgedPlan, shard: number, shards: number): string {
  makeDirectory(path)
  for (const [file, value] of [
    [files.contract, contract],
    [files.plan, plan],
  ] as const) {
    try {
      writeFileSync(join(path, file), json(value), newFile)
    } catch (cause) {
      // Another shard has written the same.
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw unwritable(path, cause)
    }
  }
  return logFiles(path, shards)[shard] ?? join(path, `observations-${shard + 1}.ndjson.gz`)
}

/** Files are created for this user only. `wx` fails if there is anything of that name, even a link to nowhere. */
const newFile = { flag: 'wx', mode: 0o600 } as const

/** Creates a directory for this user only, if there is none. Returns the first of the created ones, and throws a UsageError. */
function makeDirectory(path: string): string | undefined {
  try {
    return makeMissing(resolve(path))
  } catch (cause) {
    throw unwritable(path, cause)
  }
}

/** One level after the other. With `recursive`, Node.js never returns for a directory in /proc. */
function makeMissing(path: string, isParent = false): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) return undefined
  // Only Node.js 20, and only on some systems, says this for a path below it.
  if (stats !== undefined && isParent) throw Object.assign(new Error(`${path} is a file`), { code: 'ENOTDIR' })
  const first = dirname(path) === path ? undefined : makeMissing(dirname(path), true)
  mkdirSync(path, 0o700)
  return first ?? path
}

function assertEmpty(path: string): void {
  let names: readonly string[]
  try {
    names = readdirSync(path)
  } catch (cause) {
    throw unwritable(path, cause)
  }
  if (names.length === 0) return
  const got = names.includes(files.plan) ? 'a directory that holds a run' : 'a directory that is not empty'
  throw new UsageError({ where: path, got, expected: 'a new or empty directory', hint: 'name another one with --out' })
}

/** Removes the empty directories from `path` up to `root`. */
function removeEmpty(path: string, root: string): void {
  try {
    for (let each = resolve(path); each.startsWith(resolve(root)); each = dirname(each)) rmdirSync(each)
  } catch {
    // It is in use, or gone.
  }
}

const unwritableReasons: Readonly<Record<string, string>> = {
  EEXIST: 'a file',
  ENOTDIR: 'a path below a file',
  EROFS: 'a read-only disk',
  EACCES: 'no permission to write',
  EPERM: 'no permission to write',
  ENOSPC: 'a full disk',
}

function unwritable(path: string, cause: unknown): UsageError {
  const got = unwritableReasons[String((cause as NodeJS.ErrnoException).code)] ?? whyUnreadable(cause)
  return new UsageError({ where: path, got, expected: 'a writable directory', hint: 'name another one with --out' })
}

/** Throws a UsageError unless files can be written into `path`, which need not exist. Removes what it creates. */
export function assertWritableDirectory(path: string): void {
  const created = makeDirectory(path)
  const file = join(path, '.turnpike-can-write')
  try {
    writeFileSync(file, '', { mode: 0o600 })
    rmSync(file, { force: true })
  } catch (cause) {
    throw unwritable(path, cause)
  } finally {
    if (created !== undefined) removeEmpty(path, created)
  }
}

/** The logs of a run, one for each worker, in order. */
export function logFiles(path: string, workers: number): readonly string[] {
  const nameOf = (worker: number) => (workers === 1 ? 'observations' : `observations-${worker + 1}`)
  return Array.from({ length: workers }, (_, worker) => join(path, `${nameOf(worker)}.ndjson.gz`))
}

type NamedText = readonly [name: string, text: () => string]

/** `report.json` is the last one: where it is, the others are. */
function reportFiles(path: string, report: Report): readonly NamedText[] {
  const findings = report.findings.flatMap(({ examples, ...finding }) =>
    examples.map(example => visibleJson(`${JSON.stringify({ ...finding, ...example })}\n`)),
  )
  return [
    [files.findings, () => findings.join('')],
    [files.text, () => renderText(report, { columns: 100, color: false, directory: path })],
    [files.html, () => renderHtml(report)],
    [files.junit, () => renderJunit(report)],
    [files.markdown, () => renderMarkdown(report)],
    [files.sarif, () => renderSarif(report)],
    [files.report, () => renderJson(report)],
  ]
}

/** Writes a comparison in every format into `path`, and resolves with the files that cannot be written. */
export function writeComparison(path: string, comparison: Comparison): Promise<readonly Unwritten[]> {
  makeDirectory(path)
  return writeFiles(
    path,
    Object.values(comparisonRenderers).map(({ file, render }) => [
      file,
      () => render(comparison, { columns: 120, color: false }),
    ]),
  )
}

/** Writes the diff of two runs beside them, and resolves with the file if it cannot be written. */
export function writeDiff(path: string, diff: unknown): Promise<readonly Unwritten[]> {
  makeDirectory(path)
  return writeFiles(path, [[files.diff, () => json(diff)]])
}

async function writeFiles(path: string, texts: readonly NamedText[]): Promise<readonly Unwritten[]> {
  const unwritten: Unwritten[] = []
  for (const [name, text] of texts) {
    const file = join(path, name)
    try {
      await replaceFile(file, text())
    } catch (cause) {
      unwritten.push({ file, why: whyUnreadable(cause) })
    }
  }
  return unwritten
}

/** Windows does not replace a file while another program, such as a virus scanner, reads it. */
const whileRead = ['EACCES', 'EBUSY', 'EPERM']
const [maxPauses, pauseMs] = [10, 20]

/** Replaces a file atomically: a reader sees the old file or the new one. */
export async function replaceFile(file: string, text: string, move = rename, clock = systemClock()): Promise<void> {
  await rm(`${file}.new`, { force: true })
  await writeFile(`${file}.new`, text, newFile)
  for (let pauses = 0; ; pauses++)
    try {
      return await move(`${file}.new`, file)
    } catch (cause) {
      if (pauses === maxPauses || !whileRead.includes((cause as NodeJS.ErrnoException).code ?? '')) throw cause
      await sleepUntil(clock, clock.nowMs() + pauseMs)
    }
}

export type RecordedRun = JudgedPlan & {
  readonly head: RunInfo
  /** One for each worker. The file of a worker that was lost early may not exist. */
  readonly logs: readonly string[]
}

/** The plan and the contract of the run at `path`. Throws a UsageError if `path` is not a run directory. */
export function readJudgedPlan(path: string): JudgedPlan {
  return {
    plan: parseValid(planSchema, readJson(path, files.plan, maxPlanBytes), join(path, files.plan)),
    contract: parseValid(contractSchema, recordedContract(readJson(path, files.contract)), join(path, files.contract)),
  }
}

/** What the run at `path` was judged by, and its observations, which may be none. Throws a UsageError if it is not a run directory. */
export function readJudgedRun(path: string, { load }: Pick<Report, 'load'>) {
  const logs = logFiles(path, Math.max(1, load.workers.length))
  return { ...readJudgedPlan(path), observations: () => observationsIn(logs) }
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
  const file = join(path, files.report)
  // Clause names are not validated, because an older report may contain removed ones.
  const read = parseValid(reportSchema, readJson(path, files.report), file) as Report
  const isBroken = read.findings.length > 0 || read.thresholds.some(({ verdict }) => verdict === 'fail')
  if (read.verdict === 'pass' && isBroken)
    throw new UsageError({ where: `${file}: verdict`, got: '"pass"', expected: '"fail", as its findings demand' })
  return read
}

/** Whether the run wrote its report, which is the last file that it writes. */
export const hasReport = (path: string): boolean => existsSync(join(path, files.report))

/** The slices of the run at `path`, for comparisons. Throws a UsageError if there are none, as from older versions. */
export function readSlices(path: string): Slices {
  return parseValid(slicesSchema, readJson(path, files.slices), join(path, files.slices))
}

/** The longest files: a plan may contain millions of recorded arrivals. */
const maxPlanBytes = 134_217_728
const maxJsonBytes = 67_108_864
const maxNesting = 200

const runDirectory = 'a run directory, as written by `turnpike run`'

/** Throws a UsageError if `path` is not a directory, or has none of the files that every run has. */
function assertRunDirectory(path: string): void {
  const expected = runDirectory
  const stats = statsOf(path)
  const hint = existsSync(join(dirname(path), files.plan)) ? { hint: `did you mean "${dirname(path)}"?` } : null
  if (stats === undefined) {
    const got = 'no such directory'
    throw new UsageError({ where: path, got, expected, ...(hint ?? nearestRun(dirname(path), basename(path))) })
  }
  if (!stats.isDirectory()) throw new UsageError({ where: path, got: 'a file', expected, ...hint })
  if ([files.plan, files.contract, files.report, files.slices].some(name => existsSync(join(path, name)))) return
  throw new UsageError({ where: path, got: 'a directory without a run', expected, ...nearestRun(path, '') })
}

/** undefined: `path` does not exist. Throws a UsageError for a path that cannot be followed, such as a link to itself. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    throw new UsageError({ where: path, got: whyUnreadable(cause), expected: runDirectory })
  }
}

/** A hint at the run in `folder` with a name like `name`, or else at its last run. Runs are named by their time. */
function nearestRun(folder: string, name: string): { readonly hint?: string } {
  try {
    const runs = readdirSync(folder).filter(each => existsSync(join(folder, each, files.plan)))
    const last = runs.sort().at(-1)
    if (name !== '') return nearest(name, runs)
    return last === undefined ? {} : { hint: `did you mean "${join(folder, last)}"?` }
  } catch {
    return {}
  }
}

function readJson(path: string, name: string, maxBytes = maxJsonBytes): unknown {
  const file = join(path, name)
  const expected = runDirectory
  assertRunDirectory(path)
  if (name === files.report && !existsSync(file))
    throw new UsageError({
      where: path,
      got: 'a run without a report, as after a kill',
      expected: 'a run that ended',
      hint: `turnpike audit ${path} judges its recording`,
    })
  const written = readText(file, maxBytes, expected)
  if (isNestedDeeper(written, maxNesting)) throw new UsageError({ where: file, got: 'deeply nested JSON', expected })
  const value = parsed(written, file)
  if (hasHugeNumber(value)) throw new UsageError({ where: file, got: 'a number beyond 1e290', expected })
  return value
}

function parsed(written: string, file: string): unknown {
  try {
    return JSON.parse(written)
  } catch (cause) {
    const [place] = /line \d+ column \d+/.exec((cause as Error).message) ?? []
    const got = `invalid JSON${place === undefined ? '' : ` at ${place}`}`
    throw new UsageError({ where: file, got, expected: runDirectory })
  }
}

/** The observations of a record, worker by worker, in the order of their end. */
export async function* observationsIn(logs: readonly string[]): AsyncIterable<Observation> {
  for (const file of logs.filter(hasHeader))
    for await (const line of readLog(file)) if (line.kind === 'observation') yield line.observation
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
