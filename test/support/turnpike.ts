import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist', 'main.js')

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type Started = {
  readonly child: ChildProcess
  /** Resolves when stderr has said this. */
  readonly said: (text: string) => Promise<void>
  readonly ended: Promise<Ended>
  /** What it has said so far. */
  readonly stderr: () => string
}

/** The built command line program, as a person would start it. `npm test` builds it first. */
export function startTurnpike(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Started {
  const { TURNPIKE_KEYS: _, ...inherited } = process.env
  const child = spawn(process.execPath, [main, ...args], {
    cwd: root,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  const listeners = new Set<() => void>()
  child.stdout.on('data', bytes => {
    stdout += bytes
  })
  child.stderr.on('data', bytes => {
    stderr += bytes
    for (const listener of listeners) listener()
  })
  const ended = new Promise<Ended>(resolve => child.once('close', code => resolve({ code, stdout, stderr })))
  return {
    child,
    ended,
    stderr: () => stderr,
    said: text =>
      new Promise((resolve, reject) => {
        const look = () => stderr.includes(text) && resolve()
        listeners.add(look)
        look()
        void ended.then(() => reject(new Error(`the program ended without saying "${text}": ${stderr}`)))
      }),
  }
}

export const turnpike = (args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended> =>
  startTurnpike(args, environment).ended

export const freshDirectory = (): string => mkdtempSync(join(tmpdir(), 'turnpike-test-'))
