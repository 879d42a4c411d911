import { createReadStream, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { constants, createGunzip, gzip } from 'node:zlib'
import type { Cancel, Clock } from '../lib/clock.ts'
import type { Observation } from './observation.ts'

/** What the judging half must know of a run beside the plan. */
export type RunHead = {
  readonly turnpike: 1
  readonly runId: string
  readonly version: string
  /** Base address, as it was called. */
  readonly target: string
  /** Unix time in milliseconds at which the clock of the observations stands at 0. */
  readonly startedAtMs: number
}

/** The first line of a log. */
export type LogHead = RunHead & {
  /** Which of the workers wrote it, from 0, and how many there were. */
  readonly worker: number
  readonly workers: number
}

/** How long a process was deaf, in milliseconds: time that its own work kept it from noticing what had arrived. */
export type EventLoopDelay = { readonly p99: number; readonly max: number }

/** The last line of a log; a run that was killed has none. */
export type LogEnd = {
  readonly ended: 'complete' | 'interrupted' | 'target-unreachable' | 'keys-refused' | 'budget-reached' | 'worker-lost'
  readonly durationMs: number
  /** When the first stage was to begin: what every arrival was due by. Missing in logs of versions that did not say so. */
  readonly loadStartMs?: number | null
  /** When the worker began the first stage, on the clock of the run; null: it did not. */
  readonly beganMs: number | null
  readonly eventLoopDelayMs: EventLoopDelay | null
  /** Observations that were judged and are not in the log: the disk had not kept up. */
  readonly unrecorded: number
  /** null: nothing was pushed. Missing in logs of versions that could not. */
  readonly pushed?: PushTally | null
}

/** What became of the samples that a run pushes, and how often a request with some of them was not taken. */
export type PushTally = { readonly takenSamples: number; readonly lostSamples: number; readonly failures: number }

export type LogWriter = {
  /** Returns at once; the line is on disk within a second, unless it is left out. */
  readonly write: (observation: Observation) => void
  /** How many were left out so far. */
  readonly unrecorded: () => number
  readonly end: (end: LogEnd) => Promise<void>
}

/** Where a log goes to; may be as slow as it likes. */
export type LogFile = {
  readonly append: (bytes: Buffer) => Promise<void>
  readonly close: () => Promise<void>
}

const flushEveryMs = 500
const flushAtCharacters = 256 * 1024
/** Characters that wait for the disk; with more of them, observations are left out. */
const mostWaiting = 33_554_432

/** Throws what the file system does when the file cannot be made. */
export async function openLog(file: string, head: LogHead, clock: Clock): Promise<LogWriter> {
  const handle = await open(file, 'w')
  return writeLog({ append: bytes => handle.appendFile(bytes), close: () => handle.close() }, head, clock)
}

/**
 * Writes observations as gzipped NDJSON. Every flush is one write of a whole gzip member that holds whole lines, so a
 * log can be read up to the last flush whatever happens to its writer. Compression runs off the main thread. Nobody waits
 * for the disk: what it cannot take in time is left out, and a line in its place says how much that is.
 */
export function writeLog(file: LogFile, head: LogHead, clock: Clock, most = mostWaiting): LogWriter {
  let pending: string[] = [JSON.stringify(head)]
  /** Of the lines that are pending, and of all that the disk does not have yet. */
  let characters = 0
  let waiting = 0
  let tail: Promise<void> = Promise.resolve()
  let timer: Cancel | null = null
  let unrecorded = 0
  let told = 0

  const flush = () => {
    timer?.()
    timer = null
    if (pending.length === 0) return
    const text = `${pending.join('\n')}\n`
    const flushed = characters
    pending = []
    characters = 0
    tail = tail
      .then(async () => file.append(await compress(text, { level: 4 })))
      .then(() => {
        waiting -= flushed
      })
    // Whoever awaits `end` learns of a failed write; until then it must not count as unhandled.
    tail.catch(() => {})
  }
  const put = (line: string) => {
    pending.push(line)
    characters += line.length
    waiting += line.length
  }
  const tellGap = () => {
    if (unrecorded > told) put(JSON.stringify({ leftOut: unrecorded - told }))
    told = unrecorded
  }
  flush()

  return {
    write: observation => {
      if (waiting >= most) {
        unrecorded++
        return
      }
      tellGap()
      put(JSON.stringify(observation))
      if (characters >= flushAtCharacters) flush()
      else timer ??= clock.at(clock.nowMs() + flushEveryMs, flush)
    },
    unrecorded: () => unrecorded,
    end: async end => {
      tellGap()
      put(JSON.stringify(end))
      flush()
      try {
        await tail
      } finally {
        await file.close()
      }
    },
  }
}

const compress = promisify(gzip)

/** Whether anything was ever written to a log: a worker may be lost before it begins. */
export const isBegun = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false

export type LogLine =
  | { readonly kind: 'head'; readonly head: LogHead }
  | { readonly kind: 'observation'; readonly observation: Observation }
  /** So many observations were left out here. */
  | { readonly kind: 'gap'; readonly leftOut: number }
  | { readonly kind: 'end'; readonly end: LogEnd }

/**
 * The lines of a log in order. What stands behind the last whole line, as after a kill, is left out. Where bytes are
 * damaged and not only missing, the log ends there, or up to 32 KiB of text before.
 */
export async function* readLog(file: string): AsyncIterable<LogLine> {
  const bytes = createReadStream(file)
  // An end inside a member must be no error: an error would take with it what has been unpacked and not yet read.
  const text = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH })
  bytes.on('error', cause => text.destroy(cause))
  bytes.pipe(text)
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) {
      const parsed = lineOf(line)
      if (parsed === null) return
      yield parsed
    }
  } catch (cause) {
    if (!isDamaged(cause)) throw cause
  }
}

/** What logs of earlier versions leave out. */
const oneWorker = { worker: 0, workers: 1 }
const silentEnd = { beganMs: null, unrecorded: 0 }

function lineOf(line: string): LogLine | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  if ('turnpike' in value) return { kind: 'head', head: { ...oneWorker, ...(value as LogHead) } }
  if ('leftOut' in value) return { kind: 'gap', leftOut: Number(value.leftOut) }
  if ('ended' in value) return { kind: 'end', end: { ...silentEnd, ...(value as LogEnd) } }
  // Records of earlier versions have no place: there the numbers of requests were their places.
  const observation = value as Observation
  return {
    kind: 'observation',
    observation: 'place' in value ? observation : { ...observation, place: observation.seq },
  }
}

/** zlib's words for bytes that are no gzip. */
const isDamaged = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'Z_BUF_ERROR' || cause.code === 'Z_DATA_ERROR')
