import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type Child = { readonly process: ChildProcess; readonly said: Promise<unknown>; readonly stop: () => void }

/** How the process is started: with flags of Node.js, and on one core of the machine where that can be asked for. */
export type Setup = { readonly nodeFlags?: readonly string[]; readonly core?: number }

export const canPin = spawnSync('taskset', ['--version']).status === 0

/** A process of its own for `file` of this folder; `said` is the first message that it sends. */
export function startChild(file: string, args: readonly string[] = [], { nodeFlags = [], core }: Setup = {}): Child {
  const pinned = core === undefined || !canPin ? null : ['-c', String(core), process.execPath]
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [...(pinned ?? []), ...nodeFlags],
    ...(pinned !== null && { execPath: 'taskset' }),
  })
  const said = new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${file} ended with ${code}`)))
  })
  return { process: child, said, stop: () => void (child.connected && child.disconnect()) }
}

/** Runs `file` to its end and gives what it said. */
export async function runChild<T>(file: string, args: readonly string[], setup: Setup = {}): Promise<T> {
  const child = startChild(file, args, setup)
  const value = (await child.said) as T
  child.stop()
  return value
}

/** A target that has served nothing yet: its balance and its windows are those of one run. */
export async function onFreshTarget<T>(
  work: (port: string, target: Child) => Promise<T>,
  args: readonly string[] = [],
  setup: Setup = {},
): Promise<T> {
  const target = startChild('./programs/rpc-target.js', args, setup)
  const { port } = (await target.said) as { readonly port: number }
  try {
    return await work(String(port), target)
  } finally {
    target.stop()
  }
}

/** When RPC requests came at a target that stamps them, in milliseconds, by the key that they came with. */
export const tellStamps = (target: Child): Promise<readonly (readonly number[])[]> => tell(target)

/** How long behind the end of its stall a target answered each who had waited, in milliseconds. */
export const tellReleases = (target: Child): Promise<readonly number[]> => tell(target)

const tell = <T>({ process: child }: Child): Promise<T> =>
  new Promise(resolve => {
    child.once('message', told => resolve(told as T))
    child.send('tell')
  })

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
