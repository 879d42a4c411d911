import { createReadStream, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { constants, createGunzip, gzip } from 'node:zlib'
import type { Cancel, Clock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { Observation } from './observation.ts'

/** What the judging half must know about a run, besides the plan. */
export type RunInfo = {
  /** The version of the log format. */
  readonly turnpike: 2
  readonly runId: string
  readonly version: string
  /** Base address that was used. */
  readonly target: string
  /** Unix milliseconds at which the clock of the observations is 0. */
  readonly startedAtMs: number
  /** Present if nobody gave keys, so that Turnpike invented some. A reference service accepts them. */
  readonly inventedKeys?: true
}

/** The first line of a log. */
export type LogHeader = RunInfo & {
  /** The index of the worker that wrote it, and the number of workers. */
  readonly worker: number
  readonly workers: number
}

/** Event-loop delay of a worker in milliseconds: how long its own work delayed its events. */
export type EventLoopDelay = { readonly p99: number; readonly max: number }

/** The last line of a log. A killed run has none. */
export type LogFooter = {
  readonly ended: 'complete' | 'interrupted' | 'target-unreachable' | 'unauthorized' | 'budget-reached' | 'worker-lost'
  readonly durationMs: number
  /** When the first stage was due to begin; due times count from it. null if no stage began. */
  readonly loadStartMs: number | null
  /** When the worker began the first stage, on the clock of the run; null if it did not begin. */
  readonly startedMs: number | null
  readonly eventLoopDelayMs: EventLoopDelay | null
  /** Observations that were judged but are not in the log, because the disk was too slow. */
  readonly notRecorded: number
  /** null if nothing was pushed. */
  readonly pushed: PushCounts | null
}

/** Metric samples that were pushed or lost, and failed push requests. */
export type PushCounts = { readonly takenSamples: number; readonly lostSamples: number; readonly failures: number }

export type LogWriter = {
  /** Never blocks. The line is on disk within a second, unless it is skipped. */
  readonly write: (observation: Observation) => void
  /** How many observations were skipped so far. */
  readonly notRecorded: () => number
  readonly end: (end: LogFooter) => Promise<void>
}

/** The destination of a log. It may be slow. */
type LogFile = {
  readonly append: (bytes: Buffer) => Promise<void>
  readonly close: () => Promise<void>
}

const flushEveryMs = 500
const flushAtCharacters = 256 * 1024
/** Characters that may wait for the disk. Beyond that, observations are skipped. */
const maxWaiting = 33_554_432

/** Opens a log file and writes its header. Throws the error of the file system if it cannot be created. */
export async function openLog(file: string, head: LogHeader, clock: Clock): Promise<LogWriter> {
  const handle = await open(file, 'w')
  return writeLog({ append: bytes => handle.appendFile(bytes), close: () => handle.close() }, head, clock)
}

/**
 * Writes observations as gzipped NDJSON. Every flush writes one gzip member of whole lines, so a log can be read up to the
 * last flush even after a crash. Compression runs off the main thread. Writing never waits for the disk: if more than
 * `max` characters are pending, observations are skipped, and a line in their place states how many.
 */
export function writeLog(file: LogFile, head: LogHeader, clock: Clock, max = maxWaiting): LogWriter {
  let pending: string[] = [JSON.stringify(head)]
  /** Characters in `pending`, and those not yet on disk. */
  let characters = 0
  let waiting = 0
  let tail: Promise<void> = Promise.resolve()
  let timer: Cancel | null = null
  let notRecorded = 0
  let reported = 0

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
    // `end` reports a failed write. Until then the rejection must not count as unhandled.
    tail.catch(() => {})
  }
  const put = (line: string) => {
    pending.push(line)
    characters += line.length
    waiting += line.length
  }
  const writeGap = () => {
    if (notRecorded > reported) put(JSON.stringify({ skipped: notRecorded - reported }))
    reported = notRecorded
  }
  flush()

  return {
    write: observation => {
      if (waiting >= max) {
        notRecorded++
        return
      }
      writeGap()
      put(JSON.stringify(observation))
      if (characters >= flushAtCharacters) flush()
      else timer ??= clock.at(clock.nowMs() + flushEveryMs, flush)
    },
    notRecorded: () => notRecorded,
    end: async end => {
      writeGap()
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

/** Whether a log exists. A worker may crash before it creates one. */
export const hasHeader = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false

export type LogLine =
  | { readonly kind: 'head'; readonly head: LogHeader }
  | { readonly kind: 'observation'; readonly observation: Observation }
  /** Observations were skipped here. */
  | { readonly kind: 'gap'; readonly skipped: number }
  | { readonly kind: 'end'; readonly end: LogFooter }

/**
 * The lines of a log in order. An incomplete last line, as after a kill, is skipped. If bytes are damaged, the log ends
 * there, or up to 32 KiB of text earlier. Throws a UsageError for a log of another format, and for a line
 * of no known kind.
 */
export async function* readLog(file: string): AsyncIterable<LogLine> {
  const bytes = createReadStream(file)
  // A truncated member must not be an error, since an error would discard text that is unpacked and not yet read.
  const text = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH })
  bytes.on('error', cause => text.destroy(cause))
  bytes.pipe(text)
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) {
      const parsed = lineOf(line, file)
      if (parsed === null) return
      yield parsed
    }
  } catch (cause) {
    if (!isDamaged(cause)) throw cause
  }
}

function lineOf(line: string, file: string): LogLine | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  if ('turnpike' in value) {
    if (value.turnpike !== 2) {
      throw new UsageError({ where: file, got: `a log of format ${value.turnpike}`, expected: 'a log of format 2' })
    }
    return { kind: 'head', head: value as LogHeader }
  }
  if ('skipped' in value) return { kind: 'gap', skipped: Number(value.skipped) }
  if ('ended' in value) return { kind: 'end', end: value as LogFooter }
  if (!('id' in value && 'outcome' in value)) {
    throw new UsageError({ where: file, got: 'a line that is no observation', expected: 'a log that Turnpike wrote' })
  }
  return { kind: 'observation', observation: value as Observation }
}

/** The error codes of zlib for invalid gzip. */
const isDamaged = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'Z_BUF_ERROR' || cause.code === 'Z_DATA_ERROR')
