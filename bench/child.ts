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

/** A target that has served nothing yet: its balance and its windows are those of one run. */
export async function onFreshTarget<T>(work: (port: string) => Promise<T>, args: readonly string[] = []): Promise<T> {
  const target = startChild('./rpc-target.js', args)
  const { port } = (await target.said) as { readonly port: number }
  try {
    return await work(String(port))
  } finally {
    target.stop()
  }
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
