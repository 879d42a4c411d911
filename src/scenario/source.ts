import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml'
import { describeMistake, type Mistake } from '../lib/usage-error.ts'
import type { Complaint, Path } from './complaint.ts'

/** A YAML file as plain data that remembers where each part of it was written. */
export type Source = {
  readonly value: unknown
  /** Every key of the file, in order; plain data does not show those that were repeated. */
  readonly keys: readonly Key[]
  /** Puts complaints in the order of the file, each with its line and column. */
  readonly locate: (complaints: readonly (Complaint | OffsetComplaint)[]) => readonly Mistake[]
}

export type Key = {
  readonly name: string
  readonly offset: number
  /** Whether the same key was there before in its mapping. */
  readonly repeated: boolean
}

export type OffsetComplaint = { readonly offset: number } & Omit<Mistake, 'where'>

/** How many nodes aliases may stand for, so that a file of a few lines cannot fill the memory. */
const maxAliasCount = 100

/** One slip of indentation is many errors to a parser; those after the first few are its consequences. */
const mostSyntaxErrors = 5

/** The text of `file` as data, or why it is no YAML. */
export function readSource(text: string, file: string): Source | readonly Mistake[] {
  const lines = new LineCounter()
  const place = ({ offset, ...mistake }: OffsetComplaint): Mistake => {
    const { line, col } = lines.linePos(offset)
    return { where: `${file}:${Math.max(1, line)}:${Math.max(1, col)}`, ...mistake }
  }
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      merge: true,
      uniqueKeys: false,
      stringKeys: true,
    })
    const problems = [...document.errors, ...document.warnings]
    if (problems.length > 0) return syntaxErrors(problems).map(place)
    return {
      value: plain(document),
      keys: keysOf(document),
      locate: complaints => {
        const told = complaints
          .map(complaint => ('offset' in complaint ? complaint : located(document, text, complaint)))
          .sort((a, b) => a.offset - b.offset)
          .map(place)
        // What an alias repeats is wrong in one place only.
        return [...new Map(told.map(mistake => [describeMistake(mistake), mistake])).values()]
      },
    }
  } catch (cause) {
    if (cause instanceof AliasError) return [place(invalidYaml(cause.offset, cause.message))]
    // The parser is recursive: a file of brackets alone exhausts the stack.
    if (cause instanceof RangeError) return [place(invalidYaml(0, nestedTooDeeply))]
    throw cause
  }
}

const invalidYaml = (offset: number, message: string): OffsetComplaint => ({
  offset,
  got: 'invalid YAML',
  expected: 'a scenario',
  hint: message.replace(/\s+/g, ' '),
})

/** What the parser says in words of its own making. */
const nestedTooDeeply = 'it is nested too deeply'
const clearer: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  NON_STRING_KEY: 'a key must be text',
  RESOURCE_EXHAUSTION: nestedTooDeeply,
}

/** In the order of the file; of several at one place the first says it best. */
function syntaxErrors(problems: readonly YAMLError[]): readonly OffsetComplaint[] {
  const byOffset = new Map<number, OffsetComplaint>()
  for (const { pos, code, message } of problems) {
    if (!byOffset.has(pos[0])) byOffset.set(pos[0], invalidYaml(pos[0], clearer[code] ?? message))
  }
  return [...byOffset.values()].sort((a, b) => a.offset - b.offset).slice(0, mostSyntaxErrors)
}

function plain(document: Document): unknown {
  const aliases: Alias[] = []
  visit(document, { Alias: (_, alias) => void aliases.push(alias) })
  for (const alias of aliases) {
    if (alias.resolve(document) === undefined)
      throw new AliasError(`there is no anchor &${alias.source} before it`, alias)
  }
  try {
    return document.toJS({ maxAliasCount })
  } catch (cause) {
    const [first] = aliases
    if (!(cause instanceof ReferenceError) || first === undefined) throw cause
    throw new AliasError(`its aliases stand for more than ${maxAliasCount} nodes`, first)
  }
}

function keysOf(document: Document): readonly Key[] {
  const keys: Key[] = []
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<string>()
      for (const { key } of map.items) {
        const name = nameOf(key)
        keys.push({ name, offset: startOf(key, startOf(map, 0)), repeated: seen.has(name) })
        seen.add(name)
      }
    },
  })
  return keys.sort((a, b) => a.offset - b.offset)
}

function located(document: Document, text: string, { path, at, ...mistake }: Complaint): OffsetComplaint {
  return { offset: offsetOf(document, text, path, at), ...mistake }
}

/** The offset of the part at `path`; of the nearest part around it when it is not there. */
function offsetOf(document: Document, text: string, path: Path, at: Complaint['at']): number {
  let node: unknown = document.contents
  let offset = startOf(node, 0)
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      // Of equal keys the last one's value is used.
      const pair = node.items.findLast(item => nameOf(item.key) === String(step))
      if (pair === undefined) return offset
      const keyOffset = startOf(pair.key, offset)
      node = pair.value
      offset = at === 'key' && depth === path.length - 1 ? keyOffset : startOf(node, keyOffset)
    } else if (isSeq(node) && isNode(node.items[Number(step)])) {
      node = node.items[Number(step)]
      offset = startOf(node, offset)
    } else {
      return offset
    }
  }
  return typeof at === 'number' ? offset + offsetWithin(node, text, at) : offset
}

/** A text that was written with escapes or over several lines has no columns of its own: then 0, its start. */
function offsetWithin(node: unknown, text: string, at: number): number {
  if (!isScalar(node) || typeof node.value !== 'string' || !node.range) return 0
  const start = text.slice(node.range[0], node.range[1]).indexOf(node.value)
  return start < 0 ? 0 : start + at
}

const nameOf = (key: unknown): string => (isScalar(key) ? String(key.value) : String(key))

const startOf = (node: unknown, otherwise: number): number => (isNode(node) && node.range ? node.range[0] : otherwise)

class AliasError extends Error {
  override readonly name = 'AliasError' as const
  readonly offset: number

  constructor(message: string, alias: Alias) {
    super(message)
    this.offset = startOf(alias, 0)
  }
}
