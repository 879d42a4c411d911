import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'

type Members = Readonly<Record<string, unknown>>

/** The first of the optional members of a message that is not of its type; null when all are. */
export function wrongMemberOf(message: Members): string | null {
  for (const name of ['name', 'reasoning_content', 'thought_signature']) {
    const value = message[name]
    if (isSaid(value) && typeof value !== 'string') return `${name} ${quote(value)}, expected a text or null`
  }
  const { reasoning_details: details, tool_calls: calls } = message
  if (isSaid(calls) && !Array.isArray(calls)) return `tool_calls ${quote(calls)}, expected a list or null`
  if (!isSaid(details)) return null
  if (!Array.isArray(details)) return `reasoning_details ${quote(details)}, expected a list`
  const untyped = details.findIndex(detail => typeof toObject(detail)?.type !== 'string')
  return untyped < 0 ? null : `reasoning_details with ${quote(details[untyped])}, expected a type in each`
}

const isSaid = (value: unknown): boolean => value !== undefined && value !== null
