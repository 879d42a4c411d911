import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeValue, nearest, oneOf, UsageError } from '../lib/usage-error.ts'

/** The scenarios of the package. */
const shipped = fileURLToPath(new URL('../../scenarios/', import.meta.url))

/** The file of a scenario: a path, or the name of a shipped one, such as `smoke`. Throws a UsageError. */
export const scenarioFile = (name: string): string => fileOf(name, name, shipped, 'scenario')

/**
 * The file of a profile: a path, or the name of a shipped one, such as `openai-compatible`. A path in the file `from` is
 * relative to it. Throws a UsageError.
 */
export const profileFile = (name: string, from: string | null): string =>
  fileOf(name, from === null ? name : resolve(dirname(from), name), join(shipped, 'profiles'), 'profile')

function fileOf(name: string, path: string, folder: string, kind: string): string {
  // Everything but a plain word is a path, which its reader reports if it does not exist.
  if (existsSync(path) || !/^[a-z0-9-]+$/.test(name)) return path
  const names = namesIn(folder)
  if (names.includes(name)) return join(folder, `${name}.yaml`)
  throw new UsageError({
    where: kind,
    got: describeValue(name),
    expected: `a file, or the name of a shipped ${kind}: ${oneOf(names)}`,
    ...nearest(name, names),
  })
}

const namesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .map(file => file.slice(0, -'.yaml'.length))
    .sort()
