import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type Child = {
  readonly process: ChildProcess
  readonly firstMessage: Promise<unknown>
  readonly stop: () => void
}

/** How to start the process: with Node.js flags, and on one core if `taskset` is available. */
export type Setup = { readonly nodeFlags?: readonly string[]; readonly core?: number }

export const canPin = spawnSync('taskset', ['--version']).status === 0

/** Starts `file` of this folder in its own process. */
export function startChild(file: string, args: readonly string[] = [], { nodeFlags = [], core }: Setup = {}): Child {
  const pinned = core === undefined || !canPin ? null : ['-c', String(core), process.execPath]
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [...(pinned ?? []), ...nodeFlags],
    ...(pinned !== null && { execPath: 'taskset' }),
  })
  const firstMessage = new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${file} ended with ${code}`)))
  })
  return { process: child, firstMessage, stop: () => void (child.connected && child.disconnect()) }
}

/** Runs `file` to its end and returns its first message. */
export async function runChild<T>(file: string, args: readonly string[], setup: Setup = {}): Promise<T> {
  const child = startChild(file, args, setup)
  const value = (await child.firstMessage) as T
  child.stop()
  return value
}

/** Runs `work` against a new target, whose balance and windows start fresh. */
export async function onFreshTarget<T>(
  work: (port: string, target: Child) => Promise<T>,
  args: readonly string[] = [],
  setup: Setup = {},
): Promise<T> {
  const target = startChild('./programs/rpc-target.js', args, setup)
  const { port } = (await target.firstMessage) as { readonly port: number }
  try {
    return await work(String(port), target)
  } finally {
    target.stop()
  }
}

/** The arrival times of RPC requests at a stamping target, in milliseconds, per key. */
export const requestStamps = (target: Child): Promise<readonly (readonly number[])[]> => report(target)

/** How long after the end of its stall a target responded to each waiting request, in milliseconds. */
export const requestReleases = (target: Child): Promise<readonly number[]> => report(target)

const report = <T>({ process: child }: Child): Promise<T> =>
  new Promise(resolve => {
    child.once('message', message => resolve(message as T))
    child.send('report')
  })

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
