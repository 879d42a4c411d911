import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type Child = { readonly process: ChildProcess; readonly said: Promise<unknown>; readonly stop: () => void }

/** A process of its own for `file` of this folder; `said` is the first message that it sends. */
export function startChild(file: string, args: readonly string[] = [], nodeFlags: readonly string[] = []): Child {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [...nodeFlags],
  })
  const said = new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${file} ended with ${code}`)))
  })
  return { process: child, said, stop: () => void (child.connected && child.disconnect()) }
}

/** Runs `file` to its end and gives what it said. */
export async function runChild<T>(
  file: string,
  args: readonly string[],
  nodeFlags: readonly string[] = [],
): Promise<T> {
  const child = startChild(file, args, nodeFlags)
  const value = (await child.said) as T
  child.stop()
  return value
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
