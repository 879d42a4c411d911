import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestContext } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist', 'main.js')

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type Started = {
  readonly child: ChildProcess
  /** Resolves with the match when stderr contains this. */
  readonly said: (words: string | RegExp) => Promise<string>
  readonly ended: Promise<Ended>
}

/** Starts the built command line program. `npm test` builds it first. */
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
    said: words =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = typeof words === 'string' ? stderr.includes(words) && words : words.exec(stderr)?.[0]
          if (found) resolve(found)
        }
        listeners.add(look)
        look()
        void ended.then(() => reject(new Error(`the program ended without printing "${words}": ${stderr}`)))
      }),
  }
}

type Finished = TestContext['onTestFinished']

/** Like `startTurnpike`, for one test. The process is killed when the test ends. */
export function startForTest(
  args: readonly string[],
  onTestFinished: Finished,
  environment?: Readonly<Record<string, string>>,
): Started {
  const started = startTurnpike(args, environment)
  onTestFinished(() => void started.child.kill('SIGKILL'))
  return started
}

/** Starts a server of the program for one test, and returns its address. */
export async function serveForTest(
  args: readonly string[],
  onTestFinished: Finished,
): Promise<{ readonly target: string; readonly service: Started }> {
  const service = startForTest([...args, '--port', '0'], onTestFinished)
  return { target: await service.said(/http:\S+\/api\/v1/), service }
}

export const turnpike = (args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended> =>
  startTurnpike(args, environment).ended

/** A command line, and the working directory in which it is given. */
export type Given = { readonly args: readonly string[]; readonly folder?: string }

/** Runs command lines in one process, one after the other. Each should end at once, as one with a mistake does. */
export async function turnpikeInTurn(
  commands: readonly Given[],
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly Ended[]> {
  const { TURNPIKE_KEYS: _, ...inherited } = process.env
  const child = spawn(process.execPath, [join(root, 'test/support/commands.mjs')], {
    cwd: root,
    env: { ...inherited, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const texts = { stdout: '', stderr: '' }
  child.stdout.on('data', bytes => {
    texts.stdout += bytes
  })
  child.stderr.on('data', bytes => {
    texts.stderr += bytes
  })
  child.stdin.end(JSON.stringify(commands.map(({ args, folder = root }) => ({ args, folder }))))
  const code = await new Promise(resolve => child.once('close', resolve))
  if (code !== 0) throw new Error(`the command lines ended with ${code}: ${texts.stderr}`)
  return JSON.parse(texts.stdout)
}

export const freshDirectory = (): string => mkdtempSync(join(tmpdir(), 'turnpike-test-'))
