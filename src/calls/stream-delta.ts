import { isObject, type JsonObject } from '../lib/json.ts'

const longestName = 64
const longestQuote = 80

/** The names in the tool calls of a delta. Only the first delta of a call has one. */
export function toolNamesIn(calls: readonly unknown[]): readonly string[] {
  return calls.flatMap(call => {
    const name = isObject(call) && isObject(call.function) ? call.function.name : null
    return typeof name === 'string' && name !== '' ? [name.slice(0, longestName)] : []
  })
}

/** The first member of a delta that has not the type that it has in a message; null when there is none. */
export function wrongMember(delta: JsonObject): string | null {
  if (!isText(delta.role)) return say('role', delta.role)
  if (!isText(delta.content) && !Array.isArray(delta.content)) return say('content', delta.content)
  if (!isText(delta.reasoning_content)) return say('reasoning_content', delta.reasoning_content)
  if (!isText(delta.name)) return say('name', delta.name)
  if (!isText(delta.thought_signature)) return say('thought_signature', delta.thought_signature)
  if (!isList(delta.tool_calls)) return say('tool_calls', delta.tool_calls)
  if (!isList(delta.reasoning_details)) return say('reasoning_details', delta.reasoning_details)
  return null
}

const isText = (value: unknown): boolean => value === undefined || value === null || typeof value === 'string'
const isList = (value: unknown): boolean => value === undefined || value === null || Array.isArray(value)

const say = (name: string, value: unknown): string =>
  `${name} ${(JSON.stringify(value) ?? 'nothing').slice(0, longestQuote)}`
