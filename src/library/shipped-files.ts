import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeValue, nearest, oneOf, UsageError } from '../lib/usage-error.ts'

/** The scenarios of the package. */
const shipped = fileURLToPath(new URL('../../scenarios/', import.meta.url))
const profiles = join(shipped, 'profiles')

/** The file of a scenario: a path, or the name of a shipped one, such as `smoke`. Throws a UsageError. */
export const scenarioFile = (name: string): string => fileOf(name, name, shipped, 'scenario')

/**
 * The file of a profile: a path, or the name of a shipped one, such as `openai-compatible`. A path in the file `from` is
 * relative to it. Throws a UsageError.
 */
export const profileFile = (name: string, from: string | null): string =>
  fileOf(name, from === null ? name : resolve(dirname(from), name), profiles, 'profile')

/** The file of the shipped profile with this name, whatever the working directory holds. */
export const shippedProfile = (name: 'openai-compatible' | 'json-rpc-node'): string => join(profiles, `${name}.yaml`)

function fileOf(name: string, path: string, folder: string, kind: 'scenario' | 'profile'): string {
  if (existsSync(path)) return path
  const names = namesIn(folder)
  if (names.includes(name)) return join(folder, `${name}.yaml`)
  // Everything but a plain word is a path, which its reader reports if nothing similar exists.
  if (/^[A-Za-z0-9-]+$/.test(name))
    throw new UsageError({
      where: kind,
      got: describeValue(name),
      expected: `a file, or the name of a shipped ${kind}: ${oneOf(names)}`,
      ...(namesIn(otherFolder[kind]).includes(name) ? { hint: otherKind(kind, name) } : nearest(name, names)),
    })
  const hint = similarFile(path, names)
  if (hint === undefined) return path
  throw new UsageError({ where: path, got: 'no such file', expected: `a readable ${kind} file (YAML)`, hint })
}

const otherFolder = { scenario: profiles, profile: shipped } as const

const otherKind = (kind: 'scenario' | 'profile', name: string): string =>
  kind === 'scenario'
    ? `it is a profile; did you mean "--profile ${name}"?`
    : `it is a scenario, see turnpike run ${name}`

/** A hint for a file that does not exist: the shipped one of its name, or a similar name in its directory. */
function similarFile(path: string, names: readonly string[]): string | undefined {
  const name = basename(path).replace(/\.(ya?ml|json)$/, '')
  if (names.includes(name)) return `did you mean "${name}", which is shipped?`
  try {
    const files = readdirSync(dirname(path)).filter(file => /\.ya?ml$/.test(file))
    return nearest(basename(path), files).hint
  } catch {
    return undefined
  }
}

/** Whether a word is the name of a shipped scenario, or a file that could be a scenario. */
export const isScenario = (word: string): boolean =>
  namesIn(shipped).includes(word) || (/\.ya?ml$/.test(word) && existsSync(word))

export const shippedNames = (kind: 'scenario' | 'profile'): readonly string[] =>
  namesIn(kind === 'scenario' ? shipped : profiles)

const namesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .map(file => file.slice(0, -'.yaml'.length))
    .sort()

/** The version in `package.json`. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
