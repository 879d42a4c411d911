import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { endOf } from './shell.ts'
import { type Ended, freshDirectory } from './turnpike.ts'

/** What a script did, and the value that it passed to `done`. */
export type ScriptEnd = Ended & { readonly value: unknown }

/**
 * Runs a module in a process of its own, which ends when nothing holds it. The module has the built library as `turnpike`,
 * an empty folder as `folder`, and a function `done` for its result.
 */
export async function libraryScript(
  body: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ScriptEnd> {
  const folder = freshDirectory()
  const result = join(folder, 'result.json')
  const file = join(folder, 'script.mjs')
  const { TURNPIKE_KEYS: _, ...inherited } = process.env
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs'
import * as turnpike from ${JSON.stringify(pathToFileURL('dist/turnpike.js').href)}
const folder = ${JSON.stringify(folder)}
const done = value => writeFileSync(${JSON.stringify(result)}, JSON.stringify(value))
${body}`,
  )
  const child = spawn(process.execPath, [file], {
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = await endOf(child)
  if (ended.code !== 0) throw new Error(`the script ended with ${ended.code}: ${ended.stderr}`)
  return { ...ended, value: JSON.parse(readFileSync(result, 'utf8')) }
}
