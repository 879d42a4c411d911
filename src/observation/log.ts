import { createReadStream, existsSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, createGunzip, gzip } from 'node:zlib'
import type { Cancel, Clock } from '../lib/clock.ts'
import { isNestedDeeper, isObject, type JsonObject, parseJson } from '../lib/json.ts'
import { whyUnreadable } from '../lib/read-text.ts'
import { parseValid } from '../lib/schemas.ts'
import { UsageError } from '../lib/usage-error.ts'
import { footerSchema, gapSchema, headerSchema, type LogFooter, type LogHeader, logFormats } from './log-lines.ts'
import { createRowReader, createRowWriter, type RowLine, WrongRow } from './log-rows.ts'
import { type Observation, observationSchema } from './observation.ts'

export type LogWriter = {
  /** Never blocks. The line is on disk within a second, unless it is skipped. */
  readonly write: (observation: Observation) => void
  /** How many observations were skipped so far. */
  readonly notRecorded: () => number
  /** Ends the log. Never rejects: resolves with the reason why the log is incomplete, or null. */
  readonly end: (end: LogFooter) => Promise<string | null>
}

/** The destination of a log. It may be slow. */
type LogFile = {
  readonly append: (bytes: Buffer) => Promise<void>
  readonly close: () => Promise<void>
}

const flushEveryMs = 500
/** Bytes of one gzip member. Compressing these takes about a millisecond, for which another thread may hold the core of the load. */
const chunkBytes = 64 * 1024
/** Room for the last line of a chunk. A line that does not fit begins the next chunk. */
const lastLineBytes = 16 * 1024
/** While the disk is behind, one member holds up to this many chunks. */
const maxChunks = 64
/** Bytes that may wait for the disk. Beyond that, observations are skipped. */
const maxWaiting = 33_554_432
const lineFeed = '\n'.charCodeAt(0)

/**
 * Creates a log file and writes its header. If it cannot be created or written, only its observations are
 * lost: the judges do not need it. Links are not followed, and other users cannot read the file.
 */
export async function openLog(file: string, head: LogHeader, clock: Clock): Promise<LogWriter> {
  const opened = open(file, 'wx', 0o600)
  // `append` reports a failure.
  await opened.catch(() => {})
  const append = async (bytes: Buffer) => (await opened).appendFile(bytes)
  const close = async () => (await opened).close()
  return writeLog({ append, close }, head, clock)
}

/**
 * Writes observations as gzipped NDJSON of rows. Every flush writes one gzip member of whole lines, so a log can be read
 * up to the last flush even after a crash. Compression runs off the main thread, one flush at a time. Writing never waits
 * for the disk: if more than `max` bytes are pending, observations are skipped, and a line in their place states how
 * many. Lines wait as bytes, so that the garbage collector does not copy them.
 */
export function writeLog(file: LogFile, head: LogHeader, clock: Clock, max = maxWaiting): LogWriter {
  /** The lines that wait, in chunks. The last one takes more lines. */
  const chunks: { readonly bytes: Buffer; length: number }[] = []
  /** Bytes that are not yet on disk. */
  let waiting = 0
  let writing: Promise<void> | null = null
  let isDue = false
  let timer: Cancel | null = null
  let notRecorded = 0
  let reported = 0
  let failure: string | null = null
  const rowOf = createRowWriter()

  const flush = () => {
    timer?.()
    timer = null
    isDue = writing !== null && chunks.length > 0
    if (writing !== null || chunks.length === 0) return
    const taken = chunks.splice(0, maxChunks)
    const lines = Buffer.concat(taken.map(({ bytes, length }) => bytes.subarray(0, length)))
    writing = writeMember(lines).then(() => {
      writing = null
      waiting -= lines.length
      if (isDue) flush()
    })
  }
  async function writeMember(lines: Buffer) {
    // After a write that failed, the end of the file is unknown.
    if (failure !== null) return
    try {
      await file.append(await compress(lines, { level: 3 }))
    } catch (cause) {
      failure = whyUnreadable(cause)
    }
  }
  const put = (line: string) => {
    const size = Buffer.byteLength(line) + 1
    let last = chunks.at(-1)
    if (last === undefined || last.length >= chunkBytes || last.length + size > last.bytes.length) {
      last = { bytes: Buffer.allocUnsafeSlow(Math.max(chunkBytes + lastLineBytes, size)), length: 0 }
      chunks.push(last)
    }
    last.bytes.write(line, last.length)
    last.length += size
    last.bytes[last.length - 1] = lineFeed
    waiting += size
    if (last.length >= chunkBytes) flush()
  }
  const writeGap = () => {
    if (notRecorded > reported) put(JSON.stringify({ skipped: notRecorded - reported }))
    reported = notRecorded
  }
  put(JSON.stringify(head))
  flush()

  return {
    write: observation => {
      if (waiting >= max || failure !== null) {
        notRecorded++
        return
      }
      writeGap()
      put(rowOf(observation))
      if (chunks.length > 0) timer ??= clock.at(clock.nowMs() + flushEveryMs, flush)
    },
    notRecorded: () => notRecorded,
    end: async end => {
      writeGap()
      put(JSON.stringify(end))
      for (flush(); writing !== null; flush()) await writing
      await file.close().catch(cause => {
        failure ??= whyUnreadable(cause)
      })
      return failure
    },
  }
}

const compress = promisify(gzip)

/** Whether a log exists. A worker may crash before it creates one. */
export const hasHeader = (file: string): boolean => existsSync(file)

export type LogLine =
  | { readonly kind: 'head'; readonly head: LogHeader }
  | { readonly kind: 'observation'; readonly observation: Observation }
  /** Observations were skipped here. */
  | { readonly kind: 'gap'; readonly skipped: number }
  | { readonly kind: 'end'; readonly end: LogFooter }

/** The longest line, and the deepest nesting in one. A shorter line cannot be nested deeply. */
const maxLineLength = 67_108_864
const maxNesting = 200
const maxFlatLength = 4_096

/**
 * The lines of a log in order. A damaged last line, as after a kill, is skipped. If bytes are damaged, the log ends
 * there, or up to 32 KiB of text earlier. Throws a UsageError for a log of another format, and for a line that Turnpike
 * did not write.
 */
export async function* readLog(file: string): AsyncIterable<LogLine> {
  if (!isFile(file)) throw mistake(file, 'no regular file', 'a log file')
  let number = 0
  let last: LogLine | null = null
  let damaged: string | null = null
  const readRow = createRowReader()
  for await (const { line, isWhole } of linesOf(file)) {
    number++
    const where = `${file}: line ${number}`
    if (damaged !== null) throw mistake(damaged, 'a damaged line', 'a log that Turnpike wrote')
    const value = parseJson(line, maxNesting)
    if (!isObject(value) && !Array.isArray(value)) {
      if (isWhole) damaged = where
      continue
    }
    if (line.length > maxFlatLength && isNestedDeeper(line, maxNesting))
      throw mistake(where, 'a deeply nested line', 'a log that Turnpike wrote')
    const isRow = Array.isArray(value) || 'shape' in value
    const parsed = isRow ? observationOf(readRow, value, where) : lineOf(value, where)
    if (parsed === null) continue
    if ((parsed.kind === 'head') !== (last === null))
      throw mistake(where, last === null ? 'no header' : 'a second header', 'one header, as the first line')
    if (last?.kind === 'end' && parsed.kind !== 'gap')
      throw mistake(where, 'a line after the last one', 'the end of the log')
    yield parsed
    last = parsed
  }
}

/** false also for a link that leads nowhere. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The lines of a compressed file. The last one may lack its line feed. */
async function* linesOf(file: string): AsyncIterable<{ readonly line: string; readonly isWhole: boolean }> {
  const bytes = createReadStream(file)
  // A truncated member must not be an error, since an error would discard text that is unpacked and not yet read.
  const unpacked = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH })
  bytes.on('error', cause => unpacked.destroy(cause))
  bytes.pipe(unpacked)
  unpacked.setEncoding('utf8')
  /** The line that is not yet whole, in parts, so that a long one is joined only once. */
  let parts: string[] = []
  let length = 0
  try {
    for await (const chunk of unpacked as AsyncIterable<string>) {
      const lines = chunk.split('\n')
      const rest = lines.pop() ?? ''
      for (const line of lines) {
        yield { line: parts.join('') + line, isWhole: true }
        parts = []
        length = 0
      }
      parts.push(rest)
      length += rest.length
      if (length > maxLineLength) throw mistake(file, `a line of more than ${maxLineLength} characters`, 'a log')
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    if (!isDamaged(cause)) throw mistake(file, whyUnreadable(cause), 'a readable log')
  } finally {
    bytes.destroy()
    unpacked.destroy()
  }
  if (length > 0) yield { line: parts.join(''), isWhole: false }
}

const mistake = (where: string, got: string, expected: string): UsageError => new UsageError({ where, got, expected })

function lineOf(object: JsonObject, where: string): LogLine {
  if ('turnpike' in object) {
    if (!logFormats.some(format => format === object.turnpike))
      throw mistake(where, `a log of format ${object.turnpike}`, `a log of format ${logFormats.join(' or ')}`)
    return { kind: 'head', head: parseValid(headerSchema, object, where) }
  }
  if ('skipped' in object) return { kind: 'gap', ...parseValid(gapSchema, object, where) }
  if ('ended' in object) return { kind: 'end', end: parseValid(footerSchema, object, where) }
  if (!('id' in object && 'outcome' in object))
    throw mistake(where, 'a line that is not an observation', 'a log that Turnpike wrote')
  return { kind: 'observation', observation: parseValid(observationSchema, object, where) }
}

/** null: the line only states which values vary. */
function observationOf(readRow: ReturnType<typeof createRowReader>, line: RowLine, where: string): LogLine | null {
  try {
    const observation = readRow(line)
    if (observation === null) return null
    return { kind: 'observation', observation: parseValid(observationSchema, observation, where) }
  } catch (cause) {
    if (cause instanceof WrongRow) throw mistake(where, cause.message, 'a log that Turnpike wrote')
    throw cause
  }
}

/** The error codes of zlib for invalid gzip. */
const isDamaged = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'Z_BUF_ERROR' || cause.code === 'Z_DATA_ERROR')
