import type { ServiceSpec } from '../plan/plan.ts'
import { startOwnProcess } from './own-process.ts'
import { capacityFlags } from './service-capacity.ts'

export type EmbeddedService = { readonly baseUrl: string; readonly stop: () => void }

/** Starts the reference service in a process of its own, which ends with this one, however this one ends. */
export async function startEmbeddedService(options: {
  readonly seed: number
  readonly profile: string | null
  readonly service: ServiceSpec | null
}): Promise<EmbeddedService> {
  const laidOver = options.profile === null ? [] : ['--profile', options.profile]
  const flags = ['--seed', String(options.seed), ...capacityFlags(options.service), ...laidOver]
  const { port, stop } = await startOwnProcess('service', flags)
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, stop }
}
