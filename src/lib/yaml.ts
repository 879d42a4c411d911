import { readFileSync, statSync } from 'node:fs'
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
import { describeMistake, describeValue, type Mistake, UsageError } from './usage-error.ts'

/** A YAML file as plain data that remembers where each part of it was written. */
export type YamlSource = {
  readonly value: unknown
  /**
   * Gives complaints their line and column, in the order of the file. Adds those about keys that no file may have:
   * repeated ones, which the data does not show, and secrets.
   */
  readonly locate: (complaints: readonly Complaint[]) => readonly Mistake[]
}

/** What a kind of file is called in messages, and where its secrets belong. */
export type YamlKind = { readonly name: string; readonly secretHint: string }

/** Where something is in a file, as keys and indices from its root. */
export type Path = readonly (string | number)[]

/** A mistake before it has a line: whether the key at `path` is wrong, its value, or the character `at` of its text. */
export type Complaint = { readonly path: Path; readonly at: 'key' | 'value' | number } & Omit<Mistake, 'where'>

export type Complain = (complaint: Complaint) => void

type OffsetComplaint = { readonly offset: number } & Omit<Mistake, 'where'>

/** The largest file that is read. */
const maxBytes = 1_048_576

/** How many nodes aliases may stand for, so that a file of a few lines cannot fill the memory. */
const maxAliasCount = 100

/** One slip of indentation is many errors to a parser; those after the first few are its consequences. */
const maxSyntaxErrors = 5

/** The text of `file`. Throws a UsageError when it cannot be read or is too long. */
export function readYaml(file: string, { name }: YamlKind): string {
  try {
    // The size is checked before the file is read, so that a wrong path to a huge file costs nothing.
    checkLength(file, statSync(file).size)
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError({ where: file, got: (cause as Error).message, expected: `a readable ${name} file (YAML)` })
  }
}

function checkLength(file: string, bytes: number): void {
  if (bytes > maxBytes) throw new UsageError({ where: file, got: `${bytes} bytes`, expected: `at most ${maxBytes}` })
}

/** `text`, which was read from `file`, as data. Throws a UsageError when it is no YAML. */
export function parseYaml(text: string, file: string, kind: YamlKind): YamlSource {
  checkLength(file, Buffer.byteLength(text))
  const lines = new LineCounter()
  const place = ({ offset, ...mistake }: OffsetComplaint): Mistake => {
    const { line, col } = lines.linePos(offset)
    return { where: `${file}:${Math.max(1, line)}:${Math.max(1, col)}`, ...mistake }
  }
  const invalid = (offset: number, message: string) => place(invalidYaml(offset, message, kind))
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      merge: true,
      uniqueKeys: false,
      stringKeys: true,
    })
    const problems = [...document.errors, ...document.warnings]
    if (problems.length > 0)
      throw new UsageError(syntaxErrors(problems).map(([offset, message]) => invalid(offset, message)))
    return {
      value: plain(document),
      locate: complaints => {
        const located = complaints.map(({ path, at, ...mistake }) => ({
          offset: offsetOf(document, text, path, at),
          ...mistake,
        }))
        const mistakes = [...located, ...checkKeys(document, kind)].sort((a, b) => a.offset - b.offset).map(place)
        // What an alias repeats is wrong in one place only.
        return [...new Map(mistakes.map(mistake => [describeMistake(mistake), mistake])).values()]
      },
    }
  } catch (cause) {
    if (cause instanceof AliasError) throw new UsageError(invalid(cause.offset, cause.message))
    // The parser is recursive: a file of brackets alone exhausts the stack.
    if (cause instanceof RangeError) throw new UsageError(invalid(0, nestedTooDeeply))
    throw cause
  }
}

const invalidYaml = (offset: number, message: string, { name }: YamlKind): OffsetComplaint => ({
  offset,
  got: 'invalid YAML',
  expected: `a ${name}`,
  hint: message.replace(/\s+/g, ' '),
})

/** Messages in place of the parser's own. */
const nestedTooDeeply = 'it is nested too deeply'
const clearer: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  NON_STRING_KEY: 'a key must be text',
  RESOURCE_EXHAUSTION: nestedTooDeeply,
}

/** In the order of the file; of several at one place, the first is the clearest. */
function syntaxErrors(problems: readonly YAMLError[]): readonly (readonly [offset: number, message: string])[] {
  const byOffset = new Map<number, string>()
  for (const { pos, code, message } of problems) {
    if (!byOffset.has(pos[0])) byOffset.set(pos[0], clearer[code] ?? message)
  }
  return [...byOffset].sort(([a], [b]) => a - b).slice(0, maxSyntaxErrors)
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

const secretKeys = new Set([
  'key',
  'keys',
  'token',
  'tokens',
  'secret',
  'secrets',
  'apikey',
  'apikeys',
  'password',
  'authorization',
  'bearer',
])

/** A key under which people write a secret, in any spelling. */
const isSecretKey = (name: string): boolean => secretKeys.has(name.toLowerCase().replace(/[-_]/g, ''))

/** A key that is refused in every file, so that no schema needs to complain about it as well. */
export const isRefusedKey = (name: string): boolean => isSecretKey(name) || name === '__proto__'

/** What is wrong with the keys of a file. A message never repeats the value of a secret. */
function checkKeys(document: Document, kind: YamlKind): readonly OffsetComplaint[] {
  return keysOf(document).flatMap(({ name, offset, repeated }): OffsetComplaint[] => {
    if (isSecretKey(name)) {
      const got = `the key ${describeValue(name)}`
      return [{ offset, got, expected: `no secret in a ${kind.name}`, hint: kind.secretHint }]
    }
    // JavaScript gives this key a meaning of its own: an assignment to it is lost without an error.
    if (name === '__proto__')
      return [{ offset, got: describeValue(name), expected: 'a name of letters, digits and hyphens' }]
    return repeated
      ? [{ offset, got: `a second ${describeValue(name)}`, expected: 'each key once in its mapping' }]
      : []
  })
}

/** A key, and whether the same key was there before in its mapping. */
type YamlKey = { readonly name: string; readonly offset: number; readonly repeated: boolean }

function keysOf(document: Document): readonly YamlKey[] {
  const keys: YamlKey[] = []
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
  return keys
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

/** 0, the start, for a text that was written with escapes or over several lines: it has no columns of its own. */
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
