import { describeMistake, describeValue, type Mistake, UsageError } from '../lib/usage-error.ts'
import {
  namesVariable,
  type Path,
  refusedKey,
  type SchemaMistake,
  type YamlKind,
  type YamlSource,
} from '../lib/yaml.ts'

/** Deeper than any file that a person writes. */
const maxDepth = 100

/**
 * Plain data of a program in place of a file, with paths such as `calls.chat.kind` in place of lines. The value is a copy,
 * without members that are undefined. Throws a UsageError if a part is not plain data, such as a function or a cycle.
 */
export function dataSource(data: unknown, name: string, kind: YamlKind): YamlSource {
  const refused: SchemaMistake[] = []
  const value = copyOf(data, [])
  return {
    value,
    locate: found =>
      // A mistake of a part that stands in two places is reported once in each.
      [...new Map([...found, ...refused].map(placed).map(mistake => [describeMistake(mistake), mistake])).values()],
  }

  function copyOf(part: unknown, path: Path): unknown {
    const fail = (got: string): never => {
      throw new UsageError(placed({ path, at: 'value', got, expected: 'plain data, as in a YAML file' }))
    }
    if (part === null || typeof part === 'string' || typeof part === 'boolean') return part
    if (typeof part === 'number') return Number.isFinite(part) ? part : fail(String(part))
    if (typeof part !== 'object') return fail(part === undefined ? 'nothing' : `a ${typeof part}`)
    if (path.length > maxDepth) return fail('data that is nested too deeply, or contains itself')
    if (Array.isArray(part)) return part.map((each, index) => copyOf(each, [...path, index]))
    if (!isPlain(part)) return fail(`a ${part.constructor.name || 'class'}`)
    const entries = Object.entries(part).filter(([, each]) => each !== undefined)
    for (const [key, each] of entries) {
      const refusal = namesVariable(each) && key !== '__proto__' ? null : refusedKey(key, kind)
      if (refusal !== null) refused.push({ path: [...path, key], at: 'key', ...refusal })
    }
    return Object.fromEntries(entries.map(([key, each]) => [key, copyOf(each, [...path, key])]))
  }

  function placed({ path, at: _, ...mistake }: SchemaMistake): Mistake {
    return { where: path.length === 0 ? name : `${name}: ${pathText(path)}`, ...mistake }
  }
}

/** Also of another realm, as in a test runner. */
function isPlain(part: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(part)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** `stages[0].mix.chat`. */
const pathText = (path: Path): string =>
  path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`
      const name = /^[\w-]+$/.test(step) ? step : describeValue(step)
      return index === 0 ? name : `.${name}`
    })
    .join('')
