import { z } from 'zod'
import { hasHugeNumber, isObject, ownMember } from '../lib/json.ts'
import { expectedValue, explainIssues, publishedSchema, type SchemaIssue } from '../lib/schemas.ts'
import { describeValue, nearest, UsageError } from '../lib/usage-error.ts'
import { parseYaml, readYaml } from '../lib/yaml.ts'
import { clauseIds } from './clauses.ts'
import { type Contract, contractSchema } from './contract.ts'
import { documentedContract } from './documented.ts'
import { sharedHeader } from './requests/additions.ts'

const profileFile = { name: 'profile', secretHint: 'set TURNPIKE_KEYS' }

/**
 * The documented contract with the profile in `file` merged over it: mappings are merged key by key, all other values
 * are replaced. In a mapping whose keys are names, such as `wallets.rails`, null removes an entry. Throws a UsageError with every mistake in line order if the file cannot be read or the result is not a
 * valid contract.
 */
export const loadProfile = (file: string): Contract => parseProfile(readYaml(file, profileFile), file)

/** Like `loadProfile`, for the text of a profile. Mistakes name it `file`. */
export function parseProfile(text: string, file: string): Contract {
  const source = parseYaml(text, file, profileFile)
  const written = source.value ?? {}
  if (isObject(written) && 'stages' in written && 'callers' in written)
    throw new UsageError({ where: file, got: 'a scenario', expected: 'a profile', hint: `see turnpike run ${file}` })
  if (hasHugeNumber(written))
    throw new UsageError({ where: file, got: 'a number beyond 1e290', expected: 'smaller numbers' })
  const { sources: _, ...documented } = documentedContract
  const merged = overlay(documented, written, profileSchema)
  const mistakes = source.locate(explainIssues(profileSchema, merged, { expected: expectedValue, hint: clauseHint }))
  if (mistakes.length > 0) throw new UsageError(mistakes)
  const contract = contractSchema.parse(merged)
  const shared = sharedHeader(contract)
  if (shared !== null) {
    const expected = 'another header than that of the key, auth.header'
    throw new UsageError(
      source.locate([{ path: ['requestHeaders', shared], at: 'key', got: describeValue(shared), expected }]),
    )
  }
  const stated = pathsIn(written, documentedContract, '')
  return { ...contract, sources: Object.fromEntries(stated.map(path => [path, 'profile'])) }
}

const clauseHint = ({ path }: SchemaIssue, got: unknown): { readonly hint?: string } =>
  path[0] === 'promises' && typeof got === 'string' ? nearest(got, clauseIds) : {}

/** A profile cannot state where values come from. */
const profileSchema = contractSchema.omit({ sources: true })

/** The JSON Schema of a profile, for editors. What it leaves out is as documented, so no key is required. */
export const profileJsonSchema = (): unknown =>
  forEditors(publishedSchema('scenarios/profile.schema.json', 'Turnpike profile', profileSchema), true)

/** Keys of Zod, and of the page about profiles. */
const notForEditors: readonly string[] = ['default', 'format', 'isOpen', 'keys']

/** Mappings are merged over the documented ones. Lists replace them, so their entries are complete. */
function forEditors(schema: unknown, isMerged: boolean): unknown {
  if (!isObject(schema)) return schema
  const shown = Object.entries(schema).filter(
    ([key]) => !notForEditors.includes(key) && !(isMerged && key === 'required'),
  )
  return Object.fromEntries(shown.map(([key, value]) => [key, partOf(key, value, isMerged)]))
}

function partOf(key: string, value: unknown, isMerged: boolean): unknown {
  if (key === 'properties' && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, forEditors(each, isMerged)]))
  if (key === 'anyOf' && Array.isArray(value)) return value.map(each => forEditors(each, isMerged))
  if (key === 'items' || key === 'propertyNames') return forEditors(value, false)
  if (key !== 'additionalProperties' || !isObject(value)) return value
  const entry = forEditors(value, isMerged)
  return isMerged ? { anyOf: [entry, { type: 'null', description: 'removes the documented entry' }] } : entry
}

/** The paths of all values of a profile. A list is one value, and so is an entry that the contract does not have. */
function pathsIn(written: unknown, base: unknown, path: string): readonly string[] {
  if (!isObject(written) || !isObject(base)) return [path]
  return Object.entries(written).flatMap(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`
    return Object.hasOwn(base, key) ? pathsIn(value, base[key], at) : [at]
  })
}

/** An own key of `top` always becomes an own key of the result, even `__proto__`, unless it removes one of `base`. */
function overlay(base: unknown, top: unknown, schema: unknown): unknown {
  if (!isObject(base) || !isObject(top)) return top
  const isRemoved = (key: string) => schema instanceof z.ZodRecord && Object.hasOwn(base, key) && top[key] === null
  const laid = Object.entries(top).map(
    ([key, value]) =>
      [key, Object.hasOwn(base, key) ? overlay(base[key], value, memberOf(schema, key)) : value] as const,
  )
  return Object.fromEntries([...Object.entries(base), ...laid].filter(([key]) => !isRemoved(key)))
}

/** The values of a contract as a profile, which removes the documented entries that it lacks. */
export function profileValues({ sources: _, ...values }: Contract): Readonly<Record<string, unknown>> {
  const { sources: __, ...documented } = documentedContract
  const written = withRemoved(documented, values, profileSchema)
  return isObject(written) ? written : {}
}

function withRemoved(base: unknown, value: unknown, schema: unknown): unknown {
  if (!isObject(base) || !isObject(value)) return value
  const laid = Object.entries(value).map(([key, each]) => [key, withRemoved(base[key], each, memberOf(schema, key))])
  const removed = schema instanceof z.ZodRecord ? Object.keys(base).filter(key => !Object.hasOwn(value, key)) : []
  return Object.fromEntries([...laid, ...removed.map(key => [key, null])])
}

/** The contract that a build recorded which did not know every key: the document has the values of the others. */
export function recordedContract(recorded: unknown): unknown {
  return withMissing(contractSchema, documentedContract, recorded)
}

/** An entry of a mapping whose keys are names may be missing on purpose, so none is added. */
function withMissing(schema: unknown, documented: unknown, recorded: unknown): unknown {
  if (!isObject(documented) || !isObject(recorded)) return recorded
  const read = Object.entries(recorded).map(
    ([key, each]) => [key, withMissing(memberOf(schema, key), ownMember(documented, key), each)] as const,
  )
  return { ...(schema instanceof z.ZodObject && documented), ...Object.fromEntries(read) }
}

const memberOf = (schema: unknown, key: string): unknown =>
  unwrapped(schema instanceof z.ZodRecord ? schema.valueType : schema instanceof z.ZodObject ? schema.shape[key] : null)

const unwrapped = (schema: unknown): unknown => (schema instanceof z.ZodNullable ? unwrapped(schema.unwrap()) : schema)
