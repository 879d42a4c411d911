import { type FileHandle, open } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { whyNoText, whyNotRead } from '../lib/read-text.ts'
import { UsageError } from '../lib/usage-error.ts'

/** A line, or one JSON value, with the line of the file that it begins at, from 1. */
export type SourceText = { readonly line: number; readonly text: string }

/** More than any prompt; a longer line or value is another kind of file, and would fill the memory. */
const maxTextLength = 67_108_864
const chunkBytes = 65_536

/**
 * The text of a file of any size, which may be compressed by gzip, chunk by chunk. `onBytes` gets the bytes that each chunk
 * took of the file. Throws a UsageError.
 */
export async function* chunksOf(file: string, onBytes: (bytes: number) => void = () => {}): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let isFirst = true
  try {
    for await (const bytes of bytesOf(file, onBytes)) {
      const other = whyNoText(bytes, isFirst)
      if (other !== null) throw new UsageError({ where: file, got: other, expected: 'a text file' })
      isFirst = false
      yield decoder.decode(bytes, { stream: true })
    }
    yield decoder.decode()
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    const isOfGzip = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_')
    const got = isOfGzip ? 'a gzip file that is damaged, or ends too early' : whyNotRead(cause)
    throw new UsageError({ where: file, got, expected: 'a file that can be read' })
  }
}

/**
 * The bytes of a file, unzipped if gzip has compressed it. Each part is valid until the next one is asked for: it reads into
 * one buffer, since a stream takes a new one for each part, and their memory is free late.
 */
async function* bytesOf(file: string, onBytes: (bytes: number) => void): AsyncIterable<Buffer> {
  const buffer = Buffer.alloc(chunkBytes)
  const handle = await open(file)
  try {
    for (let isFirst = true; ; isFirst = false) {
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes)
      if (bytesRead === 0) return
      if (isFirst && buffer[0] === 0x1f && buffer[1] === 0x8b) return yield* unzipped(handle, onBytes)
      onBytes(bytesRead)
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

async function* unzipped(handle: FileHandle, onBytes: (bytes: number) => void): AsyncIterable<Buffer> {
  const zipped = handle.createReadStream({ start: 0, autoClose: false })
  const gunzip = createGunzip({ chunkSize: chunkBytes })
  zipped.on('data', part => onBytes(part.length))
  zipped.on('error', cause => gunzip.destroy(cause))
  zipped.pipe(gunzip)
  try {
    yield* gunzip
  } finally {
    zipped.destroy()
  }
}

/** The lines of a text without those that are blank, in batches. */
export async function* linesOf(file: string, chunks: AsyncIterable<string>): AsyncIterable<readonly SourceText[]> {
  let rest = ''
  let line = 0
  const batch = (lines: readonly string[]): readonly SourceText[] => {
    const first = line + 1
    line += lines.length
    return lines.map((text, at) => ({ line: first + at, text })).filter(({ text }) => text.trim() !== '')
  }
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf('\n')
    if (end >= 0) yield batch((rest + chunk.slice(0, end)).split('\n'))
    // A long line is not searched again with each of its chunks.
    rest = end < 0 ? rest + chunk : chunk.slice(end + 1)
    assertShort(file, line + 1, rest.length)
  }
  if (rest !== '') yield batch([rest])
}

function assertShort(file: string, line: number, length: number): void {
  if (length <= maxTextLength) return
  throw new UsageError({
    where: `${file}:${line}`,
    got: `a value of more than ${maxTextLength / 1_048_576} MiB`,
    expected: 'a shorter one',
  })
}

const [quote, backslash, lineFeed, colon] = [0x22, 0x5c, 0x0a, 0x3a]
const [listStart, listEnd, objectStart, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d]

/** A list or an object that is open. `path`: the names that lead to it. */
type Level = { readonly isWanted: boolean; readonly path: string; key: string }

/**
 * The objects in the lists whose path matches `wanted`, such as `log/entries`, of a JSON document, or of several after
 * one another, in batches. Where the empty path matches, objects outside of lists are among them. It never holds more
 * than one of them, so the document may have any size. The last item has no text if the document ends too early.
 */
export async function* elementsOf(
  file: string,
  chunks: AsyncIterable<string>,
  wanted: RegExp,
): AsyncIterable<readonly (SourceText | { readonly line: number; readonly text: null })[]> {
  const levels: Level[] = []
  const isWantedAlone = wanted.test('')
  let line = 1
  let isText = false
  let isEscaped = false
  let word = ''
  /** Depth within the element that is read; 0: none is. */
  let depth = 0
  let element = ''
  let elementLine = 1
  for await (const chunk of chunks) {
    const found: SourceText[] = []
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at)
      if (isText) {
        if (isEscaped) isEscaped = false
        else if (code === backslash) isEscaped = true
        else if (code === quote) isText = false
        if (depth === 0 && isText && word.length < maxNameLength) word += chunk[at]
        continue
      }
      if (code === quote) {
        isText = true
        word = ''
      } else if (code === lineFeed) line++
      else if (code === colon && depth === 0) {
        const level = levels.at(-1)
        if (level !== undefined) level.key = word
      } else if (code === objectStart || code === listStart) {
        if (depth > 0) depth++
        else if (code === objectStart && (levels.at(-1)?.isWanted ?? isWantedAlone)) {
          depth = 1
          from = at
          element = ''
          elementLine = line
        } else levels.push(levelIn(levels.at(-1), code === listStart, wanted))
      } else if (code === objectEnd || code === listEnd) {
        if (depth === 0) levels.pop()
        else if (--depth === 0) found.push({ line: elementLine, text: element + chunk.slice(from, at + 1) })
      }
    }
    if (depth > 0) element += chunk.slice(from)
    assertShort(file, elementLine, element.length)
    yield found
  }
  if (levels.length > 0 || depth > 0) yield [{ line, text: null }]
}

/** Longer names lead to nothing that is read. */
const maxNameLength = 64

function levelIn(parent: Level | undefined, isList: boolean, wanted: RegExp): Level {
  const inside = parent === undefined || parent.key === '' ? (parent?.path ?? '') : joined(parent.path, parent.key)
  return { isWanted: isList && wanted.test(inside), path: inside, key: '' }
}

const joined = (path: string, key: string): string => (path === '' ? key : `${path}/${key}`)
