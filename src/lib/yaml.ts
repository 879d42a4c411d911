import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import { isObject } from './json.ts'
import { memoizeByObject } from './memoize.ts'
import { readText } from './read-text.ts'
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

/** The maximum number of aliases and of nodes in a file: far more than a person writes, and quick to check. */
const maxAliases = 200
const maxNodes = 50_000

/** The text of `file`. Throws a UsageError if it cannot be read or is too long. */
export function readYaml(file: string, { name }: YamlKind): string {
  return readText(file, maxBytes, `a readable ${name} file (YAML)`)
}

/** Parses `text`, the content of `file`. Throws a UsageError if it is not valid YAML. */
export function parseYaml(text: string, file: string, kind: YamlKind): YamlSource {
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
    if (problems.length > 0) throw new UsageError(invalid(...syntaxError(problems)))
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
    if (cause instanceof NodeError) throw new UsageError(invalid(cause.offset, cause.message))
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
  MULTIPLE_DOCS: 'it has multiple documents',
  MULTILINE_IMPLICIT_KEY: 'a key needs a colon and a space after it',
  BLOCK_AS_IMPLICIT_KEY: 'there is a second colon in the line; check the indentation, or put the value in quotes',
}

/** The first syntax error. Those after it are mostly consequences. Of several at one position, the first is the clearest. */
function syntaxError(problems: readonly YAMLError[]): readonly [offset: number, message: string] {
  const first = problems.reduce((before, each) => (each.pos[0] < before.pos[0] ? each : before))
  return [first.pos[0], clearer[first.code] ?? first.message]
}

/** The value of a document. Throws a NodeError where it has none. */
function plain(document: Document): unknown {
  const targets = targetsOf(document)
  const resolved = (node: unknown) => (isAlias(node) ? targets.get(node) : node)
  visit(document, {
    Pair: (_, { key, value }) => {
      if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN') checkMerge(value, key, resolved)
    },
  })
  const { contents } = document
  const [first] = targets.keys()
  if (isNode(contents) && sizeOf(contents, resolved, new Map()) > maxNodes)
    throw first === undefined
      ? new NodeError(`it has more than ${maxNodes} nodes`, contents)
      : new NodeError(`its aliases expand to more than ${maxNodes} nodes`, first)
  try {
    return document.toJS({ maxAliasCount })
  } catch (cause) {
    if (!(cause instanceof ReferenceError) || first === undefined) throw cause
    throw new NodeError(`its aliases expand to more than ${maxAliasCount} nodes`, first)
  }
}

/** The node of each alias. Also refuses tags, since no file needs one. */
function targetsOf(document: Document): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node>()
  visit(document, {
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node)
      if (node.tag !== undefined && !isPlainTag(node.tag)) throw new NodeError('a tag is not allowed here', node)
    },
    Alias: (_, alias, path) => {
      const target = anchors.get(alias.source)
      if (target === undefined) throw new NodeError(`there is no anchor &${alias.source} before it`, alias)
      if (path.includes(target)) throw new NodeError(`the alias *${alias.source} is inside of its own anchor`, alias)
      if (targets.size === maxAliases) throw new NodeError(`it has more than ${maxAliases} aliases`, alias)
      targets.set(alias, target)
    },
  })
  return targets
}

const isPlainTag = (tag: string): boolean => /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/.test(tag)

type Resolved = (node: unknown) => unknown

/** The value of a merge key is a mapping, or a list of mappings. */
function checkMerge(value: unknown, key: Node, resolved: Resolved): void {
  const source = resolved(value)
  const wrong = (isSeq(source) ? source.items : [source]).find(each => !isMap(resolved(each)))
  if (wrong !== undefined) throw new NodeError('the value of << must be a mapping', isNode(wrong) ? wrong : key)
}

/** The number of nodes of a part without cycles, with those that its aliases repeat. */
function sizeOf(part: unknown, resolved: Resolved, known: Map<unknown, number>): number {
  const node = resolved(part)
  if (!isMap(node) && !isSeq(node)) return 1
  const size =
    known.get(node) ??
    1 +
      node.items
        .flatMap((item): readonly unknown[] => (isPair(item) ? [item.key, item.value] : [item]))
        .reduce((sum: number, each) => sum + sizeOf(each, resolved, known), 0)
  known.set(node, size)
  return size
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

/** The mistakes in the keys of a file. */
function checkKeys(document: Document, kind: YamlKind): readonly OffsetMistake[] {
  return keysOf(document).flatMap(({ name, offset, repeated, isNamed }): OffsetMistake[] => {
    const refusal = isNamed && name !== '__proto__' ? null : refusedKey(name, kind)
    if (refusal !== null) return [{ offset, ...refusal }]
    return repeated
      ? [{ offset, got: `a second ${describeValue(name)}`, expected: 'each key once in its mapping' }]
      : []
  })
}

/** The mistake of a key that every file refuses; null for any other. The message never repeats the value of a secret. */
export function refusedKey(name: string, kind: YamlKind): Omit<Mistake, 'where'> | null {
  if (isSecretKey(name))
    return { got: `the key ${describeValue(name)}`, expected: `no secret in a ${kind.name}`, hint: kind.secretHint }
  // In JavaScript, an assignment to this key is silently lost.
  if (name === '__proto__') return { got: describeValue(name), expected: 'a name of letters, digits and hyphens' }
  return null
}

/** A key, and whether its mapping has the same key before it. */
type YamlKey = {
  readonly name: string
  readonly offset: number
  readonly repeated: boolean
  /** Whether its value only names a variable of the environment, and is not a secret itself. */
  readonly isNamed: boolean
}

/** A mapping such as `{ env: NAME }`, which stands for a secret. */
export const namesVariable = (value: unknown): boolean => isObject(value) && Object.keys(value).join() === 'env'

function keysOf(document: Document): readonly YamlKey[] {
  const keys: YamlKey[] = []
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<string>()
      for (const { key, value } of map.items) {
        const name = nameOf(key)
        const isNamed = isMap(value) && value.items.length === 1 && nameOf(value.items[0]?.key) === 'env'
        keys.push({ name, offset: startOf(key, startOf(map, 0)), repeated: seen.has(name), isNamed })
        seen.add(name)
      }
    },
  })
  return keys
}

/** The pairs of a mapping by name. Of equal keys, the last one applies. */
const pairsOf = memoizeByObject(
  (map: YAMLMap): ReadonlyMap<string, Pair> => new Map(map.items.map(pair => [nameOf(pair.key), pair])),
)

/** The offset of the part at `path`, or of the nearest enclosing part if it is missing. */
function offsetOf(document: Document, text: string, path: Path, at: SchemaMistake['at']): number {
  let node: unknown = document.contents
  let offset = startOf(node, 0)
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = pairsOf(node).get(String(step))
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

/** A mistake at a node that has no value. */
class NodeError extends Error {
  override readonly name = 'NodeError' as const
  readonly offset: number

  constructor(message: string, node: Node) {
    super(message)
    this.offset = startOf(node, 0)
  }
}
