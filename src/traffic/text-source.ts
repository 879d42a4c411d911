import { open } from 'node:fs/promises'
import { whyNoText, whyNotRead } from '../lib/read-text.ts'
import { UsageError } from '../lib/usage-error.ts'

/** A line, or one JSON value, with the line of the file that it begins at, from 1. */
export type SourceText = { readonly line: number; readonly text: string }

/** More than any prompt; a longer line or value is another kind of file, and would fill the memory. */
const maxTextLength = 67_108_864
const chunkBytes = 65_536

/**
 * The text of a file of any size, chunk by chunk. `onBytes` gets the bytes of each chunk. It reads into one buffer: a stream
 * takes a new one for each chunk, and their memory is free late. Throws a UsageError.
 */
export async function* chunksOf(file: string, onBytes: (bytes: number) => void = () => {}): AsyncIterable<string> {
  const decoder = new TextDecoder()
  const buffer = Buffer.alloc(chunkBytes)
  let isFirst = true
  try {
    const handle = await open(file)
    try {
      while (true) {
        const { bytesRead } = await handle.read(buffer, 0, chunkBytes)
        if (bytesRead === 0) break
        const bytes = buffer.subarray(0, bytesRead)
        const other = whyNoText(bytes, isFirst)
        if (other !== null) throw new UsageError({ where: file, got: other, expected: 'a text file' })
        isFirst = false
        onBytes(bytesRead)
        yield decoder.decode(bytes, { stream: true })
      }
    } finally {
      await handle.close()
    }
    yield decoder.decode()
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError({ where: file, got: whyNotRead(cause), expected: 'a file that can be read' })
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
 * The objects in the lists at `path` of a JSON document, or of several after one another, in batches. It never holds more
 * than one of them, so the document may have any size. The last item has no text if the document ends too early.
 */
export async function* elementsOf(
  file: string,
  chunks: AsyncIterable<string>,
  path: readonly string[],
): AsyncIterable<readonly (SourceText | { readonly line: number; readonly text: null })[]> {
  const wanted = path.join('/')
  const levels: Level[] = []
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
        else if (code === objectStart && levels.at(-1)?.isWanted) {
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

function levelIn(parent: Level | undefined, isList: boolean, wanted: string): Level {
  const inside = parent === undefined || parent.key === '' ? (parent?.path ?? '') : joined(parent.path, parent.key)
  return { isWanted: isList && inside === wanted, path: inside, key: '' }
}

const joined = (path: string, key: string): string => (path === '' ? key : `${path}/${key}`)
