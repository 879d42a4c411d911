import { constants, copyFileSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { whyUnreadable } from '../../lib/read-text.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { oneLine } from '../../lib/visible.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { printJson, wantsJson } from '../print.ts'

/** The folder of the package with the files that `init` copies. */
const examples = fileURLToPath(new URL('../../../docs/examples/', import.meta.url))

/** Where a file of the examples belongs in a project. */
const forAll = {
  'scenario.yaml': 'turnpike/scenario.yaml',
  'profile.yaml': 'turnpike/profile.yaml',
  'env.example': '.env.example',
} as const

const forCi: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  github: { 'github-nightly.yml': '.github/workflows/turnpike.yml' },
  gitlab: { 'gitlab-ci.yml': '.gitlab-ci.yml' },
  jenkins: { Jenkinsfile: 'Jenkinsfile' },
  none: {},
}

const nextSteps = `
Next steps:
  npx turnpike plan turnpike/scenario.yaml    what the scenario sends, costs and proves; sends nothing
  npx turnpike run turnpike/scenario.yaml     run it against a reference service on this machine
Then write the values of your service into turnpike/profile.yaml, copy .env.example to .env, and add .env and runs/ to
.gitignore. Add --target to run it against your service.
`

/** Writes the first files of a project into a folder, and overwrites no file. */
export async function initCommand(values: Values): Promise<number> {
  const folder = text(values, 'dir') ?? '.'
  const written = Object.entries({ ...forAll, ...forCi[text(values, 'ci') ?? 'github'] })
  const files = written.map(([from, to]) => ({ from: join(examples, from), to: join(folder, to) }))
  assertNothingExists(files.map(({ to }) => to))
  for (const { from, to } of files) copy(from, to)
  if (wantsJson(values)) {
    printJson({ written: files.map(({ to }) => to) })
    return exitCodes.pass
  }
  const listed = written.map(([, to]) => `  ${to}\n`).join('')
  process.stdout.write(`Written${folder === '.' ? '' : ` to ${oneLine(folder)}`}:\n${listed}${nextSteps}`)
  return exitCodes.pass
}

/** Throws a UsageError if one of the files exists, or if something else is where a folder must be. */
function assertNothingExists(files: readonly string[]): void {
  const existing = new Set(files.flatMap(file => obstacle(file) ?? []))
  if (existing.size === 0) return
  throw new UsageError({
    where: 'init',
    got: `existing files: ${[...existing].join(', ')}`,
    expected: 'a folder without these files; nothing was written',
    hint: 'move them away, or name another folder: turnpike init <dir>',
  })
}

/** What blocks a file: a file or a broken link in its place, or a parent that is not a folder. */
function obstacle(file: string): string | null {
  if (exists(() => lstatSync(file))) return file
  let folder = dirname(file)
  while (folder !== dirname(folder) && !exists(() => statSync(folder))) folder = dirname(folder)
  return !exists(() => statSync(folder)) || statSync(folder).isDirectory() ? null : folder
}

function exists(look: () => unknown): boolean {
  try {
    look()
    return true
  } catch (cause) {
    // Whatever the reason, the copy fails for it too, and says so.
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    return false
  }
}

function copy(from: string, to: string): void {
  try {
    createFolder(dirname(to))
    copyFileSync(from, to, constants.COPYFILE_EXCL)
  } catch (cause) {
    throw new UsageError({ where: to, got: whyUnreadable(cause), expected: 'a file that can be created' })
  }
}

/** Node.js has an option for this, which never returns for a folder of `/proc`. */
function createFolder(path: string): void {
  if (exists(() => statSync(path))) return
  createFolder(dirname(path))
  mkdirSync(path)
}
