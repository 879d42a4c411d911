import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../lib/usage-error.ts'
import type { ServiceSpec } from '../plan/plan.ts'

/** A server that this program runs in a child process. */
export type ChildServer = {
  readonly port: number
  /** Resolves when the process has ended. */
  readonly stop: () => Promise<void>
}

/**
 * Starts this program again as a child process, with a command that serves. The child exits when this process does.
 * `stderr`: whether this process shows what the child writes there, such as the mistake that keeps it from starting.
 */
export function startChildServer(
  command: string,
  flags: readonly string[],
  stderr: 'inherit' | 'ignore' = 'inherit',
): Promise<ChildServer> {
  const child = fork(fileURLToPath(new URL('../main.js', import.meta.url)), [command, '--port', '0', ...flags], {
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
    execArgv: [],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => {
      const got = `exit code ${code} before it was ready`
      // The child has explained a mistake of the user itself.
      const cause = {
        where: `turnpike ${command}`,
        got,
        expected: 'a server that starts; its profile must be a file, not a pipe',
      }
      reject(code === 2 ? new UsageError(cause) : new Error(`turnpike ${command}: ${got}`))
    })
    child.once('message', message => {
      const { port } = message as { readonly port: number }
      resolve({ port, stop: () => stop(child) })
    })
  })
}

export type EmbeddedService = { readonly baseUrl: string; readonly stop: ChildServer['stop'] }

function stop(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    if (child.connected) child.disconnect()
  })
}

/** Starts the reference service as a child process. */
export async function startEmbeddedService(options: {
  readonly seed: number
  readonly profile: string | null
  readonly service: ServiceSpec | null
  readonly stderr: 'inherit' | 'ignore'
}): Promise<EmbeddedService> {
  const profileFlags = options.profile === null ? [] : ['--profile', options.profile]
  const flags = ['--seed', String(options.seed), ...capacityFlags(options.service), ...profileFlags]
  const { port, stop } = await startChildServer('service', flags, options.stderr)
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, stop }
}

/** The capacity as flags of the command. */
export const capacityFlags = (capacity: ServiceSpec | null): readonly string[] =>
  capacity === null
    ? []
    : [
        ...['--concurrency', String(capacity.concurrency), '--service-time', `${capacity.serviceTimeMs}ms`],
        ...['--distribution', capacity.distribution, '--queue-length', String(capacity.queueLength)],
      ]
