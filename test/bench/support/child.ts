import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Child = {
  readonly process: ChildProcess
  readonly firstMessage: Promise<unknown>
  readonly stop: () => void
}

/** How to start the process: with Node.js flags, and on one core if the machine allows it. */
export type Setup = { readonly nodeFlags?: readonly string[]; readonly core?: number }

/** A target and a client have a core each, so that neither takes time from the other. */
export const targetCore = 0
export const clientCore = 1

const canPin = spawnSync('taskset', ['-c', `${targetCore},${clientCore}`, 'true']).status === 0

/** The command, on one core if the machine allows it. */
export const onCore = (core: number, command: readonly string[]): readonly string[] =>
  canPin ? ['taskset', '-c', String(core), ...command] : command

/** Prints why target and client are not on a core each, if they are not. */
export function noteUnpinned(): void {
  if (!canPin) console.log('  no core each: taskset is missing or finds no second core, so they share all cores')
}

/** How to run a program. */
export type CommandOptions = {
  readonly env?: NodeJS.ProcessEnv
  /** The exit codes of a program that has done its work. Default: 0. */
  readonly goodCodes?: readonly number[]
  /** Called when the process has started. */
  readonly onStart?: ((processId: number) => void) | undefined
}

/** Runs a program to its end and returns what it printed. Rejects, with the same, if it fails. */
export function runCommand(
  [file = '', ...args]: readonly string[],
  { env = {}, goodCodes = [0], onStart }: CommandOptions = {},
): Promise<string> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  if (child.pid !== undefined) onStart?.(child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', bytes => {
      output += bytes
    })
  const name = [file, ...args].slice(0, 6).join(' ')
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code =>
      goodCodes.includes(code ?? -1) ? resolve(output) : reject(new Error(`${name} … ended with ${code}:\n${output}`)),
    )
  })
}

/** The path of a program: that of the environment variable, or one on the PATH; null: there is none. */
export function findProgram(variable: string, name: string): string | null {
  const given = process.env[variable]
  if (given !== undefined && !existsSync(given)) throw new Error(`${variable} is ${given}, which does not exist`)
  const folders = (process.env.PATH ?? '').split(delimiter)
  return given ?? folders.map(folder => join(folder, name)).find(path => existsSync(path)) ?? null
}

/** Starts `file`, relative to the folder of the benches, in its own process. */
export function startChild(file: string, args: readonly string[] = [], { nodeFlags = [], core }: Setup = {}): Child {
  const pinned = core === undefined || !canPin ? null : ['-c', String(core), process.execPath]
  const child = fork(fileURLToPath(new URL(`../${file}`, import.meta.url)), [...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Unlike JSON, it copies maps and is quick for many numbers.
    serialization: 'advanced',
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

/** Runs `work` against a new server in its own process. */
export async function onServer<T>(
  file: string,
  args: readonly string[],
  setup: Setup,
  work: (port: string, server: Child) => Promise<T>,
): Promise<T> {
  const server = startChild(file, args, setup)
  const { port } = (await server.firstMessage) as { readonly port: number }
  try {
    return await work(String(port), server)
  } finally {
    server.stop()
  }
}

/** Runs `work` against a new target, whose balance and windows start fresh. */
export const onFreshTarget = <T>(
  work: (port: string, target: Child) => Promise<T>,
  args: readonly string[] = [],
  setup: Setup = {},
): Promise<T> => onServer('./programs/rpc-target.js', args, setup, work)

/** The arrival times of RPC requests at a stamping target, in milliseconds, per key. */
export const requestStamps = (target: Child): Promise<readonly (readonly number[])[]> => reportOf(target)

/** How long after the end of its stall a target responded to each waiting request, in milliseconds. */
export const requestReleases = (target: Child): Promise<readonly number[]> => reportOf(target)

/** What a server sends when it is asked for a report. */
export const reportOf = <T>({ process: child }: Child): Promise<T> =>
  new Promise(resolve => {
    child.once('message', message => resolve(message as T))
    child.send('report')
  })

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** The median of the ratios of each round. */
export const medianRatio = (values: readonly number[], bases: readonly number[]): number =>
  median(values.map((value, round) => value / (bases[round] ?? Number.NaN)))
