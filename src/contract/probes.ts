import type { Contract } from './contract.ts'
import type { Probe } from './probe.ts'
import { authProbes } from './probes/auth-probes.ts'
import { chatProbes } from './probes/chat-probes.ts'
import { embeddingProbes } from './probes/embedding-probes.ts'
import { keyProbes } from './probes/key-probes.ts'
import { parameterProbes } from './probes/parameter-probes.ts'
import { rpcProbes } from './probes/rpc-probes.ts'

/** Every crafted request by its name in scenarios. */
const probes = {
  ...authProbes,
  ...chatProbes,
  ...embeddingProbes,
  ...parameterProbes,
  ...rpcProbes,
  ...keyProbes,
} as const

export type ProbeName = keyof typeof probes

export const probeNames = Object.keys(probes) as readonly ProbeName[]

export const probeOf = (name: string): Probe => {
  const probe = Object.hasOwn(probes, name) ? probes[name as ProbeName] : undefined
  if (probe === undefined) throw new RangeError(`no probe named ${name}`)
  return probe
}

/** Whether a probe is to be refused, and on the account of its caller: then it counts towards the abuse block. */
export function isOwnRefusal(name: string, contract: Contract): boolean {
  const { as, promised } = probeOf(name)
  return as === 'caller' && promised(contract).every(status => status >= 300)
}
