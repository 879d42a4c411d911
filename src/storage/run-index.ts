import { type Dirent, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { toObject } from '../lib/json.ts'
import { UsageError } from '../lib/usage-error.ts'
import { files, replaceFile } from './run-directory.ts'

/** A run directory in one line. A figure that its report lacks is null. */
export type IndexedRun = {
  /** The directory, below the indexed one. */
  readonly name: string
  /** `no-report`: the run goes on, or was killed. `unreadable`: its report is damaged. */
  readonly state: 'complete' | 'no-report' | 'unreadable'
  readonly verdict: 'pass' | 'fail' | 'inconclusive' | null
  readonly scenario: string | null
  readonly target: string | null
  /** ISO 8601, UTC. */
  readonly startedAt: string | null
  readonly durationMs: number | null
  readonly violations: number | null
  /** Of the call with the most responses that has such times. */
  readonly latencyP95Ms: number | null
  readonly ttftP95Ms: number | null
  readonly goodRatio: number | null
  readonly claimedUsd: number | null
}

export type RunIndex = {
  readonly folder: string
  /**
   * The runs as they are now. Reads only reports that are new or have changed, the latest first, until `isOver`; at least
   * one, so that each call comes closer to the end. Throws a UsageError if the folder cannot be read.
   */
  readonly read: (isOver?: () => boolean) => Promise<RunList>
  /** The names of all runs, read or not. Throws a UsageError if the folder cannot be read. */
  readonly names: () => readonly string[]
}

export type RunList = {
  /** The latest first. */
  readonly runs: readonly IndexedRun[]
  /** How many reports were read by this call, because the index did not know them. */
  readonly read: number
  /** How many reports are left for the next call. */
  readonly left: number
  /** Whether the index file could be written. It is only a shortcut. */
  readonly isSaved: boolean
}

/** Beside the runs. It can be deleted at any time. */
export const indexFile = '.turnpike-index.json'

/** Another version reads all reports again. */
const indexVersion = 1

/** The runs in `folder` and in the folders in it. What the index file knows is not read again. */
export function openRunIndex(folder: string): RunIndex {
  let known = readIndexFile(join(folder, indexFile))
  let isSaved = true
  return {
    folder,
    read: async (isOver = () => false) => {
      const found = foundRuns(folder)
      const entries = new Map<string, IndexEntry>()
      const isNew: FoundRun[] = []
      for (const run of found) {
        const before = known.get(run.name)
        if (before !== undefined && before.stamp === stampOf(run)) entries.set(run.name, before)
        else if (run.report === null) entries.set(run.name, { stamp: null, run: withoutReport(run.name) })
        else isNew.push(run)
      }
      isNew.sort((a, b) => (b.report?.mtimeMs ?? 0) - (a.report?.mtimeMs ?? 0))
      let read = 0
      for (; read < isNew.length && (read === 0 || !isOver()); read++) {
        const run = isNew[read]
        if (run !== undefined) entries.set(run.name, { stamp: stampOf(run), run: readRun(folder, run.name) })
      }
      const isChanged = entries.size !== known.size || [...entries].some(([name, entry]) => known.get(name) !== entry)
      known = entries
      if (isChanged) isSaved = await saveIndex(folder, [...entries.values()])
      const runs = [...entries.values()].map(({ run }) => ({ run, key: `${timeKey(run)} ${run.name}` }))
      const sorted = runs.toSorted((a, b) => (a.key < b.key ? 1 : -1))
      return { runs: sorted.map(({ run }) => run), read, left: isNew.length - read, isSaved }
    },
    names: () => foundRuns(folder).map(({ name }) => name),
  }
}

/** `stamp` changes with the report; null: the run has no report. */
type IndexEntry = { readonly stamp: string | null; readonly run: IndexedRun }

/** A directory of a run, and what its report file is; null: it has none. */
type FoundRun = { readonly name: string; readonly report: Pick<Stats, 'mtimeMs' | 'size'> | null }

const stampOf = ({ report }: FoundRun): string | null => report && `${report.mtimeMs}/${report.size}`

/** Leaves out links, which may lead out of the folder. */
function foundRuns(folder: string): readonly FoundRun[] {
  let names: readonly string[]
  try {
    names = directoriesIn(folder)
  } catch (cause) {
    const got = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such directory' : 'no readable directory'
    throw new UsageError({ where: folder, got, expected: 'a directory that holds run directories' })
  }
  return names.flatMap(name => {
    const run = runAt(folder, name)
    // `--out nightly` with several scenarios makes one directory for each of them.
    return run ?? innerDirectories(join(folder, name)).flatMap(inner => runAt(folder, `${name}/${inner}`) ?? [])
  })
}

function runAt(folder: string, name: string): FoundRun | null {
  const report = fileAt(join(folder, name, files.report))
  return report === null && fileAt(join(folder, name, files.plan)) === null ? null : { name, report }
}

const directoriesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry: Dirent) => entry.isDirectory())
    .map(({ name }) => name)

function innerDirectories(folder: string): readonly string[] {
  try {
    return directoriesIn(folder)
  } catch {
    return []
  }
}

function fileAt(file: string): Stats | null {
  try {
    const stats = statSync(file, { throwIfNoEntry: false })
    return stats?.isFile() ? stats : null
  } catch {
    return null
  }
}

const maxReportBytes = 67_108_864

/** Reads only the listed fields, so that newer reports still load. */
function readRun(folder: string, name: string): IndexedRun {
  const file = join(folder, name, files.report)
  try {
    if (statSync(file).size > maxReportBytes) return unreadable(name)
    return runOf(name, JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return unreadable(name)
  }
}

const nothing = {
  verdict: null,
  scenario: null,
  target: null,
  startedAt: null,
  durationMs: null,
  violations: null,
  latencyP95Ms: null,
  ttftP95Ms: null,
  goodRatio: null,
  claimedUsd: null,
} as const

const withoutReport = (name: string): IndexedRun => ({ ...nothing, name, state: 'no-report' })
const unreadable = (name: string): IndexedRun => ({ ...nothing, name, state: 'unreadable' })

function runOf(name: string, report: unknown): IndexedRun {
  const verdict = verdictIn(member(report, 'verdict'))
  const run = member(report, 'run')
  if (verdict === null || textIn(member(run, 'scenario')) === null) return unreadable(name)
  const calls = listIn(member(report, 'calls')).filter(call => member(call, 'stage') === null)
  const judged = calls.filter(call => numberIn(member(call, 'goodRatio')) !== null)
  const dueOf = (call: unknown) => (numberIn(member(call, 'count')) ?? 0) + (numberIn(member(call, 'dropped')) ?? 0)
  const due = sum(judged.map(dueOf))
  const good = sum(judged.map(call => dueOf(call) * (numberIn(member(call, 'goodRatio')) ?? 0)))
  return {
    name,
    state: 'complete',
    verdict,
    scenario: textIn(member(run, 'scenario')),
    target: textIn(member(run, 'target')),
    startedAt: textIn(member(run, 'startedAt')),
    durationMs: numberIn(member(run, 'durationMs')),
    violations: sum(listIn(member(report, 'findings')).map(finding => numberIn(member(finding, 'count')) ?? 0)),
    latencyP95Ms: p95Of(judged, 'latencyMs'),
    ttftP95Ms: p95Of(judged, 'ttftMs'),
    goodRatio: due === 0 ? null : good / due,
    claimedUsd: decimalIn(member(member(report, 'billing'), 'claimedUsd')),
  }
}

function p95Of(calls: readonly unknown[], timing: string): number | null {
  const timed = calls
    .map(call => member(call, timing))
    .map(times => ({ count: numberIn(member(times, 'count')) ?? 0, p95: numberIn(member(times, 'p95')) }))
    .filter(({ p95 }) => p95 !== null)
  return timed.toSorted((a, b) => b.count - a.count)[0]?.p95 ?? null
}

/** The index of a damaged, foreign or missing file is empty: all reports are read again. */
function readIndexFile(file: string): ReadonlyMap<string, IndexEntry> {
  try {
    const index: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (member(index, 'version') !== indexVersion) return new Map()
    const entries = listIn(member(index, 'entries')).flatMap(entry => entryIn(entry) ?? [])
    return new Map(entries.map(entry => [entry.run.name, entry]))
  } catch {
    return new Map()
  }
}

function entryIn(entry: unknown): IndexEntry | null {
  const [stamp, run] = [member(entry, 'stamp'), member(entry, 'run')]
  const [name, state] = [textIn(member(run, 'name')), member(run, 'state')]
  if ((stamp !== null && typeof stamp !== 'string') || name === null) return null
  if (state !== 'complete' && state !== 'no-report' && state !== 'unreadable') return null
  return {
    stamp,
    run: {
      name,
      state,
      verdict: verdictIn(member(run, 'verdict')),
      scenario: textIn(member(run, 'scenario')),
      target: textIn(member(run, 'target')),
      startedAt: textIn(member(run, 'startedAt')),
      durationMs: numberIn(member(run, 'durationMs')),
      violations: numberIn(member(run, 'violations')),
      latencyP95Ms: numberIn(member(run, 'latencyP95Ms')),
      ttftP95Ms: numberIn(member(run, 'ttftP95Ms')),
      goodRatio: numberIn(member(run, 'goodRatio')),
      claimedUsd: numberIn(member(run, 'claimedUsd')),
    },
  }
}

async function saveIndex(folder: string, entries: readonly IndexEntry[]): Promise<boolean> {
  try {
    const index = { version: indexVersion, entries }
    await replaceFile(join(folder, indexFile), `${JSON.stringify(index)}\n`)
    return true
  } catch {
    return false
  }
}

/** The names of runs start with their time, so a run without a report has its place, too. */
const timeKey = ({ startedAt, name }: IndexedRun): string =>
  startedAt?.replaceAll(/[-:]/g, '') ?? /(\d{8}T\d{6})Z/.exec(name)?.[1] ?? ''

const member = (value: unknown, name: string): unknown => toObject(value)?.[name]
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const numberIn = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)
const decimalIn = (value: unknown): number | null =>
  typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null
const verdictIn = (value: unknown): IndexedRun['verdict'] =>
  value === 'pass' || value === 'fail' || value === 'inconclusive' ? value : null
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
