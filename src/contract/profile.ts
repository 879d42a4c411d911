import { hasHugeNumber, isObject } from '../lib/json.ts'
import { expectedValue, explainIssues, type SchemaIssue } from '../lib/schemas.ts'
import { nearest, UsageError } from '../lib/usage-error.ts'
import { parseYaml, readYaml } from '../lib/yaml.ts'
import { clauseIds } from './clauses.ts'
import { type Contract, contractSchema } from './contract.ts'
import { documentedContract } from './documented.ts'

const profileFile = { name: 'profile', secretHint: 'set TURNPIKE_KEYS' }

/**
 * The documented contract with the profile in `file` merged over it: mappings are merged key by key, all other values
 * are replaced. Throws a UsageError with every mistake in line order if the file cannot be read or the result is not a
 * valid contract.
 */
export const loadProfile = (file: string): Contract => parseProfile(readYaml(file, profileFile), file)

/** Like `loadProfile`, for the text of a profile. Mistakes name it `file`. */
export function parseProfile(text: string, file: string): Contract {
  const source = parseYaml(text, file, profileFile)
  const written = source.value ?? {}
  if (isObject(written) && 'stages' in written && 'callers' in written)
    throw new UsageError({ where: file, got: 'a scenario', expected: 'a profile', hint: `see turnpike run ${file}` })
  if (hasHugeNumber(written)) throw new UsageError({ where: file, got: 'a number beyond 1e290', expected: 'a profile' })
  const { sources: _, ...documented } = documentedContract
  const merged = overlay(documented, written)
  const mistakes = source.locate(explainIssues(profileSchema, merged, { expected: expectedValue, hint: clauseHint }))
  if (mistakes.length > 0) throw new UsageError(mistakes)
  const stated = pathsIn(written, documentedContract, '')
  return { ...contractSchema.parse(merged), sources: Object.fromEntries(stated.map(path => [path, 'profile'])) }
}

const clauseHint = ({ path }: SchemaIssue, got: unknown): { readonly hint?: string } =>
  path[0] === 'promises' && typeof got === 'string' ? nearest(got, clauseIds) : {}

/** A profile cannot state where values come from. */
const profileSchema = contractSchema.omit({ sources: true })

/** The paths of all values of a profile. A list is one value, and so is an entry that the contract does not have. */
function pathsIn(written: unknown, base: unknown, path: string): readonly string[] {
  if (!isObject(written) || !isObject(base)) return [path]
  return Object.entries(written).flatMap(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`
    return Object.hasOwn(base, key) ? pathsIn(value, base[key], at) : [at]
  })
}

/** An own key of `top` always becomes an own key of the result, even `__proto__`. */
function overlay(base: unknown, top: unknown): unknown {
  if (!isObject(base) || !isObject(top)) return top
  const laid = Object.entries(top).map(
    ([key, value]) => [key, Object.hasOwn(base, key) ? overlay(base[key], value) : value] as const,
  )
  return Object.fromEntries([...Object.entries(base), ...laid])
}
