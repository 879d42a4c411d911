import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import { type Mistake, nearest, oneOf, UsageError } from '../lib/usage-error.ts'
import { type Contract, contractSchema } from './contract.ts'
import { documented } from './documented.ts'

/**
 * The documented contract with the profile in `file` laid over it: mappings are merged key by key, everything else is
 * replaced. Throws a UsageError that names file and key when the file cannot be read or the result is no contract.
 */
export function loadProfile(file: string): Contract {
  const merged = overlay(documented, parseProfile(file, readProfile(file)) ?? {})
  const result = contractSchema.safeParse(merged)
  if (result.success) return result.data
  throw new UsageError(result.error.issues.flatMap(issue => mistakesOf(issue, file, merged)))
}

function readProfile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError({ where: file, got: (cause as Error).message, expected: 'a readable profile (YAML)' })
  }
}

function parseProfile(file: string, text: string): unknown {
  const invalid = (where: string, message: string) =>
    new UsageError({ where, got: 'invalid YAML', expected: 'a profile', hint: message.replace(/\s+/g, ' ').trim() })
  try {
    const lines = new LineCounter()
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
    const syntax = document.errors[0]
    if (syntax === undefined) return document.toJS()
    const { line, col } = lines.linePos(syntax.pos[0])
    throw invalid(`${file}:${line}:${col}`, syntax.message)
  } catch (cause) {
    // Aliases without an anchor, or without end, show only when they are followed; deep nesting exhausts the stack.
    if (cause instanceof ReferenceError || cause instanceof RangeError) throw invalid(file, cause.message)
    throw cause
  }
}

/** An own member of the top always becomes an own member of the result, even one called `__proto__`. */
function overlay(base: unknown, top: unknown): unknown {
  if (!isMapping(base) || !isMapping(top)) return top
  const laid = Object.entries(top).map(
    ([key, value]) => [key, Object.hasOwn(base, key) ? overlay(base[key], value) : value] as const,
  )
  return Object.fromEntries([...Object.entries(base), ...laid])
}

type Issue = NonNullable<ReturnType<typeof contractSchema.safeParse>['error']>['issues'][number]

function mistakesOf(issue: Issue, file: string, merged: unknown): readonly Mistake[] {
  const at = (path: readonly PropertyKey[], expected: string): Mistake => ({
    where: path.length === 0 ? file : `${file}: ${path.join('.')}`,
    got: JSON.stringify(memberAt(merged, path)) ?? 'nothing',
    expected,
  })
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(memberAt(documented, issue.path) ?? {})
    return issue.keys.map(key => ({ ...at([...issue.path, key], 'a key of the contract'), ...nearest(key, known) }))
  }
  if (issue.code === 'invalid_type') return [at(issue.path, `${issue.expected}`)]
  if (issue.code === 'invalid_value') return [at(issue.path, oneOf(issue.values.map(String)))]
  return [at(issue.path, issue.message)]
}

function memberAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (isMapping(at) || Array.isArray(at) ? Reflect.get(at, key) : undefined),
    value,
  )
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
