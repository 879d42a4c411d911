import { z } from 'zod'
import { type JsonObject, toObject } from './json.ts'
import { describeValue, nearest, oneOf, UsageError } from './usage-error.ts'
import { isRefusedKey, namesVariable, type Path, type SchemaMistake } from './yaml.ts'

/** The types of values in files that Turnpike writes and reads again. */

export const whole = z.number().int().nonnegative()
/** Tokens, bytes or items in a record. Judges sum them up. */
export const amount = z.number().min(0).max(1e12)
export const members = z.record(z.string(), z.unknown())

/** A text of a known set, which another version may have extended. */
export const openText = <Text extends string>() => z.string() as unknown as z.ZodType<Text>

/** A decimal that is a whole number of pico-units, as all money is computed. */
export const decimalText = z.string().regex(/^-?\d{1,30}(\.\d{1,12})?$/, 'a decimal with at most 12 decimals')

/** The JSON Schema of a file, as the package publishes it at this path. Its id is where npm's mirror shows that file. */
export const publishedSchema = (path: string, title: string, schema: z.ZodType): object => ({
  $id: `https://unpkg.com/turnpike/${path}`,
  title,
  ...z.toJSONSchema(schema, { io: 'input' }),
})

export type SchemaIssue = z.core.$ZodIssue

/** Messages for the issues of a schema, where the schema has none. */
export type IssueWords = {
  /** The expected value; by default the message of the schema. */
  readonly expected?: (issue: SchemaIssue) => string
  /** A suggestion; by default the nearest of the allowed words. */
  readonly hint?: (issue: SchemaIssue, got: unknown) => { readonly hint?: string }
}

/** The mistakes of `value` under `schema`, except keys that every file refuses. */
export function explainIssues(schema: z.ZodType, value: unknown, words: IssueWords = {}): readonly SchemaMistake[] {
  const issues = schema.safeParse(value).error?.issues ?? []
  const found = issues.flatMap(issue => explain(issue, schema, value, words))
  // A misspelled key is also a missing key. Only the misspelling is reported.
  const misspelled = new Set(found.map(({ path, hint }) => `${JSON.stringify(path.slice(0, -1))} ${hint}`))
  return found.filter(
    ({ path, got }) =>
      !(got.startsWith('no "') && misspelled.has(`${JSON.stringify(path)} did you mean ${got.slice(3)}?`)),
  )
}

/** The expected value of an issue, in words for people. */
export function expectedValue(issue: SchemaIssue): string {
  if (issue.code === 'invalid_type') return issue.expected
  return issue.code === 'invalid_value' ? oneOf(issue.values.map(String)) : issue.message
}

/** The data of `file` as its schema reads it. Throws a UsageError with its mistakes, each with its path. */
export function parseValid<Schema extends z.ZodType>(schema: Schema, value: unknown, file: string): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const mistakes = explainIssues(schema, value, { expected: expectedValue }).map(({ path, got, expected, hint }) => ({
    where: path.length === 0 ? file : `${file}: ${path.join('.')}`,
    got,
    expected,
    ...(hint === undefined ? {} : { hint }),
  }))
  if (mistakes.length > 0) throw new UsageError(mistakes)
  // Such as a key that other files refuse before their schema does.
  throw new UsageError({ where: file, got: error.issues[0]?.message ?? '', expected: 'a file that Turnpike wrote' })
}

function explain(issue: SchemaIssue, schema: z.ZodType, root: unknown, words: IssueWords): readonly SchemaMistake[] {
  const path = issue.path as Path
  const expected = words.expected?.(issue) ?? issue.message
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, root, path)
    return issue.keys
      .filter(key => !isRefusedKey(key) || namesVariable(at(root, [...path, key])))
      .map(key => ({
        path: [...path, key],
        at: 'key',
        got: describeValue(key),
        expected: `one of the keys ${oneOf(known)}`,
        ...nearest(key, known),
      }))
  }
  if (issue.code === 'invalid_key') {
    const got = describeValue(String(path.at(-1)))
    return [{ path, at: 'key', got, expected: issue.issues[0]?.message ?? expected }]
  }
  const got = at(root, path)
  if (got === undefined) {
    const typo =
      issue.code === 'invalid_union' ? misspelledKey(at(root, path.slice(0, -1)), String(path.at(-1))) : undefined
    if (typo !== undefined) {
      const key = `the key "${path.at(-1)}"`
      return [{ path: [...path.slice(0, -1), typo], at: 'key', got: describeValue(typo), expected: key }]
    }
    return [{ path: path.slice(0, -1), at: 'value', got: `no "${path.at(-1)}"`, expected }]
  }
  // A whole file that is one text may be a file of keys.
  if (path.length === 0 && (typeof got === 'string' || typeof got === 'number'))
    return [{ path, at: 'value', got: 'a text', expected }]
  const hint = words.hint?.(issue, got) ?? {}
  return [{ path, at: 'value', got: describeValue(got), expected, ...nearestWord(issue, got), ...hint }]
}

/** Without its discriminator a mapping cannot be checked, so this looks for a misspelling of that key. */
function misspelledKey(mapping: unknown, key: string): string | undefined {
  return Object.keys(entriesOf(mapping)).find(written => nearest(written, [key]).hint !== undefined)
}

function nearestWord(issue: SchemaIssue, got: unknown): { readonly hint?: string } {
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
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return keysAt(schema.unwrap(), value, path)
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
  if (schema instanceof z.ZodRecord) {
    const { keyType, valueType } = schema
    if (step !== undefined) return keysAt(valueType, part, rest)
    return keyType instanceof z.ZodEnum ? keyType.options.map(String) : []
  }
  if (!(schema instanceof z.ZodObject)) return []
  return step === undefined ? Object.keys(schema.shape) : keysAt(schema.shape[step], part, rest)
}

/**
 * The valid fields of a mapping, parsed one by one, so that a mistake in one field does not hide mistakes in the others.
 * A value that is not a mapping has no fields.
 */
export function parseFields<S extends z.ZodRawShape>(
  schema: z.ZodObject<S>,
  value: unknown,
): Partial<z.output<z.ZodObject<S>>> {
  const fields = entriesOf(value)
  const right: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(schema.shape)) {
    const result = z.safeParse(field, fields[key])
    if (result.success && result.data !== undefined) right[key] = result.data
  }
  return right as Partial<z.output<z.ZodObject<S>>>
}

/** The entries of a mapping; empty for any other value. */
export const entriesOf = (value: unknown): JsonObject => toObject(value) ?? {}
