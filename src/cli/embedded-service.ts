import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ServicePlan } from '../plan/plan.ts'
import { capacityFlags } from './service-capacity.ts'

export type EmbeddedService = { readonly baseUrl: string; readonly stop: () => void }

/** Starts the reference service in a process of its own, which ends with this one, however this one ends. */
export function startEmbeddedService(options: {
  readonly seed: number
  readonly profile: string | null
  readonly service: ServicePlan | null
}): Promise<EmbeddedService> {
  const main = fileURLToPath(new URL('../main.js', import.meta.url))
  const flags = ['service', '--port', '0', '--seed', String(options.seed), ...capacityFlags(options.service)]
  const child = fork(main, options.profile === null ? flags : [...flags, '--profile', options.profile], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the reference service ended with ${code} before it was ready`)))
    child.once('message', message => {
      const { port } = message as { readonly port: number }
      resolve({ baseUrl: `http://127.0.0.1:${port}/api/v1`, stop: () => void (child.connected && child.disconnect()) })
    })
  })
}
