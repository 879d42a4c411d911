import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { UsageError } from './usage-error.ts'

/** A pipe must end within this many pauses, all in all about two seconds. */
const maxPauses = 200
const pauseMs = 10
const chunkBytes = 65_536

/**
 * The text of `file`: a file, or a pipe that ends soon. Throws a UsageError if it cannot be read, is longer than
 * `maxBytes`, or is not a text.
 */
export function readText(file: string, maxBytes: number, expected: string): string {
  const mistake = (got: string) => new UsageError({ where: file, got, expected })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readBytes(file, maxBytes, mistake))
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw mistake(cause instanceof TypeError ? 'bytes that are not UTF-8' : whyNotRead(cause))
  }
}

/** Why a file cannot be read, in words. */
export function whyNotRead(cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'no such file'
  return code === 'EACCES' || code === 'EPERM' ? 'a file without permission to read it' : whyUnreadable(cause)
}

/** The reason of a failed operation on a file, such as `ENOENT: no such file or directory`, without its path. */
export function whyUnreadable(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return code === undefined ? String(message) : (/^E\w+: [^,]+/.exec(message)?.[0] ?? code)
}

function readBytes(file: string, maxBytes: number, mistake: (got: string) => UsageError): Buffer {
  // Without waiting, so that a pipe without a writer cannot block the program.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(descriptor)
    if (stats.isDirectory()) throw mistake('a directory')
    if (stats.size > maxBytes) throw mistake(`${stats.size} bytes, more than ${maxBytes}`)
    const chunks: Buffer[] = []
    let length = 0
    for (let pauses = 0; ; ) {
      const chunk = Buffer.allocUnsafe(chunkBytes)
      const bytes = readNow(descriptor, chunk)
      // A pipe without a writer is at its end, too. Its writer may only be late.
      const waits = bytes === null || (bytes === 0 && length === 0 && stats.isFIFO())
      if (!waits && bytes === 0) return Buffer.concat(chunks)
      if (waits) {
        if (++pauses > maxPauses) throw mistake(`a pipe without an end for ${(maxPauses * pauseMs) / 1000} s`)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
        continue
      }
      const read = chunk.subarray(0, bytes)
      const other = whyNoText(read, length === 0)
      if (other !== null) throw mistake(other)
      length += read.length
      if (length > maxBytes) throw mistake(`more than ${maxBytes} bytes`)
      chunks.push(read)
    }
  } finally {
    closeSync(descriptor)
  }
}

/** What a part of a file is instead of text; null: it may be text. `isFirst`: it is the beginning of the file. */
export function whyNoText(bytes: Buffer, isFirst: boolean): string | null {
  if (!bytes.includes(0)) return null
  return isFirst && isUtf16(bytes) ? 'UTF-16, as ">" of Windows PowerShell 5 writes it, and not UTF-8' : 'binary data'
}

/** Whether a file begins with the mark of this encoding. */
const isUtf16 = ([first, second]: Buffer): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

/** The number of bytes read; null: none yet. */
function readNow(descriptor: number, chunk: Buffer): number | null {
  try {
    return readSync(descriptor, chunk)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EAGAIN') return null
    throw cause
  }
}
