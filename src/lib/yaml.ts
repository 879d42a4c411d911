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

/** A YAML file as plain data that knows the position of each part. */
export type YamlSource = {
  readonly value: unknown
  /**
   * Adds line and column to mistakes, in the order of the file. Also reports keys that no file may have: repeated
   * keys, which the data does not show, and secrets.
   */
  readonly locate: (found: readonly SchemaMistake[]) => readonly Mistake[]
}

/** The name of a kind of file in messages, and a hint where its secrets belong. */
export type YamlKind = { readonly name: string; readonly secretHint: string }

/** The position of a value in a file: keys and indices from its root. */
export type Path = readonly (string | number)[]

/** A mistake without a line yet. It is about the key at `path`, its value, or the character `at` of its text. */
export type SchemaMistake = { readonly path: Path; readonly at: 'key' | 'value' | number } & Omit<Mistake, 'where'>

export type ReportMistake = (mistake: SchemaMistake) => void

type OffsetMistake = { readonly offset: number } & Omit<Mistake, 'where'>

/** The maximum size of a file. */
const maxBytes = 1_048_576

/** The maximum number of nodes that aliases expand to, so that a file of a few lines cannot fill the memory. */
const maxAliasCount = 100

/** One wrong indentation causes many parser errors; those after the first few are consequences. */
const maxSyntaxErrors = 5

/** The text of `file`. Throws a UsageError if it cannot be read or is too long. */
export function readYaml(file: string, { name }: YamlKind): string {
  try {
    // Checking the size first makes a wrong path to a huge file cheap.
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

/** Parses `text`, the content of `file`. Throws a UsageError if it is not valid YAML. */
export function parseYaml(text: string, file: string, kind: YamlKind): YamlSource {
  checkLength(file, Buffer.byteLength(text))
  const lines = new LineCounter()
  const place = ({ offset, ...mistake }: OffsetMistake): Mistake => {
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
      locate: found => {
        const located = found.map(({ path, at, ...mistake }) => ({
          offset: offsetOf(document, text, path, at),
          ...mistake,
        }))
        const mistakes = [...located, ...checkKeys(document, kind)].sort((a, b) => a.offset - b.offset).map(place)
        // A mistake that an alias repeats is reported once.
        return [...new Map(mistakes.map(mistake => [describeMistake(mistake), mistake])).values()]
      },
    }
  } catch (cause) {
    if (cause instanceof AliasError) throw new UsageError(invalid(cause.offset, cause.message))
    // The parser is recursive, so a file of many brackets exhausts the stack.
    if (cause instanceof RangeError) throw new UsageError(invalid(0, nestedTooDeeply))
    throw cause
  }
}

const invalidYaml = (offset: number, message: string, { name }: YamlKind): OffsetMistake => ({
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

/** In the order of the file. Of several errors at one position, the first is the clearest. */
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
    throw new AliasError(`its aliases expand to more than ${maxAliasCount} nodes`, first)
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

/** Whether people use this key for a secret, in any spelling. */
const isSecretKey = (name: string): boolean => secretKeys.has(name.toLowerCase().replace(/[-_]/g, ''))

/** Whether every file refuses this key, so that no schema has to. */
export const isRefusedKey = (name: string): boolean => isSecretKey(name) || name === '__proto__'

/** The mistakes in the keys of a file. A message never repeats the value of a secret. */
function checkKeys(document: Document, kind: YamlKind): readonly OffsetMistake[] {
  return keysOf(document).flatMap(({ name, offset, repeated }): OffsetMistake[] => {
    if (isSecretKey(name)) {
      const got = `the key ${describeValue(name)}`
      return [{ offset, got, expected: `no secret in a ${kind.name}`, hint: kind.secretHint }]
    }
    // In JavaScript, an assignment to this key is silently lost.
    if (name === '__proto__')
      return [{ offset, got: describeValue(name), expected: 'a name of letters, digits and hyphens' }]
    return repeated
      ? [{ offset, got: `a second ${describeValue(name)}`, expected: 'each key once in its mapping' }]
      : []
  })
}

/** A key, and whether its mapping has the same key before it. */
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

/** The offset of the part at `path`, or of the nearest enclosing part if it is missing. */
function offsetOf(document: Document, text: string, path: Path, at: SchemaMistake['at']): number {
  let node: unknown = document.contents
  let offset = startOf(node, 0)
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      // Of equal keys, the last one applies.
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

/** 0 for a text with escapes or several lines, since its characters have no columns of their own. */
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
