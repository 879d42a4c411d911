import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import { type Mistake, UsageError } from '../lib/usage-error.ts'
import { type Contract, contractSchema } from './contract.ts'
import { documented } from './documented.ts'

/**
 * The documented contract with the profile in `file` laid over it: mappings are merged key by key, everything else is
 * replaced. Throws a UsageError that names file and key when the file cannot be read or the result is no contract.
 */
export function loadProfile(file: string): Contract {
  const lines = new LineCounter()
  const document = parseDocument(readProfile(file), { lineCounter: lines })
  const syntax = document.errors[0]
  if (syntax !== undefined) {
    const { line, col } = lines.linePos(syntax.pos[0])
    throw new UsageError({
      where: `${file}:${line}:${col}`,
      got: 'invalid YAML',
      expected: 'a profile',
      hint: syntax.message,
    })
  }
  const merged = overlay(documented, document.toJS() ?? {})
  const result = contractSchema.safeParse(merged)
  if (result.success) return result.data
  throw new UsageError(
    result.error.issues.map((issue): Mistake => {
      const path = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path
      const got = path.reduce<unknown>(
        (at, key) => (isMapping(at) || Array.isArray(at) ? Reflect.get(at, key) : undefined),
        merged,
      )
      return { where: `${file}: ${path.join('.')}`, got: JSON.stringify(got) ?? 'nothing', expected: issue.message }
    }),
  )
}

function readProfile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError({ where: file, got: (cause as Error).message, expected: 'a readable profile (YAML)' })
  }
}

function overlay(base: unknown, top: unknown): unknown {
  if (!isMapping(base) || !isMapping(top)) return top
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(top)) merged[key] = key in base ? overlay(base[key], value) : value
  return merged
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
