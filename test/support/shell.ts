import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Ended, freshDirectory } from './turnpike.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export type Shelled = Ended & { readonly directory: string }

/**
 * Runs a script of bash in a directory of its own. `turnpike` is the built program, `$ROOT` the project, `$DIR` the
 * directory, and `$TARGET` the address of a service.
 */
export async function shell(script: string, target = ''): Promise<Shelled> {
  const directory = freshDirectory()
  const program = `turnpike() { '${process.execPath}' '${join(root, 'dist', 'main.js')}' "$@"; }`
  const { TURNPIKE_KEYS: _, ...inherited } = process.env
  const child = spawn('bash', ['-c', `${program}\n${script}`], {
    cwd: directory,
    env: { ...inherited, ROOT: root.replace(/\/$/, ''), DIR: directory, TARGET: target },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 240_000,
    killSignal: 'SIGKILL',
  })
  return { ...(await endOf(child)), directory }
}

/** Resolves when the process has ended, with all that it wrote. */
export function endOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', bytes => {
    stdout += bytes
  })
  child.stderr.on('data', bytes => {
    stderr += bytes
  })
  return new Promise(resolve => child.once('close', code => resolve({ code, stdout, stderr })))
}

/** What no hostile input may cause. */
export const crash = /\bat (async )?\S+ \(|This is a bug|Node\.js v\d|\bTypeError\b/
