import { boundJson, isObject, isPresent, type JsonObject, toObject } from '../../lib/json.ts'
import {
  type DeltaField,
  type JsonType,
  maxGrammarRuns,
  type StreamPart,
  type StreamRecord,
} from '../../observation/observation.ts'

/** The possible parts of a chunk, in the order of their bits. */
const chunkParts: readonly StreamPart[] = [
  ...(['results', 'role', 'reasoning', 'content', 'tool-call', 'finish', 'usage', 'error'] as const),
]
export const [RESULTS, ROLE, REASONING, CONTENT, TOOL_CALL, FINISH, USAGE, ERROR] = [
  ...([1, 2, 4, 8, 16, 32, 64, 128] as const),
] as const
export const TOKEN = REASONING | CONTENT | TOOL_CALL

export type StreamGrammar = {
  readonly add: (part: StreamPart) => void
  /** Adds each part of a chunk. */
  readonly addChunk: (parts: number) => void
  readonly runs: StreamRecord['grammar']
}

/**
 * The kinds of events of a stream, in order, run-length encoded. Beyond `maxGrammarRuns` runs, each part has one entry
 * with its count, in the order in which the parts occurred last. So an end that is wrong shows in the longest stream.
 */
export function createStreamGrammar(): StreamGrammar {
  const runs: [StreamPart, number][] = []
  let lastRun: [StreamPart, number] | null = null

  const startRun = (part: StreamPart): [StreamPart, number] => {
    const at =
      runs.length < maxGrammarRuns ? -1 : runs.findIndex(([name], run) => run >= maxGrammarRuns && name === part)
    const run: [StreamPart, number] = (at < 0 ? undefined : runs.splice(at, 1)[0]) ?? [part, 0]
    runs.push(run)
    return run
  }

  const add = (part: StreamPart): void => {
    if (lastRun !== null && lastRun[0] === part) {
      lastRun[1]++
      return
    }
    lastRun = startRun(part)
    lastRun[1]++
  }

  const addChunk = (parts: number): void => {
    if (parts === 0) add('empty')
    for (let rest = parts; rest !== 0; rest &= rest - 1) {
      const part = chunkParts[31 - Math.clz32(rest & -rest)]
      if (part !== undefined) add(part)
    }
  }

  return { add, addChunk, runs }
}

/** The JSON types of the fields of deltas, as in `StreamRecord.deltaTypes`. */
export type DeltaTypes = [field: DeltaField, type: JsonType, first: string][]

/**
 * Adds the types that the fields of this delta have for the first time. Each field is written out, because a loop over
 * names would be many times slower, and this runs for every parsed chunk.
 */
export function addDeltaTypes(types: DeltaTypes, delta: JsonObject): void {
  addType(types, 'role', delta.role)
  addType(types, 'content', delta.content)
  addType(types, 'reasoning_content', delta.reasoning_content)
  addType(types, 'name', delta.name)
  addType(types, 'thought_signature', delta.thought_signature)
  addType(types, 'tool_calls', delta.tool_calls)
  addType(types, 'reasoning_details', delta.reasoning_details)
}

const maxFirstLength = 80

function addType(types: DeltaTypes, field: DeltaField, value: unknown): void {
  if (!isPresent(value)) return
  const type = Array.isArray(value) ? 'array' : (typeof value as JsonType)
  for (const known of types) if (known[0] === field && known[1] === type) return
  types.push([field, type, JSON.stringify(boundJson(value)).slice(0, maxFirstLength)])
}

const maxToolNameLength = 64

/** The names in the tool calls of a delta. Only the first delta of a tool call has a name. */
export function toolNamesIn(calls: readonly unknown[]): readonly string[] {
  return calls.flatMap(call => {
    const name = isObject(call) && isObject(call.function) ? call.function.name : null
    return typeof name === 'string' && name !== '' ? [name.slice(0, maxToolNameLength)] : []
  })
}

/** A tool call of a stream, joined from its pieces. */
export type JoinedCall = { id: string; name: string; arguments: string }

const maxToolCalls = 64

/**
 * Joins the pieces of tool calls by the index of their choice and by their own. Some servers give several calls one index, or
 * none: then another id with a name begins another call. Arguments are kept up to `maxLength`.
 */
export function joinToolCalls(maxLength = Number.POSITIVE_INFINITY) {
  const calls: JoinedCall[] = []
  const open = new Map<string, JoinedCall>()
  const beginAt = (place: string): JoinedCall | null => {
    if (calls.length === maxToolCalls) return null
    const call = { id: '', name: '', arguments: '' }
    calls.push(call)
    open.set(place, call)
    return call
  }
  return {
    calls: calls as readonly Readonly<JoinedCall>[],
    add: (deltas: readonly unknown[], choice: unknown = 0): void => {
      for (const delta of deltas) {
        const { index, id, function: named } = toObject(delta) ?? {}
        const { name, arguments: piece } = toObject(named) ?? {}
        const place = [choice, index].map(each => (typeof each === 'number' ? each : '')).join('/')
        const known = open.get(place)
        const isOther = known !== undefined && known.id !== '' && isText(id) && isText(name) && id !== known.id
        const call = known === undefined || isOther ? beginAt(place) : known
        if (call === null) continue
        if (isText(id) && call.id === '') call.id = id
        if (isText(name) && call.name === '') call.name = name
        if (isText(piece) && call.arguments.length < maxLength) call.arguments += piece
      }
    },
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
