import { isObject, type JsonObject } from '../lib/json.ts'
import { shapeSchema } from './log-lines.ts'
import type { Observation } from './observation.ts'

/**
 * The lines of observations in a log of format 3. Observations of one call mostly have the same members, and few of
 * their values differ. So the first one of a shape is written whole, and each later one is a row of the values that differ:
 *
 * - `{"shape":3,"first":{…}}` begins shape 3 with an observation. Shapes count from 0.
 * - `{"shape":3,"varies":[0,7]}` states which values of shape 3 a row has, by their positions in the order of the text.
 *   All others are as in the first observation.
 * - `[3,…]` is an observation of shape 3: an entry for each value that varies.
 *
 * An entry is a text, true, false or null for itself, `[x]` for any value x, 0 for the value of the row before, or a whole
 * number of thousandths to add to a number: to the one of the row before, or for an instant that is not the first to the
 * instant before it in the row. An observation that fits no shape, when no more may begin, is a line of its own.
 */

/** The first instant of a record, and those that follow it. */
const firstInstant = 'dueMs'
const laterInstants: readonly string[] = [
  'sentMs',
  'headersMs',
  'endMs',
  'firstTokenMs',
  'firstContentMs',
  'lastTokenMs',
]

/** A longer list is one value. Most of them differ in length. */
const maxListLength = 4
/** A target may answer with new members each time. */
const maxShapesPerCall = 32
const maxShapes = 1_024

/** Whether a value is an instant, and so what its entry refers to. */
type Role = 'first-instant' | 'later-instant' | null

/** How a value is made up. */
type Part =
  | { readonly kind: 'value'; readonly role: Role }
  | { readonly kind: 'object'; readonly names: readonly string[]; readonly parts: readonly Part[] }
  | { readonly kind: 'list'; readonly parts: readonly Part[] }

/** null: the value has something that rows cannot have. */
function partOf(value: unknown, name: string): Part | null {
  if (!isSplit(value)) return isPlain(value) ? { kind: 'value', role: roleOf(name) } : null
  const isList = Array.isArray(value)
  // As JSON.stringify does, this leaves out members without a value.
  const members = Object.entries(value).filter(([, member]) => isList || member !== undefined)
  const names = members.map(([name]) => name)
  const parts: Part[] = []
  for (const [name, member] of members) {
    const part = partOf(member, name)
    if (part === null) return null
    parts.push(part)
  }
  return isList ? { kind: 'list', parts } : { kind: 'object', names, parts }
}

const roleOf = (name: string): Role =>
  name === firstInstant ? 'first-instant' : laterInstants.includes(name) ? 'later-instant' : null

/** Whether the members of a value are values of the row. */
const isSplit = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(Array.isArray(value) && value.length > maxListLength)

/** Whether JSON keeps a value as it is. */
const isPlain = (value: unknown): boolean => (typeof value === 'number' ? Number.isFinite(value) : value !== undefined)

const rolesOf = (part: Part): readonly Role[] => (part.kind === 'value' ? [part.role] : part.parts.flatMap(rolesOf))

/**
 * Writes the values in order from the position `at` on. Returns the position after them, or -1 if the value is made up in
 * another way. The list keeps its length, since a list that is emptied and filled again is allocated again.
 */
function collect(value: unknown, part: Part, values: unknown[], at: number): number {
  if (part.kind === 'value') {
    if (isSplit(value) || !isPlain(value)) return -1
    values[at] = value
    return at + 1
  }
  const { parts } = part
  let next = at
  let index = 0
  if (part.kind === 'list') {
    if (!Array.isArray(value) || value.length !== parts.length) return -1
    for (const member of parts) {
      next = collect(value[index++], member, values, next)
      if (next === -1) return -1
    }
    return next
  }
  if (!isObject(value)) return -1
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    const memberPart = parts[index]
    if (memberPart === undefined || part.names[index] !== name) return -1
    next = collect(member, memberPart, values, next)
    if (next === -1) return -1
    index++
  }
  return index === parts.length ? next : -1
}

/** The reverse of `collect`. `at` is the position of the next value. */
function build(part: Part, values: readonly unknown[], at: { next: number }): unknown {
  if (part.kind === 'value') return values[at.next++]
  const members = part.parts.map(each => build(each, values, at))
  if (part.kind === 'list') return members
  return Object.fromEntries(part.names.map((name, index) => [name, members[index]]))
}

type Shape = {
  readonly part: Part
  /** Of each value. */
  readonly roles: readonly Role[]
  /** The values of the row before. The writer's list may be longer than `roles`. */
  last: unknown[]
  /** Positions, ascending. */
  varies: readonly number[]
}

/** null: rows cannot have a value like this. */
function shapeFrom(value: unknown): Shape | null {
  const part = partOf(value, '')
  const last: unknown[] = []
  return part !== null && collect(value, part, last, 0) !== -1 ? { part, roles: rolesOf(part), last, varies: [] } : null
}

const thousandths = 1_000

/** `base`: the value of the row before, or the instant before. */
function writeEntry(value: unknown, base: unknown): string {
  if (value === base) return '0'
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return JSON.stringify(value)
  if (typeof value === 'number') {
    const added = Math.round((value - numberOr0(base)) * thousandths)
    if (added !== 0 && Number.isSafeInteger(added) && add(base, added) === value) return String(added)
  }
  return `[${JSON.stringify(value)}]`
}

/** The reverse of `writeEntry`. */
function readEntry(entry: unknown, base: unknown): unknown {
  if (entry === 0) return base
  if (typeof entry === 'number' && Number.isSafeInteger(entry)) return add(base, entry)
  if (Array.isArray(entry) && entry.length === 1) return entry[0]
  if (typeof entry === 'string' || typeof entry === 'boolean' || entry === null) return entry
  throw new WrongRow(`the entry ${JSON.stringify(entry)}`)
}

const numberOr0 = (base: unknown): number => (typeof base === 'number' ? base : 0)
const add = (base: unknown, added: number): number => Math.round(numberOr0(base) * thousandths + added) / thousandths

/** Returns the lines of one observation after another, without the last line feed. */
export function createRowWriter(): (observation: Observation) => string {
  /** By call. The shape that was used last is the first. */
  const byCall = new Map<string, { readonly number: number; readonly shape: Shape }[]>()
  let count = 0
  /** Of the next row. */
  let values: unknown[] = []

  return observation => {
    const shapes = byCall.get(observation.call) ?? []
    for (const [index, used] of shapes.entries()) {
      const { number, shape } = used
      if (collect(observation, shape.part, values, 0) === -1) continue
      if (index > 0) shapes.unshift(...shapes.splice(index, 1))
      const lines = linesOf(number, shape, values)
      // The list of the row before is free for the next one.
      const free = shape.last
      shape.last = values
      values = free
      return lines
    }
    const text = JSON.stringify(observation)
    const shape = count < maxShapes && shapes.length < maxShapesPerCall ? shapeFrom(observation) : null
    if (shape === null) return text
    byCall.set(observation.call, [{ number: count, shape }, ...shapes])
    return `{"shape":${count++},"first":${text}}`
  }
}

/** A row, after a line with the positions that vary if another one does for the first time. */
function linesOf(number: number, shape: Shape, values: readonly unknown[]): string {
  const { roles, last, varies } = shape
  let row = `[${number}`
  let instant: unknown = null
  let next = 0
  for (let position = 0; position < roles.length; position++) {
    const value = values[position]
    const role = roles[position]
    if (varies[next] === position) {
      row += `,${writeEntry(value, role === 'later-instant' ? instant : last[position])}`
      next++
    } else if (value !== last[position]) {
      shape.varies = [...roles.keys()].filter(each => varies.includes(each) || values[each] !== last[each])
      return `{"shape":${number},"varies":[${shape.varies}]}\n${linesOf(number, shape, values)}`
    }
    if (role !== null && typeof value === 'number') instant = value
  }
  return `${row}]`
}

/** A line that does not fit those before it. The message says what it is. */
export class WrongRow extends Error {}

/**
 * Takes the lines of a log one after another. Returns the observation of a line; null if it only states what varies.
 * Throws a `WrongRow`.
 */
export function createRowReader(): (line: RowLine) => unknown {
  const shapes: Shape[] = []

  const shapeOf = (number: unknown): Shape => {
    const shape = typeof number === 'number' ? shapes[number] : undefined
    if (shape === undefined) throw new WrongRow(`the unknown shape ${JSON.stringify(number)}`)
    return shape
  }
  const begin = (number: number, first: JsonObject): JsonObject => {
    const shape = shapeFrom(first)
    if (number !== shapes.length || number >= maxShapes || shape === null) throw new WrongRow(`the shape ${number}`)
    shapes.push(shape)
    return first
  }
  const vary = (shape: Shape, varies: readonly number[]): null => {
    const isAscending = varies.every((each, index) => each > (varies[index - 1] ?? -1) && each < shape.last.length)
    if (!isAscending) throw new WrongRow(`the positions ${varies}`)
    shape.varies = varies
    return null
  }
  const readRow = (shape: Shape, entries: readonly unknown[]): unknown => {
    const { part, roles, last, varies } = shape
    if (entries.length !== varies.length)
      throw new WrongRow(`a row of ${entries.length} entries where ${varies.length} values vary`)
    let instant: unknown = null
    let next = 0
    shape.last = last.map((before, position) => {
      const role = roles[position]
      const base = role === 'later-instant' ? instant : before
      const value = varies[next] === position ? readEntry(entries[next++], base) : before
      if (role !== null && typeof value === 'number') instant = value
      return value
    })
    return build(part, shape.last, { next: 0 })
  }

  return line => {
    if (Array.isArray(line)) return readRow(shapeOf(line[0]), line.slice(1))
    const { data } = shapeSchema.safeParse(line)
    if (data?.first !== undefined) return begin(data.shape, data.first)
    if (data?.varies !== undefined) return vary(shapeOf(data.shape), data.varies)
    throw new WrongRow('a damaged shape')
  }
}

/** A row, or a line about a shape. */
export type RowLine = JsonObject | readonly unknown[]
