import { isObject } from '../lib/json.ts'
import { expectedValue, explainIssues } from '../lib/schema-mistakes.ts'
import { UsageError } from '../lib/usage-error.ts'
import { parseYaml, readYaml } from '../lib/yaml.ts'
import { type Contract, contractSchema } from './contract.ts'
import { documentedContract } from './documented.ts'

const profileFile = { name: 'profile', secretHint: 'set TURNPIKE_KEYS' }

/**
 * The documented contract with the profile in `file` merged over it: mappings are merged key by key, all other values
 * are replaced. Throws a UsageError with every mistake in line order if the file cannot be read or the result is not a
 * valid contract.
 */
export function loadProfile(file: string): Contract {
  const source = parseYaml(readYaml(file, profileFile), file, profileFile)
  const merged = overlay(documentedContract, source.value ?? {})
  const mistakes = source.locate(explainIssues(contractSchema, merged, { expected: expectedValue }))
  if (mistakes.length > 0) throw new UsageError(mistakes)
  return contractSchema.parse(merged)
}

/** An own key of `top` always becomes an own key of the result, even `__proto__`. */
function overlay(base: unknown, top: unknown): unknown {
  if (!isObject(base) || !isObject(top)) return top
  const laid = Object.entries(top).map(
    ([key, value]) => [key, Object.hasOwn(base, key) ? overlay(base[key], value) : value] as const,
  )
  return Object.fromEntries([...Object.entries(base), ...laid])
}
