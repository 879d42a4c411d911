import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../lib/usage-error.ts'
import type { ServiceSpec } from '../plan/plan.ts'
import { capacityFlags } from './commands/service.ts'

/** A server that this program runs in a child process. */
export type ChildServer = { readonly port: number; readonly stop: () => void }

/** Starts this program again as a child process, with a command that serves. The child exits when this process does. */
export function startChildServer(command: string, flags: readonly string[]): Promise<ChildServer> {
  const child = fork(fileURLToPath(new URL('../main.js', import.meta.url)), [command, '--port', '0', ...flags], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
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
        expected: 'a server that starts, with a profile that is a file',
      }
      reject(code === 2 ? new UsageError(cause) : new Error(`turnpike ${command}: ${got}`))
    })
    child.once('message', message => {
      const { port } = message as { readonly port: number }
      resolve({ port, stop: () => void (child.connected && child.disconnect()) })
    })
  })
}

export type EmbeddedService = { readonly baseUrl: string; readonly stop: () => void }

/** Starts the reference service as a child process. */
export async function startEmbeddedService(options: {
  readonly seed: number
  readonly profile: string | null
  readonly service: ServiceSpec | null
}): Promise<EmbeddedService> {
  const profileFlags = options.profile === null ? [] : ['--profile', options.profile]
  const flags = ['--seed', String(options.seed), ...capacityFlags(options.service), ...profileFlags]
  const { port, stop } = await startChildServer('service', flags)
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, stop }
}
