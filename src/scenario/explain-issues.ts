import { z } from 'zod'
import { nearest, oneOf } from '../lib/usage-error.ts'
import { type Complaint, type Path, quote } from './complaint.ts'
import { durationText } from './fields.ts'
import { entriesOf } from './salvage.ts'
import { scenarioSchema } from './schema.ts'
import { durationHint } from './units.ts'

type Issue = z.core.$ZodIssue

/** What the schema has against `value`. Unknown keys are told apart from those that must not be there at all. */
export function explainIssues(value: unknown, isSecret: (key: string) => boolean): readonly Complaint[] {
  const issues = scenarioSchema.safeParse(value).error?.issues ?? []
  const complaints = issues.flatMap(issue => explain(issue, value, isSecret))
  // A key that is missing because it was misspelt is one mistake, told at the key.
  const misspelt = new Set(complaints.map(({ path, hint }) => `${JSON.stringify(path.slice(0, -1))} ${hint}`))
  return complaints.filter(
    ({ path, got }) =>
      !(got.startsWith('no "') && misspelt.has(`${JSON.stringify(path)} did you mean ${got.slice(3)}?`)),
  )
}

function explain(issue: Issue, root: unknown, isSecret: (key: string) => boolean): readonly Complaint[] {
  const path = issue.path as Path
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(scenarioSchema, root, path)
    return issue.keys
      .filter(key => !isSecret(key))
      .map(key => ({
        path: [...path, key],
        at: 'key',
        got: quote(key),
        expected: `one of the keys ${oneOf(known)}`,
        ...nearest(key, known),
      }))
  }
  if (issue.code === 'invalid_key') {
    return [{ path, at: 'key', got: quote(String(path.at(-1))), expected: issue.issues[0]?.message ?? issue.message }]
  }
  const got = at(root, path)
  if (got === undefined) {
    const slip =
      issue.code === 'invalid_union' ? misspeltKey(at(root, path.slice(0, -1)), String(path.at(-1))) : undefined
    if (slip !== undefined) {
      return [{ path: [...path.slice(0, -1), slip], at: 'key', got: quote(slip), expected: `the key "${path.at(-1)}"` }]
    }
    return [{ path: path.slice(0, -1), at: 'value', got: `no "${path.at(-1)}"`, expected: issue.message }]
  }
  return [{ path, at: 'value', got: quote(got), expected: issue.message, ...hintFor(issue, got) }]
}

/** Without its kind nothing else of a mapping can be judged, so a slip in that key is looked for. */
function misspeltKey(mapping: unknown, key: string): string | undefined {
  return Object.keys(entriesOf(mapping)).find(written => nearest(written, [key]).hint !== undefined)
}

function hintFor(issue: Issue, got: unknown): { readonly hint?: string } {
  if (issue.message === durationText) return durationHint(got)
  if (typeof got !== 'string') return {}
  if (issue.code === 'invalid_value') return nearest(got, issue.values.map(String))
  if (issue.code === 'invalid_union' && 'options' in issue) return nearest(got, (issue.options ?? []).map(String))
  return {}
}

function at(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, step) => (Array.isArray(part) ? part[Number(step)] : entriesOf(part)[step]), root)
}

/** The keys that the schema allows in the mapping at `path` of `value`. */
function keysAt(schema: unknown, value: unknown, path: Path): readonly string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return keysAt(schema.unwrap(), value, path)
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const kind = entriesOf(value)[schema.def.discriminator]
    const option = schema.options.find(
      choice => choice instanceof z.ZodObject && choice.shape[schema.def.discriminator]?.safeParse(kind).success,
    )
    return keysAt(option, value, path)
  }
  const [step, ...rest] = path
  const part = step === undefined ? undefined : at(value, [step])
  if (schema instanceof z.ZodArray) return keysAt(schema.element, part, rest)
  if (schema instanceof z.ZodRecord) return keysAt(schema.valueType, part, rest)
  if (!(schema instanceof z.ZodObject)) return []
  return step === undefined ? Object.keys(schema.shape) : keysAt(schema.shape[step], part, rest)
}
